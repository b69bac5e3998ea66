"""Everything a client has at the hub, read from the log; its removal takes all of it."""

from collections.abc import Sequence
from typing import Final

import msgspec

from cortex.bus import Log, State, Vocabulary, kept_draft, root_of, tally_of
from cortex.bus.events import ComponentAnnounced

from .owners import announced_by

COUNTED: Final = ("subscriptions", "filters", "deadlines", "receipts")  # keys of [limits]


class HeldSubscription(msgspec.Struct, frozen=True):
    """A subscription of a client."""

    name: str
    kind: str  # "ordered" or "work"
    cursor: int
    lag: int  # events of the log after the cursor (ordered), or events that wait for work


class HeldDeadline(msgspec.Struct, frozen=True):
    """An event that a client left to be recorded at its time."""

    name: str
    topic: str
    due_ns: int
    source: str  # in whose name it was set: a component that the client hosts may be


class Holdings(msgspec.Struct, frozen=True):
    """What one client has at the hub that outlives its connections."""

    subscriptions: tuple[HeldSubscription, ...] = ()
    deadlines: tuple[HeldDeadline, ...] = ()
    announced: tuple[ComponentAnnounced, ...] = ()
    counts: dict[str, int] = {}  # by key of [limits]: how much is used


def holdings_of(
    client: str, log: Log, vocabulary: Vocabulary, names: Sequence[str] = ()
) -> Holdings:
    """What *client* has, and every part of it ("client/...").

    Args:
        client: Its name.
        log: Of the hub.
        vocabulary: Reads what is announced.
        names: Of the components that it hosts: what they have counts for its limits, too.

    Raises:
        LogError: The log cannot be read.
    """
    state = log.state()
    found = (kept_draft(each) for each in state.deadlines)
    return Holdings(
        subscriptions=_subscriptions(client, state),
        deadlines=tuple(
            HeldDeadline(each.name, draft.topic, each.due_ns, each.source)
            for each, draft in zip(state.deadlines, found, strict=True)
            if root_of(draft.owner) == client
        ),
        announced=tuple(each.announced for each in announced_by(client, log, vocabulary)),
        counts=_counts(state, (client, *names)),
    )


def _counts(state: State, roots: Sequence[str]) -> dict[str, int]:
    tally = tally_of(state.standings, state.deadlines, state.receipts)
    waiting = sum(root_of(work.subscription) in roots for work in state.work)
    counts = {each: tally.of(each, roots) for each in COUNTED}
    return {**counts, "waiting": waiting}


def _subscriptions(client: str, state: State) -> tuple[HeldSubscription, ...]:
    held = [standing for standing in state.standings if root_of(standing.name) == client]
    waiting = dict.fromkeys((standing.name for standing in held), 0)
    for work in state.work:
        if work.subscription in waiting:
            waiting[work.subscription] += 1
    return tuple(
        HeldSubscription(
            each.name,
            each.kind,
            each.cursor,
            waiting[each.name] if each.kind == "work" else state.head - each.cursor,
        )
        for each in held
    )
