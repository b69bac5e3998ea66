"""What moves with the events of a log fits them, or is called by its name."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.bus import Deadline, Draft, State, SubscriptionState, Work
from cortex.runtime.log import misplaced

HEAD = 50
DRAFT = msgspec.msgpack.encode(Draft("step.wake", 1, "execution/a", None, b"\x80"))


def state(
    *more: SubscriptionState,
    work: tuple[Work, ...] = (),
    deadlines: tuple[Deadline, ...] = (),
) -> State:
    standings = [
        SubscriptionState("O", "ordered", (("*", None),), HEAD),
        SubscriptionState("W", "work", (), 7, 0, 3),
    ]
    return State(HEAD, 1, [*standings, *more], list(work), list(deadlines), [])


@given(
    positions=st.lists(st.integers(1, HEAD)),
    cursor=st.integers(0, HEAD),
    created=st.integers(0, HEAD),
)
def test_what_lies_within_the_log_is_in_order(
    positions: list[int], cursor: int, created: int
) -> None:
    found = state(
        SubscriptionState("P", "work", (), cursor, 2, created),
        work=tuple(Work("P", position, 1, 1, 5) for position in positions),
        deadlines=(Deadline("d", 1, DRAFT, "P"),),
    )

    assert misplaced(found) is None


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (state(SubscriptionState("P", "odd", ())), "P is of the unknown kind 'odd'"),
        (
            state(SubscriptionState("P", "work", (), 51)),
            "P is at position 51, and the log has 50 events",
        ),
        (state(SubscriptionState("P", "ordered", (), -1)), "subscription P is at position -1"),
        (state(SubscriptionState("P", "work", (), 0, 0, 51)), "subscription P is at position 51"),
        (state(work=(Work("nobody", 7),)), "position 7 is for nobody, which is not a subscription"),
        (state(work=(Work("O", 7),)), "position 7 is for O, which is not a subscription for work"),
        (state(work=(Work("W", 51),)), "work of W is at position 51, and the log has 50 events"),
        (state(work=(Work("W", 0),)), "work of W is at position 0"),
        (state(deadlines=(Deadline("d", 1, b"\xc1", "W"),)), "deadline d cannot be decoded"),
    ],
)
def test_what_no_hub_would_write_is_named(wrong: State, problem: str) -> None:
    assert problem in (misplaced(wrong) or "")
