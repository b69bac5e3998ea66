"""`cortex process validate` and `dry-run`: what is wrong, and what each step would ask for."""

import difflib
from collections.abc import Iterator
from pathlib import Path

import click

from cortex.runtime import sessions
from cortex.runtime.admin import validated
from cortex.runtime.executions.view import named_values
from cortex.runtime.kernel import Config, Home, many
from cortex.runtime.models import dollars
from cortex.runtime.processes.catalog import needs_line

from ..completing import process_names_or_files, with_inputs
from ..exits import FAILED, OK
from ..options import at_any_home, with_workspace
from ..screen import Screen
from ..terminal import open_session

_SEVERITIES = {"error": "red", "warning": "yellow"}
_MARKS = {"+": "green", "-": "red"}
_OUTCOMES = {"passed": "green", "failed": "red"}


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="FILE_OR_FOLDER...")
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option("--fix", is_flag=True, help="Show the available fixes and apply them.")
@at_any_home
def validate(paths: tuple[Path, ...], strict: bool, fix: bool, home: Home, screen: Screen) -> int:
    """Check sources: FILE:LINE:COLUMN: severity, code, what is wrong; then what to do.

    Without a name, it checks the processes of the home. It compiles the sources together with the
    processes of the home and of the library, which they may extend or run. The components of the
    home, its plugins and, while a hub is up, its workers serve the actions and gates.
    """
    document, fixed = validated(home, paths, strict=strict, fix=fix)
    for file, (before, after) in fixed.items():
        lines = before.splitlines(), after.splitlines()
        for line in difflib.unified_diff(*lines, file, file, lineterm=""):
            screen.line(line, _MARKS.get(line[0], "dim"))
        screen.note(f"wrote {file}")
    screen.document(document)
    for each in document.diagnostics:
        where = f"{each.file}:{each.span.line}:{each.span.column}"
        severity = "error" if strict else each.severity
        screen.line(f"{where}: {severity} {each.code} {each.message}", _SEVERITIES[severity])
        screen.line(f"    {each.remedy}" + ("  (--fix does it)" if each.fix else ""), "dim")
    if not (paths or document.files):
        screen.line(f"no sources in {home.processes}: name a FILE_OR_FOLDER", "dim")
    screen.line(
        f"{many(len(document.files), 'file')}, {many(document.errors, 'error')}, "
        f"{many(document.warnings, 'warning')}"
    )
    return FAILED if document.errors else OK


@click.command(name="dry-run")
@click.argument("process", shell_complete=process_names_or_files)
@with_inputs
@click.option("--goal", default="", help="What the work is for [default: the goal in PROCESS].")
@with_workspace
@at_any_home
def dry_run(
    process: str, inputs: tuple[str, ...], goal: str, workspace: Path, home: Home, screen: Screen
) -> int:
    """Show what PROCESS (a name, an interface or a file) would do, without doing it.

    It evaluates gates that only read, except those after a step that changes something. For each
    step that asks a model, it shows the exact prompt, compiled as far as possible before the
    earlier steps have run. For a step with a goal it shows all allowed actions. It knows what
    workers, plugins and tool servers serve, but asks none of them. It calls no model and records
    nothing.
    """
    document = sessions.dry_run(
        home,
        process,
        sessions.pairs_of(inputs, "NAME"),
        goal=goal,
        workspace=workspace,
        opened=lambda stage: open_session(stage, screen),
    )
    screen.document(document)
    _show(screen, document, home)
    gates = [*document.gates, *(gate for step in document.steps for gate in step.gates)]
    stops = document.abstract or any(gate.outcome == "failed" for gate in gates)
    return FAILED if stops else OK


def _show(screen: Screen, document: sessions.DryRunDocument, home: Home) -> None:
    screen.line(f"{document.process} version {document.version}", "bold")
    if document.abstract:
        screen.line("it is abstract and cannot be run: extend it and run that", "red")
    _show_gates(screen, document.gates, "")
    for number, step in enumerate(document.steps, 1):
        screen.line()
        when = "" if step.when == "runs" else f"  ({step.when})"
        screen.line(f"step {number}  {step.step} -> {step.runs}{when}", "bold")
        if step.items:
            screen.paragraph(step.items, lead="  ", style="dim")
        _show_gates(screen, step.gates, "  ")
        for granted in step.may:
            screen.paragraph(granted, lead="  may         ")
        if step.may:
            screen.paragraph(", ".join(step.check) or "by the worker itself", lead="  is checked  ")
        screen.lines(named_values(step.parameters, "  "))
        left_out = [each for each in step.later if each.startswith("inputs.")]
        later = [each for each in step.later if each not in left_out]
        for lead, unknown in (("not given", left_out), ("from earlier steps", later)):
            if unknown:
                screen.paragraph(", ".join(unknown), lead=f"  {lead}: ", style="dim")
        if step.refused:
            screen.line(f"  no prompt: {step.refused}", "red")
        if step.prompt:
            _show_prompt(screen, step, home)


def _show_prompt(screen: Screen, step: sessions.StepReport, home: Home) -> None:
    sections = ", ".join(f"{name} {n:,}" for name, n in step.sections.items() if n)
    screen.facts(_choice(step), "  ")
    for missing in _missing(step, home):
        screen.paragraph(missing, lead="  missing    ", style="yellow")
    told = f"prompt for {step.model}: {many(step.tokens, 'token')} ({sections})"
    screen.paragraph(told, lead="  ", style="cyan")
    screen.lines(f"  | {line}" for line in step.prompt.splitlines())


def _choice(step: sessions.StepReport) -> Iterator[tuple[str, str]]:
    cost = f", estimated {dollars(step.cost)} a call" if step.cost else ""
    inferred = needs_line(step.inferred, step.inferred_from) if step.inferred else ""
    yield "model", f"{step.model} ({step.provider}), {step.because or 'the only one'}{cost}"
    yield "inferred", inferred
    yield "runners-up", ", ".join(step.runners_up)
    yield from (("rejected", reason) for reason in step.rejected)
    yield "tools", ", ".join(step.tools)


def _missing(step: sessions.StepReport, home: Home) -> Iterator[str]:
    """Tools without which the model would not be asked, and what a run does about each."""
    wait_s = Config.shown(home).tools.wait_s if step.missing else 0
    for tool, why in step.missing.items():
        because = f" ({why})" if why else ""
        yield (
            f"{tool}: no component or server offers it now{because}; a run waits for it, "
            f"{wait_s:g} s at most, and then fails this step"
        )


def _show_gates(screen: Screen, gates: list[sessions.GateReport], margin: str) -> None:
    for gate in gates:
        told = f": {gate.reason}" if gate.reason else ""
        style = _OUTCOMES.get(gate.outcome, "dim")
        screen.line(f"{margin}gate {gate.gate} {gate.outcome}{told}", style)
