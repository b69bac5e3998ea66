"""`cortex package`: chains of memory as one text, compiled ahead of the prompts."""

import click

from cortex.runtime.admin import (
    PackageDocument,
    compile_package,
    package_rows,
    package_suggestions,
    show_package,
)
from cortex.runtime.kernel import Home, many

from ..options import at_home, with_limit, with_past, with_scopes
from ..screen import Columns, Screen
from ..tree import Family

ROWS: Columns = {
    "id": "id",
    "scope": "scope",
    "chains": lambda row: f"{len(row.chains):,}",
    "memories": lambda row: f"{len(row.sources) + len(row.replaced):,}",
    "raw": lambda row: f"{row.raw_tokens:,}",
    "tokens": lambda row: f"{row.tokens:,}",
    "ratio": lambda row: f"{row.ratio:.2f}",
    "compiled": lambda row: row.compiled[:16],
    "fresh": lambda row: "fresh" if row.fresh else "stale",
    "uses": lambda row: f"{row.uses:,}",
}
SUGGESTIONS: Columns = {
    "chains": lambda row: " ".join(row.chains),
    "scope": "scope",
    "steps": lambda row: f"{row.steps:,}",
}


@click.group(cls=Family)
def package() -> None:
    """Compile chains of memory into one text, for prompts.

    A prompt has it in place of single memories where it is shorter, and as long as it is fresh: it
    is compiled again when a memory of its chains changes. ID is the id of a package, or a beginning
    that no other one has.
    """


@package.command("compile")
@click.argument("chains", metavar="MEMORY...", nargs=-1, required=True)
@at_home
def compile_(chains: tuple[str, ...], home: Home, screen: Screen) -> None:
    """Compile the chains of these memories, each named by the id of one, into a package.

    It has the memories of one scope, that of the first one. The same chains are one package.
    """
    made = compile_package(home, chains)
    screen.document(made)
    screen.line(f"compiled {made.id}: {_sizes(made)}")


@package.command("list")
@with_limit(50)
@with_scopes
@at_home
@with_past
def list_(limit: int, scopes: tuple[str, ...], home: Home, screen: Screen) -> None:
    """List packages, those that were compiled last first."""
    empty = "there is no package: `cortex package compile` makes one"
    screen.rows(package_rows(home, scopes, limit), ROWS, empty=empty)


@package.command()
@click.argument("package_id", metavar="ID")
@click.option("--current", is_flag=True, help="Show it as prompts have it that ask no history.")
@at_home
@with_past
def show(package_id: str, current: bool, home: Home, screen: Screen) -> None:
    """Show a package: its text as a model reads it, its memories, sizes and uses."""
    found = show_package(home, package_id, history=not current)
    made = found.package
    screen.document(found)
    screen.line(f"package {made.id} of the scope {made.scope}: {_sizes(made)}", "bold")
    used = f", the last at {made.used}" if made.used else ""
    screen.line(f"compiled {made.compiled}; in {many(made.uses, 'prompt')}{used}")
    if made.collected:
        screen.note(
            f"collected at position {made.collected:,}: `cortex package compile` brings it back",
            "yellow",
        )
    elif made.changed:
        screen.note(f"stale: a memory of it changed at position {made.changed:,}", "yellow")
    ids = made.sources if current else [*made.sources, *made.replaced]
    screen.lines(f"  {number:>3}  {each}" for number, each in enumerate(ids, 1))
    screen.line()
    screen.block(found.text)


@package.command()
@at_home
@with_past
def suggestions(home: Home, screen: Screen) -> None:
    """List chains that the prompts of the last 30 days had together, and no package has.

    These are two chains, or several memories of one, in the prompts of three steps. A hub compiles
    them once a day.
    """
    empty = "no chains without a package were together in the prompts of three steps"
    screen.rows(package_suggestions(home), SUGGESTIONS, empty=empty)


def _sizes(made: PackageDocument) -> str:
    memories = many(len(made.sources) + len(made.replaced), "memory", "memories")
    raw = many(made.raw_tokens, "token")
    return f"{memories}, {raw} in {made.tokens:,} ({made.ratio:.2f} to 1)"
