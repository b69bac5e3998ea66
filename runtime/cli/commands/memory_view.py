"""`cortex memory view` and `blame`: what a step sees of memory, and what it saw."""

from pathlib import Path

import click

from cortex.runtime.admin import BlamedMemory, SeenPackage, blame, chain_page, view_memory
from cortex.runtime.kernel import Home, many

from ..completing import with_execution
from ..options import FILE, STDOUT, at_home, question_of, with_limit, with_past, with_scopes
from ..screen import Screen


@click.command()
@click.argument("words", metavar="TEXT...", nargs=-1, required=True)
@with_limit(20, 100)
@with_scopes
@click.option(
    "--subject",
    default="",
    metavar="NAME",
    help="Whose personal data the execution has: the step sees what is about NAME, too.",
)
@click.option(
    "--html",
    type=FILE,
    metavar="FILE",
    help="Write the chain of the memory TEXT, an id, as a page; - is standard output.",
)
@at_home
@with_past
def view(
    words: tuple[str, ...],
    limit: int,
    scopes: tuple[str, ...],
    subject: str,
    html: Path | None,
    home: Home,
    screen: Screen,
) -> None:
    """Show what a step that asks TEXT would see, and what lies behind it.

    Each line is as a prompt has it, with its tokens and how much more its chain has. --html
    writes the chain of a memory as a page with its graph, which needs no script and no network.
    """
    if html is not None:
        page = chain_page(home, question_of(words))
        if html == STDOUT:
            click.echo(page, nl=False)
            return
        html.write_text(page, encoding="utf-8")
        screen.line(f"wrote {html}")
        return
    document = view_memory(home, question_of(words), scopes, limit, subject)
    screen.document(document)
    screen.notes(document.notes)
    for package in document.packages:
        _package(screen, package)
    seen = len(document.seen) + sum(len(each.memories) for each in document.packages)
    for each in document.seen:
        screen.block(each.line)
        behind = f"{many(each.behind, 'more memory', 'more memories')} in chain {each.chain}"
        more = f", {many(each.executions, 'execution')}" if each.executions else ""
        screen.line(
            f"  {many(each.tokens, 'token')}, {many(each.sources, 'source')}, {behind}{more}", "dim"
        )
    if not document.seen and not document.packages:
        screen.line("nothing was found")
    screen.line(
        f"{document.tokens:,} of {many(document.budget, 'token')}; {seen:,} of "
        f"{many(document.stored, 'memory', 'memories')} seen"
    )


def _package(screen: Screen, package: SeenPackage) -> None:
    screen.block(package.text)
    of = many(len(package.memories), "memory", "memories")
    tokens = f"{many(package.tokens, 'token')} in place of {package.instead_of:,}"
    screen.line(f"  package {package.id}, {tokens} for {of} that were found", "dim")


@click.command("blame")
@with_execution
@at_home
@with_past
def blame_(execution_id: str, home: Home, screen: Screen) -> None:
    """Show which memories informed an execution, which were stale, and which were missing.

    Stale is what did not hold when the prompt was compiled, or does not hold now. Missing is what
    held then, fits what the step asked, and was not in the prompt.
    """
    document = blame(home, execution_id)
    screen.document(document)
    if not document.prompts:
        screen.line("no prompt of this execution asked memory")
    for prompt in document.prompts:
        turn = f", turn {prompt.turn}" if prompt.turn else ""
        screen.line(f"{prompt.step}, attempt {prompt.attempt}{turn}", "bold")
        screen.lines(f"  asked     {text}" for text in prompt.asked)
        for title, memories in (
            ("informed", prompt.informed),
            ("missing", prompt.missing),
            ("later", prompt.later),
        ):
            screen.lines(
                f"  {title:<9} {each.id}: {screen.cut(_said(each))}{_standing(each)}"
                for each in memories
            )
        if not prompt.informed:
            screen.line("  informed  by no memory")


def _said(memory: BlamedMemory) -> str:
    return " ".join(memory.content.split())  # no part of it passes for a line of another memory


def _standing(memory: BlamedMemory) -> str:
    if (memory.then, memory.now) == ("current", "current"):
        return ""
    by = f" by {', '.join(memory.successors)}" if memory.successors else ""
    then = f"{memory.then} then" if memory.then != "current" else "current then"
    return f" [{then}, {memory.now} now{by}]"
