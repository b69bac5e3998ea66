"""What a client has at the hub: all that would go with it, as the log holds it."""

import msgspec

from cortex.bus import Log, State, Vocabulary, kept_draft, root_of
from cortex.bus.events import ComponentAnnounced

from .owners import announced_by


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


def holdings_of(client: str, log: Log, vocabulary: Vocabulary) -> Holdings:
    """What *client* has, and every part of it ("client/...").

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
        announced=tuple(announced_by(client, log, vocabulary)),
    )


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
