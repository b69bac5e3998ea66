"""`cortex blobs`: large payloads, and those of them that nothing names."""

import time

import click

from cortex.runtime.admin import collect_blobs
from cortex.runtime.kernel import Home, many, parse_time

from ..options import at_home
from ..screen import Screen
from ..tree import Family

OLDER = "1d"


@click.group(cls=Family)
def blobs() -> None:
    """Manage blobs: remove those that nothing names."""


@blobs.command()
@click.option(
    "--older",
    default=OLDER,
    show_default=True,
    metavar="AGE",
    help="Only blobs that nobody uploaded or asked for within this time: 90s, 12h, 7d.",
)
@click.option("--dry-run", is_flag=True, help="Remove nothing; show what would be removed.")
@at_home
def gc(older: str, dry_run: bool, home: Home, screen: Screen) -> None:
    """Remove blobs that no event, deadline or index names.

    It may run while a hub is up. A client that uploads a blob names it soon, so a blob that is
    older than AGE and that nothing names is not needed any more.
    """
    now_ns = time.time_ns()
    idle_s = max(0.0, (now_ns - parse_time(older, now_ns)) / 1e9)
    found = collect_blobs(home, idle_s, dry_run=dry_run)
    screen.document(found)
    if not home.log_path.exists():
        screen.line("there is nothing to remove: nothing was recorded yet")
        return
    verb = "would remove" if dry_run else "removed"
    screen.line(f"{verb} {many(found.removed, 'blob')}, {many(found.freed_bytes, 'byte')}")
