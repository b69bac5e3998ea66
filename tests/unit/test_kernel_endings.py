"""Endings are followed while work is under way, and a refusal or a new hub ends no handler."""

from importlib import import_module
from typing import Any

import pytest

from cortex.bus import (
    Fetch,
    Lease,
    Page,
    Recorded,
    Refused,
    Subscribe,
    Subscribed,
    SubscriptionError,
)

ENDINGS: Any = import_module("cortex.runtime.kernel.shells.endings")
REFUSED = Refused.of(SubscriptionError("A/endings", "is not known"))


def lease(position: int) -> Lease:
    return Lease(record=record(position), epoch=1, attempts=1)


def record(position: int) -> Recorded:
    return Recorded(
        format=1, position=position, stream="execution/e", version=1, id=bytes(16), time_ns=0,
        topic="execution.cancelled", schema=1, correlation="e", causation=None, source="s",
        key=None, subject=None, body=b"",
    )  # fmt: skip


class Cancelling:
    def __init__(self) -> None:
        self.cancelled: list[int] = []

    def cancel(self, ending: Recorded) -> None:
        self.cancelled.append(ending.position)


def answered(program: Any, *answers: list[Any]) -> list[Any]:
    """What *program* asks, where it is answered so."""
    asked = []
    step = next(program, None)
    for answer in answers:
        asked.append(step)
        try:
            step = program.send(answer)
        except StopIteration:
            return asked
    raise AssertionError(f"it goes on to ask {step}")


def test_what_is_refused_is_not_asked_for_again_and_stops_nobody() -> None:
    endings, host = ENDINGS.Endings("A/endings"), Cancelling()

    ((asked,),) = answered(endings.follow([lease(7)]), [REFUSED])

    assert isinstance(asked, Subscribe)
    assert not list(endings.follow([lease(8)]))
    assert not list(endings.look(host))


def test_a_hub_that_began_anew_is_asked_from_where_the_last_look_ended() -> None:
    endings, host = ENDINGS.Endings("A/endings"), Cancelling()
    answered(endings.follow([lease(7)]), [Subscribed(0, 9, 0)])

    first, again, last = answered(
        endings.look(host),
        [REFUSED],
        [Subscribed(0, 9, 0), Page((record(9),), through=9)],
        [Page((), through=9)],
    )

    assert isinstance(first[0], Fetch)
    assert [type(each) for each in again] == [Subscribe, Fetch]
    assert (first[0].after, again[1].after, last[0].after) == (7, 7, 9)
    assert host.cancelled == [9]


def test_a_second_refusal_is_an_error_and_no_loop() -> None:
    endings = ENDINGS.Endings("A/endings")
    answered(endings.follow([lease(7)]), [Subscribed(0, 9, 0)])

    with pytest.raises(SubscriptionError):
        answered(endings.look(Cancelling()), [REFUSED], [Subscribed(0, 9, 0), REFUSED])
