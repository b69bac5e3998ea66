"""`cortex cache`: artefacts that can always be made again, in three tiers."""

import click

from cortex.runtime.admin import cache_statistics, clear_cache
from cortex.runtime.cache import TIERS, Tier, TierStatistics
from cortex.runtime.kernel import Home, many

from ..options import at_home
from ..screen import Columns, Screen
from ..tree import Family

MB = 1_000_000


@click.group(cls=Family)
def cache() -> None:
    """Show and empty the cache of artefacts, which can be made again.

    L1 is in the memory of each process, L2 is cache.db, L3 is the folder cold/. All of it can be
    made again, so that you may delete cache.db and cold/ at any time.
    """


@cache.command()
@at_home
def stats(home: Home, screen: Screen) -> None:
    """Show hit rates, sizes and evictions of each tier.

    Counts are since cache.db was made. A process records its counts once a second while it uses the
    cache, so that the last second can be missing.
    """
    found = cache_statistics(home)
    screen.document(found)
    screen.rows(found.tiers, ROWS, known=True)
    if found.kinds:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in found.kinds.items())
        screen.line(f"in L2: {kinds}")
    broken = sum(tier.broken for tier in found.tiers)
    failures = sum(tier.failures for tier in found.tiers)
    if broken:
        screen.line(f"{many(broken, 'artefact')} had no proof and were made again", "yellow")
    if failures:
        screen.line(f"{many(failures, 'time')} the disk or a lock refused L2", "yellow")


@cache.command()
@click.option(
    "--tier",
    type=click.Choice(TIERS, case_sensitive=False),
    multiple=True,
    help="Empty this tier alone; may be repeated [default: all].",
)
@at_home
def clear(tier: tuple[Tier, ...], home: Home, screen: Screen) -> None:
    """Remove all artefacts; Cortex makes them again when it needs them.

    It works while a hub is up: its processes drop theirs from memory before they use one again.
    """
    document = clear_cache(home, tier or TIERS)
    screen.document(document)
    said = f"removed {many(document.removed, 'artefact')} from {', '.join(document.tiers)}"
    told = many(document.processes, "process", "processes")
    screen.line(f"{said}; {told} will drop theirs" if document.processes else said)


def _rate(tier: TierStatistics) -> str:
    return "" if tier.hit_rate is None else f"{tier.hit_rate:.1%}"


def _size(size: int | None) -> str:
    return "" if size is None else f"{size / MB:,.1f} MB"


ROWS: Columns = {
    "tier": "tier",
    "where": "place",
    "entries": lambda row: f"{row.entries:,}",
    "size": lambda row: _size(row.bytes),
    "bound": lambda row: _size(row.bound_bytes),
    "hits": lambda row: f"{row.hits:,}",
    "misses": lambda row: f"{row.misses:,}",
    "hit rate": _rate,
    "evictions": lambda row: f"{row.evictions:,}",
    "ghosts": lambda row: f"{row.ghosts:,}" if row.tier == "L1" else "",
    "ghost hits": lambda row: f"{row.ghost_hits:,}" if row.tier == "L1" else "",
}
