"""`cortex process dry-run`: what a process would ask, and of whom, without doing it."""

from collections.abc import Iterator
from pathlib import Path

import click

from cortex.runtime.executions.view import named_values
from cortex.runtime.kernel import Config, Home, many
from cortex.runtime.models import dollars
from cortex.runtime.processes import LinkedInterface
from cortex.runtime.processes.catalog import Catalog, needs_line
from cortex.runtime.sessions import (
    DryRunDocument,
    GateReport,
    Rehearsal,
    StepReport,
    announced_elsewhere,
    is_path,
    listed_tools,
    preferred_for,
    stage_of,
)

from ..completing import process_names_or_files, with_inputs
from ..exits import FAILED, OK
from ..options import with_any_home, with_screen
from ..running import Session, inputs_of, pairs_of, refuse_wrong
from ..screen import Screen

FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)
_STYLES = {"passed": "green", "failed": "red"}


@click.command(name="dry-run")
@click.argument("process", shell_complete=process_names_or_files)
@with_inputs
@click.option("--goal", default="", help="What the work is for [default: what PROCESS says].")
@click.option(
    "--workspace", type=FOLDER, default=".", help="The folder that the work is about [default: .]."
)
@with_any_home
@with_screen
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
    given = pairs_of(inputs, "NAME")
    elsewhere, listed = announced_elsewhere(home), listed_tools(home)
    with stage_of(home) as stage, Session.open(stage, screen) as session:
        if elsewhere or listed:  # before what needs it is compiled
            session.publish(*elsewhere, *listed)
        session.submitter.changed("" if is_path(process) else process)
        name = session.submitter.file(Path(process)) if is_path(process) else process
        catalog = Catalog(session.history)
        if isinstance(catalog.linked(catalog.get(name)), LinkedInterface):
            name = catalog.implementing(name, preferred_for(name, home))
        linked = catalog.process(name)
        values = inputs_of(given, None, linked.inputs)
        refuse_wrong(linked, values, whole=False)
        about = goal or linked.description or f"run {name}"
        others = frozenset(each.component for each in elsewhere)
        blob = catalog.get(name).event.linked
        place = str(workspace.absolute())
        rehearsal = Rehearsal(session, linked, values, about, place, others, blob)
        document = rehearsal.report()
    screen.document(document)
    _show(screen, document, home)
    gates = [*document.gates, *(gate for step in document.steps for gate in step.gates)]
    stops = document.abstract or any(gate.outcome == "failed" for gate in gates)
    return FAILED if stops else OK


def _show(screen: Screen, document: DryRunDocument, home: Home) -> None:
    screen.line(f"{document.process} version {document.version}", "bold")
    if document.abstract:
        screen.line("it is abstract and cannot be run: extend it and run that", "red")
    for gate in document.gates:
        _show_gate(screen, gate, "")
    for number, step in enumerate(document.steps, 1):
        screen.line()
        when = "" if step.when == "runs" else f"  ({step.when})"
        screen.line(f"step {number}  {step.step} -> {step.runs}{when}", "bold")
        if step.items:
            screen.paragraph(step.items, lead="  ", style="dim")
        for gate in step.gates:
            _show_gate(screen, gate, "  ")
        for granted in step.may:
            screen.paragraph(granted, lead="  may         ")
        if step.may:
            screen.paragraph(", ".join(step.check) or "who works says so", lead="  is checked  ")
        for line in named_values(step.parameters, "  "):
            screen.line(line)
        for lead, unknown in _unknown(step):
            screen.paragraph(", ".join(unknown), lead=f"  {lead}: ", style="dim")
        if step.refused:
            screen.line(f"  no prompt: {step.refused}", "red")
        if step.prompt:
            sections = ", ".join(f"{name} {n:,}" for name, n in step.sections.items() if n)
            for name, value in _choice(step):
                screen.paragraph(value, lead=f"  {name:<10} ")
            for missing in _missing(step, home):
                screen.paragraph(missing, lead="  missing    ", style="yellow")
            told = f"prompt for {step.model}: {many(step.tokens, 'token')} ({sections})"
            screen.paragraph(told, lead="  ", style="cyan")
            for line in step.prompt.splitlines():
                screen.line(f"  | {line}")


def _unknown(step: StepReport) -> Iterator[tuple[str, list[str]]]:
    """What the step refers to and has no value yet: inputs that were left out, and results."""
    left_out = [each for each in step.later if each.startswith("inputs.")]
    later = [each for each in step.later if each not in left_out]
    if left_out:
        yield "not given", left_out
    if later:
        yield "from earlier steps", later


def _choice(step: StepReport) -> Iterator[tuple[str, str]]:
    cost = f", estimated {dollars(step.cost)} a call" if step.cost else ""
    yield "model", f"{step.model} ({step.provider}), {step.because or 'the only one'}{cost}"
    if step.inferred:
        yield "inferred", needs_line(step.inferred, step.inferred_from)
    if step.runners_up:
        yield "runners-up", ", ".join(step.runners_up)
    for reason in step.rejected:
        yield "rejected", reason
    if step.tools:
        yield "tools", ", ".join(step.tools)


def _missing(step: StepReport, home: Home) -> Iterator[str]:
    """Tools without which the model would not be asked, and what a run does about each."""
    wait_s = Config.shown(home).tools.wait_s if step.missing else 0
    for tool, why in step.missing.items():
        because = f" ({why})" if why else ""
        yield (
            f"{tool}: no component or server offers it now{because}; a run waits for it, "
            f"{wait_s:g} s at most, and then fails this step"
        )


def _show_gate(screen: Screen, gate: GateReport, margin: str) -> None:
    told = f": {gate.reason}" if gate.reason else ""
    style = _STYLES.get(gate.outcome, "dim")
    screen.line(f"{margin}gate {gate.gate} {gate.outcome}{told}", style)
