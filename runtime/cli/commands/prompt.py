"""`cortex prompt`: the prompts that were compiled, what is in them, and why."""

from itertools import islice

import click

from cortex.runtime.kernel import Home

from ..completing import execution_ids
from ..errors import NotFoundError
from ..options import with_home, with_screen
from ..prompting import (
    PromptDiff,
    PromptDocument,
    PromptRow,
    PromptStats,
    diff_of,
    document_of,
    find_prompt,
    newest_prompts,
    row_of,
    stats_of,
)
from ..prompting import why_of as why_of_item
from ..reading import History
from ..screen import Screen
from ..tree import Family

UNREAD = 3  # prompts without a manifest that are named
SHOWN = 12  # characters of a digest, enough to name it
HEADERS = ("prompt", "execution", "step", "turn", "tokens", "of window", "in", "cacheable", "model")
ITEM_HEADERS = ("item", "section", "state", "tokens", "score", "why")
SOURCE_HEADERS = ("source", "section", "considered", "included", "tokens", "saved")


@click.group(cls=Family)
def prompt() -> None:
    """Look at prompts: what went in, what stayed out, and why.

    PROMPT is the digest of one, or as much of it as no other has, or EXECUTION, EXECUTION/STEP or
    EXECUTION/STEP/TURN for the newest one that fits.
    """


@prompt.command("list")
@click.argument("execution_id", metavar="[EXECUTION]", default="", shell_complete=execution_ids)
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True)
@with_home
@with_screen
def list_(execution_id: str, limit: int, home: Home, screen: Screen) -> None:
    """List prompts, the newest first."""
    with History.open(home) as history:
        known = history.execution_id(execution_id) if execution_id else ""
        rows = [row_of(each) for each in islice(newest_prompts(history, known), limit)]
    screen.document(rows)
    screen.table(HEADERS, map(_cells, rows))


@prompt.command()
@click.argument("name", metavar="PROMPT")
@click.option("--manifest", "only_manifest", is_flag=True, help="Show the manifest, not the text.")
@with_home
@with_screen
def show(name: str, only_manifest: bool, home: Home, screen: Screen) -> None:
    """Show a prompt as it was sent, or its manifest."""
    with History.open(home) as history:
        document = document_of(history, find_prompt(history, name))
    screen.document(document)
    if only_manifest:
        _show_manifest(screen, document)
    else:
        screen.block(document.text)


@prompt.command()
@click.argument("before", metavar="PROMPT")
@click.argument("after", metavar="PROMPT")
@with_home
@with_screen
def diff(before: str, after: str, home: Home, screen: Screen) -> None:
    """Show which items changed from one prompt to another, and why."""
    with History.open(home) as history:
        documents = [document_of(history, find_prompt(history, name)) for name in (before, after)]
    found = diff_of(*documents)
    screen.document(found)
    _show_diff(screen, found)


