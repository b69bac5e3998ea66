"""Compares cursors, work, deadlines and receipts on disk with the hub's own state.

A hub reads them once, at its start; from then on it only writes them. A change by another program
has no effect: the comparison finds it, and the hub's state is right.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ..event import Draft
from ..events.log import LogStateMended
from ..log import Batch, State, Work
from .hub_state import HubState

SHOWN = 64  # of the differences, by name


def put_back(known: HubState, state: State, batch: Batch) -> list[str]:
    """Stage what corrects a log that holds *state* to *known*; describes the differences."""
    standings = {n: s for n, s in known.standings.items() if n not in known.passing}
    there = {standing.name: standing for standing in state.standings}
    batch.dropped += there.keys() - standings.keys()
    batch.standings |= _other(standings, there)
    work = {(n, each.position): each for n, queue in known.queues.items() for each in queue}
    found = {(each.subscription, each.position): each for each in state.work}
    batch.finished += found.keys() - work.keys()
    batch.work |= _other(_timeless(work), _timeless(found))
    deadlines = {deadline.name: deadline for deadline in state.deadlines}
    batch.forgotten |= dict.fromkeys(deadlines.keys() - known.deadlines.keys())
    batch.deadlines |= _other(known.deadlines, deadlines)
    receipts = {receipt.client: receipt for receipt in state.receipts}
    batch.voided += receipts.keys() - known.receipts.keys()
    batch.receipts |= _other(known.receipts, receipts)
    return sorted(_names(batch))


def mended_by_hub(rows: list[str]) -> Draft:
    """What is recorded when *rows* were put back."""
    counts = Counter(row.partition(" ")[0] for row in rows)
    said = ", ".join(f"{table} {count:,}" for table, count in counts.items())
    told = LogStateMended(how="kept", by="hub", found=said, done=said, rows=tuple(rows[:SHOWN]))
    return Draft.of(told)


def _other(right: Mapping[Any, Any], found: Mapping[Any, Any]) -> dict[Any, Any]:
    return {key: value for key, value in right.items() if found.get(key) != value}


def _timeless(works: Mapping[tuple[str, int], Work]) -> dict[tuple[str, int], Work]:
    # Leases and backoffs of an earlier life of the hub are never read.
    return {key: msgspec.structs.replace(work, not_before_ns=0) for key, work in works.items()}


def _names(batch: Batch) -> Iterator[str]:
    yield from (f"subscriptions {name}" for name in {*batch.dropped, *batch.standings})
    yield from (f"work {name} at {at}" for name, at in {*batch.finished, *batch.work})
    yield from (f"deadlines {name}" for name in {*batch.forgotten, *batch.deadlines})
    yield from (f"receipts {client}" for client in {*batch.voided, *batch.receipts})
