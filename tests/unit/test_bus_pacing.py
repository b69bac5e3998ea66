"""How long is waited between tries, and how often what repeats is reported."""

from functools import partial

import pytest

from cortex.bus import Backoff, Throttle, TimerQueue

SECOND_NS = 1_000_000_000


def test_waits_grow_up_to_the_longest() -> None:
    backoff = Backoff(first_s=0.1, longest_s=1.0)

    assert [backoff.after_ns(n) // 1_000_000 for n in range(1, 7)] == [
        100,
        200,
        400,
        800,
        1000,
        1000,
    ]
    assert backoff.after_s(1_000_000_000) == 1.0


@pytest.mark.parametrize(("factor", "third_s"), [(1.0, 2.0), (3.0, 18.0)])
def test_a_backoff_has_a_factor_of_its_own(factor: float, third_s: float) -> None:
    assert Backoff(2.0, 300.0, factor).after_s(3) == third_s


def test_a_first_wait_over_the_longest_is_the_longest() -> None:
    assert Backoff(first_s=10.0, longest_s=1.0).after_s(1) == 1.0


def test_what_worked_for_long_enough_is_forgiven_its_failures() -> None:
    backoff = Backoff(0.1, 30.0, forgiven_s=60.0)

    assert [backoff.failures(5, worked_s) for worked_s in (0.0, 59.9, 60.0)] == [6, 6, 1]
    assert Backoff(0.1, 30.0).failures(5, 1e9) == 6


def test_what_comes_often_is_reported_once_a_second_with_how_often_it_came() -> None:
    throttle = Throttle()

    reported = [throttle.take("a", n * SECOND_NS // 4) for n in range(9)]

    assert reported == [1, 0, 0, 0, 4, 0, 0, 0, 4]
    assert throttle.take("b", 0) == 1


def test_endlessly_many_things_to_report_take_no_memory() -> None:
    throttle = Throttle()

    for n in range(3 * Throttle.KEPT):
        throttle.take(str(n), 0)

    assert len(throttle._seen) == Throttle.KEPT


def test_calls_are_due_in_the_order_of_their_times_and_then_of_being_set() -> None:
    timers, called = TimerQueue(), list[str]()
    for at_ns, name in ((3, "late"), (1, "first"), (1, "second")):
        timers.set(at_ns, partial(called.append, name))

    for call in timers.due(2):
        call()

    assert (called, timers.next_ns) == (["first", "second"], 3)
    assert len(timers.due(3)) == 1
    assert timers.next_ns is None
