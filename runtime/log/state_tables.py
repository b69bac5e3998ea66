"""How subscriptions, work, deadlines and receipts are checked and written with their events.

A cursor changes with nearly every transaction, and its long filter hardly ever: so only
the cursor is written if the rest of its row is unchanged.
"""

import sqlite3
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from cortex.bus import Batch, Draft, State, SubscriptionState

from .statements import delete_many, put_many

MOVE = "update subscriptions set cursor = ?, attempts = ? where name = ?"
KINDS = ("ordered", "work")


class StateTables:
    """Writes these tables; `write` of the log calls it, one thread at a time."""

    def __init__(self) -> None:
        self._written: dict[str, SubscriptionState] = {}  # as they are in the table, by name

    def put(self, writer: sqlite3.Connection, batch: Batch) -> None:
        """Write the changes of *batch* to the tables.

        Removals come before additions, except finished work, which comes last: work that
        was claimed and finished in one batch stays finished.
        """
        if batch.dropped:
            self._drop(writer, batch.dropped)
        if batch.standings:
            self._put_standings(writer, batch.standings)
        if batch.work:
            put_many(writer, "replace into work", _tuples(batch.work.values()))
        if batch.finished:
            _end(writer, batch.finished)
        if batch.forgotten:
            delete_many(writer, "delete from deadlines where name", list(batch.forgotten))
        if batch.deadlines:
            put_many(writer, "replace into deadlines", _tuples(batch.deadlines.values()))
        if batch.voided:
            delete_many(writer, "delete from receipts where client", batch.voided)
        if batch.receipts:
            put_many(writer, "replace into receipts", _tuples(batch.receipts.values()))

    def undone(self) -> None:
        """Note that the transaction was rolled back: its writes are undone."""
        self._written.clear()

    def _drop(self, writer: sqlite3.Connection, names: list[str]) -> None:
        delete_many(writer, "delete from subscriptions where name", names)
        delete_many(writer, "delete from work where subscription", names)
        for name in names:
            self._written.pop(name, None)

    def _put_standings(
        self, writer: sqlite3.Connection, standings: dict[str, SubscriptionState]
    ) -> None:
        whole = [each for each in standings.values() if not self._moved(writer, each)]
        if whole:
            put_many(writer, "replace into subscriptions", list(map(_columns, whole)))
            self._written.update((standing.name, standing) for standing in whole)

    def _moved(self, writer: sqlite3.Connection, standing: SubscriptionState) -> bool:
        """Write only the cursor of *standing*, if the rest of its row is unchanged."""
        name, before = standing.name, self._written.get(standing.name)
        if (
            before is None
            or before.filter is not standing.filter
            or (before.kind, before.created) != (standing.kind, standing.created)
        ):
            return False
        moved = writer.execute(MOVE, (standing.cursor, standing.attempts, name))
        return moved.rowcount == 1  # otherwise another program has removed the row: write it whole


def _end(writer: sqlite3.Connection, finished: list[tuple[str, int]]) -> None:
    # By subscription: for pairs, `(subscription, position) in (...)`, SQLite would scan all the
    # work of the subscription, once for each.
    for name, ended in groupby(sorted(finished), key=itemgetter(0)):
        positions = [position for _, position in ended]
        delete_many(writer, "delete from work where subscription = ? and position", positions, name)


def _columns(standing: SubscriptionState) -> tuple[Any, ...]:
    name, kind, seen, *rest = msgspec.structs.astuple(standing)
    return name, kind, msgspec.json.encode(seen).decode(), *rest


def _tuples(structs: Iterable[msgspec.Struct]) -> list[tuple[Any, ...]]:
    return list(map(msgspec.structs.astuple, structs))


def misplaced(state: State) -> str | None:
    """The error in a log's *state*, if there is one; a hub never writes such a state.

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
