"""`cortex process`: the processes of a home, their parts, and their past executions."""

import time
from collections.abc import Iterator
from functools import partial

import click

from cortex.runtime.admin import (
    Fared,
    inspected,
    matching_processes,
    process_history,
    process_rows,
)
from cortex.runtime.kernel import Home, duration, local, parse_time, recent
from cortex.runtime.processes import (
    LinkedInterface,
    LinkedProcess,
    diff,
    inferred_needs,
    inspect,
)
from cortex.runtime.processes.catalog import Catalog, demands_of, diff_as_written
from cortex.runtime.sessions import compiled_history

from ..completing import process_names
from ..options import at_any_home, question_of, with_limit, with_past, with_version, words
from ..screen import Columns, Screen
from ..tree import Family
from .process_checks import dry_run, validate

LEAD = 12  # columns of the leading words of `inspect`
ROWS: Columns = {
    "name": "name",
    "version": lambda row: str(row.version),
    "kind": "kind",
    "status": "status",
    "description": "about",
}
FOUND: Columns = {
    "score": lambda row: f"{row.score:.2f}",
    "name": "name",
    "status": "status",
    "description": "about",
}

named = click.argument("name", shell_complete=process_names)


@click.group(cls=Family)
def process() -> None:
    """Show processes and check their sources."""


process.add_command(validate)
process.add_command(dry_run)


@process.command(name="list")
@click.option("--all", "all_", is_flag=True, help="Also show retired ones.")
@at_any_home
@with_past
def list_(all_: bool, home: Home, screen: Screen) -> None:
    """List processes and interfaces in their newest versions."""
    with compiled_history(home, screen.warn) as history:
        screen.rows(process_rows(Catalog(history), retired=all_), ROWS)


@process.command()
@words
@with_limit(10, 100)
@at_any_home
@with_past
def find(words: tuple[str, ...], limit: int, home: Home, screen: Screen) -> None:
    """Find the processes that match TEXT best, best first.

    TEXT is ordinary words: "the process that handles CI failures". The search covers names,
    descriptions, inputs, steps and triggers, as it does passages of knowledge.
    """
    question = question_of(words)
    with compiled_history(home, screen.warn) as history:
        rows, notes = matching_processes(history, question, limit)
    screen.notes(notes)
    none = "no process here has to do with that: `cortex process list` shows all"
    screen.rows(rows, FOUND, empty=none)


@process.command(name="inspect")
@named
@with_version
@at_any_home
@with_past
def inspect_(name: str, version: int | None, home: Home, screen: Screen) -> None:
    """Show the parts of a process, and where each part comes from."""
    with compiled_history(home, screen.warn) as history:
        document = inspected(Catalog(history), name, version)
    row, linked = document.process, document.linked
    screen.document(document)
    if linked.description:
        screen.paragraph(linked.description)
    if row.status != "ready":
        why = f": {row.about}" if row.status == "unlinked" else ""
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
@named
@click.argument("before", type=int, required=False)
@click.argument("after", type=int, required=False)
@at_any_home
@with_past
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
@named
@at_any_home
@with_past
def history(name: str, home: Home, screen: Screen) -> None:
    """Show the versions of a process, and the results of each."""
    with compiled_history(home, screen.warn) as past:
        found = process_history(past, name)
    when = partial(recent, now_ns=time.time_ns()) if screen.terminal else local
    columns: Columns = {
        "version": lambda row: str(row.version),
        "compiled": lambda row: when(parse_time(row.compiled, 0)),
        "runs": lambda row: str(row.runs),
        "completed": lambda row: _share(row) if row.runs else "-",
        "tokens a run": lambda row: f"{row.tokens / row.runs:,.0f}" if row.runs else "-",
        "time a run": lambda row: duration(row.duration_s / row.runs) if row.runs else "-",
        "digest": lambda row: row.digest[:12],
    }
    screen.rows(found, columns)


def _share(row: Fared) -> str:
    return f"{row.completed} ({row.completed / row.runs:.0%})"


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
    """What an interface requires of its implementations."""
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
