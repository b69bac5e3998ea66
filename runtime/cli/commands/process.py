"""`cortex process`: which processes there are, what they are made of, how they fared."""

import time
from collections.abc import Iterator
from functools import partial

import click
import msgspec

from cortex.runtime.executions.view import Fared, History, Hit, fared, find_processes
from cortex.runtime.kernel import Home, RefusedError, duration, iso, local, parse_time, recent
from cortex.runtime.log import BlobError
from cortex.runtime.models import Inferred
from cortex.runtime.processes import (
    LinkedInterface,
    LinkedProcess,
    absence,
    diff,
    inferred_needs,
    inspect,
)
from cortex.runtime.processes.catalog import Catalog, Compiled, demands_of, diff_as_written
from cortex.runtime.sessions import compiled_history

from ..completing import process_names
from ..options import question_of, with_any_home, with_screen
from ..screen import Screen
from ..tree import Family
from .dry_run import dry_run
from .validate import validate

LEAD = 12  # columns of the leading words of `inspect`


class ProcessRow(msgspec.Struct, kw_only=True):
    """One process or interface in a list."""

    name: str
    version: int
    kind: str  # process, abstract or interface
    status: str  # ready, unlinked, retired or unreadable
    description: str
    missing: list[str]  # what keeps it from being run; why it cannot be read
    digest: str
    file: str


class FoundProcess(ProcessRow, kw_only=True):
    """A process that was found."""

    score: float  # 1 is the best by words and meaning; links may add to it
    why: dict[str, float]  # the parts of the score


class InspectDocument(msgspec.Struct, kw_only=True):
    """A process as it was linked."""

    process: ProcessRow
    linked: LinkedProcess | LinkedInterface
    inferred: dict[str, Inferred] = {}  # by step: what its work asks of a model beyond its `needs`


@click.group(cls=Family)
def process() -> None:
    """Show processes and check their sources."""


process.add_command(validate)
process.add_command(dry_run)


@process.command(name="list")
@click.option("--all", "all_", is_flag=True, help="Also show retired ones.")
@with_any_home
@with_screen
def list_(all_: bool, home: Home, screen: Screen) -> None:
    """List processes and interfaces in their newest versions."""
    with compiled_history(home, screen.warn) as history:
        _show_rows(screen, _rows(Catalog(history), retired=all_))


@process.command()
@click.argument("words", metavar="TEXT...", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1, 100), default=10, show_default=True)
@with_any_home
@with_screen
def find(words: tuple[str, ...], limit: int, home: Home, screen: Screen) -> None:
    """Find the processes that match TEXT best, best first.

    TEXT is ordinary words: "the process that handles CI failures". The search covers names,
    descriptions, inputs, steps and triggers, as it does passages of knowledge.
    """
    question = question_of(words)
    with compiled_history(home, screen.warn) as history:
        found = find_processes(history, question, limit)
        catalog = Catalog(history)
        rows = [_found(catalog, hit) for hit in found.hits]
    screen.document(rows)
    for note in found.notes:
        screen.note(note, "yellow")
    if rows:
        screen.table(
            ("score", "name", "status", "description"),
            ((f"{r.score:.2f}", r.name, r.status, _about(r)) for r in rows),
        )
    else:
        screen.line("no process here has to do with that: `cortex process list` shows all")


@process.command(name="inspect")
@click.argument("name", shell_complete=process_names)
@click.option(
    "--version", type=click.IntRange(min=1), help="Use this version instead of the newest."
)
@with_any_home
@with_screen
def inspect_(name: str, version: int | None, home: Home, screen: Screen) -> None:
    """Show the parts of a process, and where each part comes from."""
    with compiled_history(home, screen.warn) as history:
        catalog = Catalog(history)
        compiled = catalog.get(name, version)
        linked = catalog.linked(compiled)
        row = _row(catalog, compiled)
        screen.document(InspectDocument(process=row, linked=linked, inferred=_inferred(linked)))
    if linked.description:
        screen.paragraph(linked.description)
    if row.status != "ready":
        why = f": {_about(row)}" if row.status == "unlinked" else ""
        screen.paragraph(f"{row.status}{why}", style="yellow")
    for field in linked.inputs:
        needed = "required" if field.required and field.default is None else "optional"
        told = f"{field.name}: {field.type}, {needed}  {field.description}"
        screen.paragraph(told, lead=f"{'input':<{LEAD}}")
    for line in _taken_apart(linked) if isinstance(linked, LinkedProcess) else _required(linked):
        # The first line has no leading word.
        lead = line[:LEAD] if line[LEAD - 1] == " " else ""
        screen.paragraph(line[len(lead) :], lead=lead)


