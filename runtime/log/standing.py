"""Whether what moves with a log's events fits them: subscriptions, their work, deadlines."""

import msgspec

from cortex.bus import Draft, State

KINDS = ("ordered", "work")


def misplaced(state: State) -> str | None:
    """What is wrong with a log's *state* in words, if anything is; a hub never writes it so.

    The events themselves are checked by `EventLog.verify`.
    """
    kinds = {standing.name: standing.kind for standing in state.standings}
    for standing in state.standings:
        if standing.kind not in KINDS:
            return f"subscription {standing.name} is of the unknown kind {standing.kind!r}"
        for at in (standing.cursor, standing.created):
            if not 0 <= at <= state.head:
                return (
                    f"subscription {standing.name} is at position {at}, and the log has "
                    f"{state.head} events"
                )
    for work in state.work:
        if kinds.get(work.subscription) != "work":
            return (
                f"work at position {work.position} is for {work.subscription}, which is not a "
                "subscription for work"
            )
        if not 1 <= work.position <= state.head:
            return (
                f"work of {work.subscription} is at position {work.position}, and the log has "
                f"{state.head} events"
            )
    for deadline in state.deadlines:
        try:
            msgspec.msgpack.decode(deadline.draft, type=Draft)
        except msgspec.MsgspecError as error:
            return f"the event of deadline {deadline.name} cannot be decoded ({error})"
    return None
