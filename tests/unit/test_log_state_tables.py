"""Cursors move without their filters, which are written only where they changed."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.bus import Batch, LogError, Receipt, SubscriptionState
from cortex.runtime.log import EventLog

FILTER = (("plan.write", None), ("plan.written", "a"))
FIRST = SubscriptionState("c", "ordered", FILTER, cursor=0, attempts=0, created=0)


@pytest.fixture
def log(tmp_path: Path) -> EventLog:
    return EventLog.open(tmp_path / "log.db")


def moved(before: SubscriptionState, **changes: object) -> SubscriptionState:
    return msgspec.structs.replace(before, **changes)


def write(log: EventLog, *standings: SubscriptionState, **more: Any) -> None:
    log.write(Batch(standings={s.name: s for s in standings}, **more))


def written(log: EventLog) -> list[str]:
    """The statements on subscriptions from now on, as they come."""
    statements: list[str] = []
    assert log._writer is not None
    log._writer.set_trace_callback(
        lambda each: statements.append(each.split()[0]) if "subscriptions" in each else None
    )
    return statements


def test_a_cursor_that_moves_does_not_write_its_filter(log: EventLog) -> None:
    write(log, FIRST)
    statements = written(log)

    second = moved(FIRST, cursor=7, attempts=1)
    write(log, second)

    assert statements == ["update"]
    assert log.state().standings == [second]
    log.close()


def test_a_filter_that_changes_is_written(log: EventLog) -> None:
    write(log, FIRST)
    statements = written(log)

    second = moved(FIRST, cursor=7, filter=(("plan.glanced", None),))
    third = moved(second, kind="work", created=3)
    write(log, second)
    assert log.state().standings == [second]
    write(log, third)

    assert statements == ["replace", "replace"]
    assert log.state().standings == [third]
    log.close()


def test_one_that_was_removed_comes_back_whole(log: EventLog) -> None:
    write(log, FIRST)
    log.write(Batch(dropped=["c"]))
    assert log.state().standings == []

    write(log, moved(FIRST, cursor=1))

    assert log.state().standings == [moved(FIRST, cursor=1)]
    log.close()


def test_one_that_another_program_removed_is_put_back(log: EventLog) -> None:
    write(log, FIRST)
    assert log._writer is not None
    log._writer.execute("delete from subscriptions")

    write(log, moved(FIRST, cursor=1))

    assert log.state().standings == [moved(FIRST, cursor=1)]
    log.close()


def test_a_transaction_that_fails_after_the_filter_was_written_leaves_the_old_one(
    log: EventLog,
) -> None:
    write(log, FIRST)
    other = moved(FIRST, filter=(("plan.glanced", None),))
    assert log._writer is not None
    # `receipts` come after subscriptions.
    log._writer.execute(
        "create trigger no before insert on receipts begin select raise(rollback, 'no'); end"
    )
    with pytest.raises(LogError):
        write(log, other, receipts={"x": Receipt("x", 1, b"")})
    log._writer.execute("drop trigger no")
    assert log.state().standings == [FIRST]

    write(log, moved(other, cursor=2))

    assert log.state().standings == [moved(other, cursor=2)]
    log.close()