@process.command(name="diff")
@click.argument("name", shell_complete=process_names)
@click.argument("before", type=int, required=False)
@click.argument("after", type=int, required=False)
@with_any_home
@with_screen
def diff_(name: str, before: int | None, after: int | None, home: Home, screen: Screen) -> None:
    """Show what changed in NAME from version BEFORE to AFTER (the last two unless given)."""
    with compiled_history(home, screen.warn) as history:
        catalog = Catalog(history)
        versions = [each.event.process_version for each in catalog.versions(name)]
        old = before if before is not None else versions[-2 if len(versions) > 1 else -1]
        new = after if after is not None else versions[-1]
        found = diff(catalog.process(name, old), catalog.process(name, new))
    screen.document(found)
    if len(versions) == 1 and old == new:
        screen.line(f"{name} has one version, {new}: there is nothing to compare it with")
    else:
        screen.block(str(diff_as_written(found)))


@process.command()
@click.argument("name", shell_complete=process_names)
@with_any_home
@with_screen
def history(name: str, home: Home, screen: Screen) -> None:
    """Show the versions of a process, and the results of each."""
    with compiled_history(home, screen.warn) as past:
        found = _history(past, name)
    screen.document(found)
    now_ns = time.time_ns()
    when = partial(recent, now_ns=now_ns) if screen.terminal else local
    screen.table(
        ("version", "compiled", "runs", "completed", "tokens a run", "time a run", "digest"),
        (
            (
                str(each.version),
                when(parse_time(each.compiled, 0)),
                str(each.runs),
                f"{each.completed} ({each.completed / each.runs:.0%})" if each.runs else "-",
                f"{each.tokens / each.runs:,.0f}" if each.runs else "-",
                duration(each.duration_s / each.runs) if each.runs else "-",
                each.digest[:12],
            )
            for each in found
        ),
    )


def _taken_apart(linked: LinkedProcess) -> Iterator[str]:
    """Where everything comes from, and under each step what it demands of its models."""
    steps = iter(linked.steps)
    demands: list[str] = []
    for line in str(inspect(linked)).splitlines():
        if line.startswith("step "):
            yield from demands
            step = next(steps)
            told_of = demands_of(step, inferred_needs(linked, step))
            demands = [f"{'':{LEAD}}{word} {told}" for word, told in told_of]
        yield line
    yield from demands


def _required(linked: LinkedInterface) -> Iterator[str]:
    """What an interface asks of whatever implements it."""
    yield f"{linked.name} {linked.version}  {linked.digest}"
    needed = {
        "extends": linked.extends,
        "gate": linked.required_gates,
        "step": [f"{name}  {about}".rstrip() for name, about in linked.required_steps],
        "knowledge": linked.required_knowledge,
        "output": [f"{f.name}: {f.type}  {f.description}".rstrip() for f in linked.outputs],
    }
    for word, each in needed.items():
        yield from (f"{word:<{LEAD}}{one}" for one in each)


def _inferred(linked: LinkedProcess | LinkedInterface) -> dict[str, Inferred]:
    """What the work of each step asks of a model beyond what the step says, by step."""
    if not isinstance(linked, LinkedProcess):
        return {}
    found = {step.id: inferred_needs(linked, step) for step in linked.steps}
    return {name: each for name, each in found.items() if each.needs}


def _history(history: History, name: str) -> list[Fared]:
    versions = Catalog(history).versions(name)
    return fared(
        history,
        name,
        {v.event.process_version: (iso(v.time_ns), v.event.digest) for v in versions},
    )


def _rows(catalog: Catalog, *, retired: bool) -> list[ProcessRow]:
    names = {name for name, _ in catalog.compiled} if retired else set(catalog.names())
    return [_row(catalog, catalog.get(name)) for name in sorted(names)]


def _found(catalog: Catalog, hit: Hit) -> FoundProcess:
    row = _row(catalog, catalog.get(hit.key))
    return FoundProcess(**msgspec.structs.asdict(row), score=hit.score, why=hit.why)


def _row(catalog: Catalog, compiled: Compiled) -> ProcessRow:
    event = compiled.event
    missing = list(catalog.missing.get(event.name, ()))
    status = "retired" if event.name in catalog.retired else "unlinked" if missing else "ready"
    interface, description = False, ""
    try:
        linked = catalog.linked(compiled)
        interface, description = isinstance(linked, LinkedInterface), linked.description
    except (BlobError, RefusedError) as error:  # the others are there all the same
        status, missing = "unreadable", [str(error)]
    return ProcessRow(
        name=event.name,
        version=event.process_version,
        kind="interface" if interface else "abstract" if event.abstract else "process",
        status=status,
        description=description,
        missing=missing,
        digest=event.digest,
        file=event.file,
    )


def _about(row: ProcessRow) -> str:
    """Why it cannot be run, or else what it is for."""
    if row.status == "unreadable":
        return "; ".join(row.missing)
    return "; ".join(map(absence, row.missing)) if row.status == "unlinked" else row.description


def _show_rows(screen: Screen, rows: list[ProcessRow]) -> None:
    screen.document(rows)
    screen.table(
        ("name", "version", "kind", "status", "description"),
        ((r.name, str(r.version), r.kind, r.status, _about(r)) for r in rows),
    )