@prompt.command()
@click.argument("item")
@click.option("--in", "name", default="", metavar="PROMPT", help="In this prompt alone.")
@click.option("--execution", default="", shell_complete=execution_ids, help="In those of this one.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=10, show_default=True)
@with_home
@with_screen
def why(item: str, name: str, execution: str, limit: int, home: Home, screen: Screen) -> None:
    """Say why ITEM was in a prompt, or was left out.

    ITEM is an id as a manifest has it, or a source. The newest prompts come first.
    """
    unread: list[str] = []
    with History.open(home) as history:
        known = history.execution_id(execution) if execution else ""
        prompts = [find_prompt(history, name)] if name else newest_prompts(history, known)
        found = why_of_item(history, prompts, item, None if name else unread)
        rows = list(islice(found, limit))
    _note_unread(screen, unread)
    if not rows:
        where = f"prompt {name}" if name else "any prompt"
        hint = "`cortex prompt show PROMPT --manifest` lists what was considered"
        raise NotFoundError("item", item, f"was not considered for {where}: {hint}")
    screen.document(rows)
    for row in rows:
        about = row.prompt
        lead = f"{_digest(about.prompt)}  {about.execution[:8]}/{about.step}/{about.turn}  "
        screen.paragraph(row.because, lead=lead)


@prompt.command()
@click.argument("execution_id", metavar="[EXECUTION]", default="", shell_complete=execution_ids)
@click.option("-n", "--limit", type=click.IntRange(min=1), default=200, show_default=True)
@with_home
@with_screen
def stats(execution_id: str, limit: int, home: Home, screen: Screen) -> None:
    """Show what each section costs, and which sources are never used."""
    with History.open(home) as history:
        known = history.execution_id(execution_id) if execution_id else ""
        found = stats_of(history, islice(newest_prompts(history, known), limit))
    screen.document(found)
    _note_unread(screen, found.unread)
    _show_stats(screen, found)


def _note_unread(screen: Screen, unread: list[str]) -> None:
    for problem in unread[:UNREAD]:
        screen.note(problem, "yellow")
    if len(unread) > UNREAD:
        screen.note(f"and {len(unread) - UNREAD:,} prompts more are left out", "yellow")


def _digest(digest: str) -> str:
    return digest.rpartition(":")[2][:SHOWN]


def _cells(row: PromptRow) -> tuple[str, ...]:
    return (
        _digest(row.prompt),
        row.execution[:8],
        row.step,
        str(row.turn),
        f"{row.tokens:,}",
        f"{row.utilisation:.0%}",
        f"{row.included}/{row.considered}",
        f"{row.eligible:,}",
        row.model,
    )


def _show_manifest(screen: Screen, document: PromptDocument) -> None:
    manifest = document.manifest
    screen.table(
        ITEM_HEADERS,
        (
            (e.id, e.section, e.state, f"{e.tokens:,}", f"{e.score:.3f}", e.reason)
            for e in manifest.items
        ),
    )
    screen.line()
    for name, tokens in manifest.sections.items():
        if tokens:
            screen.line(f"{name:<13} {tokens:>7,} of {manifest.budgets.get(name, 0):,}")
    screen.line(
        f"{'prompt':<13} {manifest.tokens:>7,} of {manifest.effective_window:,}, "
        f"{manifest.headroom:,} of them kept for the answer"
    )
    stretches = ", ".join(f"{each.stretch} {each.tokens:,}" for each in manifest.segments)
    screen.line(f"{'stretches':<13} {stretches}; {manifest.strategy}")
    for over in manifest.passed_over:
        screen.line(f"{'passed over':<13} {over.count:,} items of {over.section}: {over.reason}")
    for warning in manifest.warnings:
        screen.line(f"{'warning':<13} {warning}", "yellow")


def _show_diff(screen: Screen, found: PromptDiff) -> None:
    if found.same:
        screen.line("the same prompt, to the byte")
        return
    sections = ", ".join(f"{name} {tokens:+,}" for name, tokens in found.sections.items())
    screen.line(f"{found.tokens:+,} tokens{sections and ': '}{sections}")
    screen.line(f"both begin with the same {found.shared:,} characters")
    for epoch in found.epochs:
        screen.line(epoch)
    for item in found.items:
        screen.line(f"{item.change:<12}  {item.id}  {item.tokens:+,} tokens", "bold")
        screen.paragraph(item.before, lead="    before  ")
        screen.paragraph(item.after, lead="    after   ")


def _show_stats(screen: Screen, found: PromptStats) -> None:
    screen.line(
        f"{found.prompts:,} prompts, {found.distinct:,} texts, {found.tokens:,} tokens, "
        f"{found.eligible:,} of them cacheable, {found.epochs:,} epochs"
    )
    for each in found.sections:
        screen.line(f"{each.section:<13} {each.tokens:>9,}  {each.share:>6.1%}  most {each.most:,}")
    screen.line()
    screen.table(
        SOURCE_HEADERS,
        (
            (e.source, e.section, str(e.considered), str(e.included), f"{e.tokens:,}", str(e.saved))
            for e in found.sources
        ),
    )
    for name in found.unused:
        screen.note(f"never used: {name}")
