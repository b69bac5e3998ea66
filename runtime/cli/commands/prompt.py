"""`cortex prompt`: the prompts that were compiled, what is in them, and why."""

from itertools import islice

import click

from cortex.runtime.context.prompt_log import (
    diff_of,
    document_of,
    find_prompt,
    newest_prompts,
    rebuilt_document,
    row_of,
    stats_of,
)
from cortex.runtime.context.prompt_log import why_of as why_of_item
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home, NotFoundError, many

from ..completing import execution_ids, with_any_execution
from ..options import at_home, with_limit, with_past
from ..prompts import counting_of, digest_shown, show_diff, show_manifest, show_stats
from ..screen import Columns, Screen
from ..tree import Family

SET_IN = 4  # columns of a line that is quoted
UNREAD = 3  # prompts without a manifest that are named
COLUMNS: Columns = {
    "prompt": lambda row: digest_shown(row.prompt),
    "execution": lambda row: row.execution[:8],
    "step": "step",
    "turn": "turn",
    "tokens": "tokens",
    "of window": lambda row: f"{row.share:.0%}",
    "in": lambda row: f"{row.included}/{row.considered}",
    "cacheable": "eligible",
    "model": "model",
}


@click.group(cls=Family)
def prompt() -> None:
    """Show prompts: what they contain, what was left out, and why.

    PROMPT is the digest of one, or as much of it as no other has, or EXECUTION, EXECUTION/STEP or
    EXECUTION/STEP/TURN for the newest one that fits.
    """


@prompt.command("list")
@with_any_execution
@with_limit(20)
@at_home
@with_past
def list_(execution_id: str, limit: int, home: Home, screen: Screen) -> None:
    """List prompts, the newest first."""
    with History.open(home) as history:
        known = history.execution_id(execution_id) if execution_id else ""
        rows = [row_of(each) for each in islice(newest_prompts(history, known), limit)]
    screen.rows(rows, COLUMNS)


@prompt.command()
@click.argument("name", metavar="PROMPT")
@click.option("--manifest", "only_manifest", is_flag=True, help="Show the manifest, not the text.")
@click.option(
    "--rebuild",
    is_flag=True,
    help="Compile it again from its inputs; fails if a byte differs.",
)
@at_home
@with_past
def show(name: str, only_manifest: bool, rebuild: bool, home: Home, screen: Screen) -> None:
    """Show a prompt as Cortex sent it, or its manifest."""
    with History.open(home) as history:
        compiled = find_prompt(history, name)
        document = (rebuilt_document if rebuild else document_of)(history, compiled)
    screen.document(document)
    if only_manifest:
        show_manifest(screen, document)
    else:
        manifest = document.manifest
        screen.block(document.text)
        if not manifest.exact:
            screen.warn(f"{many(manifest.tokens, 'token')}: {counting_of(manifest)}")
        screen.notes(manifest.warnings)
    if rebuild:
        size = many(len(document.text.encode()), "byte")
        screen.note(f"compiled again to the same {size} from what the home keeps", "green")


@prompt.command()
@click.argument("before", metavar="PROMPT")
@click.argument("after", metavar="PROMPT")
@click.option(
    "--brief", is_flag=True, help="Show only which items changed, and why, without their text."
)
@at_home
@with_past
def diff(before: str, after: str, brief: bool, home: Home, screen: Screen) -> None:
    """Show what changed from one prompt to another, item by item, and why.

    Added lines are marked +, removed lines -.
    """
    with History.open(home) as history:
        documents = [document_of(history, find_prompt(history, name)) for name in (before, after)]
    found = diff_of(*documents)
    screen.document(found)
    show_diff(screen, found, texts=not brief)


@prompt.command()
@click.argument("item")
@click.option("--in", "name", default="", metavar="PROMPT", help="Only in this prompt.")
@click.option(
    "--execution",
    default="",
    shell_complete=execution_ids,
    help="Only in prompts of this execution.",
)
@with_limit(10)
@at_home
@with_past
def why(item: str, name: str, execution: str, limit: int, home: Home, screen: Screen) -> None:
    """Show why ITEM was in a prompt, or was left out.

    ITEM is an id from a manifest, or a source, or the end of its path. ITEM:LINE asks about one
    line: which chunk contained it, and what happened to that chunk. The newest prompts come first.
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
        lead = f"{digest_shown(about.prompt)}  {about.execution[:8]}/{about.step}/{about.turn}  "
        screen.paragraph(row.because, lead=lead)
        if row.line and row.line.text:
            screen.paragraph(row.line.text, lead=f"{' ' * SET_IN}{row.line.line}: ")


@prompt.command()
@with_any_execution
@with_limit(200)
@at_home
@with_past
def stats(execution_id: str, limit: int, home: Home, screen: Screen) -> None:
    """Show what each section costs, and which sources are never used.

    It covers the newest prompts; `-n` says how many. It shows dollars if a model has a price.
    """
    with History.open(home) as history:
        known = history.execution_id(execution_id) if execution_id else ""
        found = stats_of(history, islice(newest_prompts(history, known), limit))
    screen.document(found)
    _note_unread(screen, found.unread)
    show_stats(screen, found)


def _note_unread(screen: Screen, unread: list[str]) -> None:
    screen.notes(unread[:UNREAD])
    if len(unread) > UNREAD:
        screen.warn(f"and {many(len(unread) - UNREAD, 'prompt')} more are left out")
