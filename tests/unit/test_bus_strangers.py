"""Which strangers are closed: the oldest, of one address no more than its share, and the late."""

import random

import pytest

from cortex.bus import Strangers

SECOND_NS = 1_000_000_000


def policy(most: int = 4, an_address: int = 2) -> Strangers[str]:
    return Strangers(most, an_address, 10.0)


def test_the_oldest_of_an_address_makes_room_for_the_next_one_of_it() -> None:
    strangers = policy()

    gone = [strangers.came(each, "10.0.0.7", 0) for each in "abcd"]

    assert gone == [[], [], ["a"], ["b"]]


def test_the_oldest_of_all_makes_room_where_all_addresses_have_their_share() -> None:
    strangers = policy()
    for number, each in enumerate("abcd"):
        strangers.came(each, f"10.0.0.{number}", 0)

    assert strangers.came("e", "10.0.0.9", 0) == ["a"]
    assert len(strangers) == 4


def test_who_has_proved_itself_is_no_stranger_and_is_never_closed() -> None:
    strangers = policy()
    strangers.came("known", "10.0.0.7", 0)
    strangers.left("known")

    gone = [each for n in range(9) for each in strangers.came(str(n), "10.0.0.7", 0)]

    assert "known" not in gone
    assert "known" not in strangers.late(99 * SECOND_NS)


def test_the_late_are_closed_at_their_time_and_once() -> None:
    strangers = policy()
    strangers.came("a", "10.0.0.7", 0)
    strangers.came("b", "10.0.0.8", 4 * SECOND_NS)

    assert strangers.wait_s(4 * SECOND_NS) == 6.0
    assert strangers.late(10 * SECOND_NS) == ["a"]
    assert strangers.late(10 * SECOND_NS) == []
    assert strangers.wait_s(10 * SECOND_NS) == 4.0
    assert strangers.late(14 * SECOND_NS) == ["b"]
    assert strangers.wait_s(14 * SECOND_NS) is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:10.0.0.7", "10.0.0.7", True),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("10.0.0.7", "10.0.0.8", False),
        ("", "", True),
    ],
)
def test_what_one_stranger_may_have_for_itself_is_one_address(
    one: str, other: str, same: bool
) -> None:
    strangers = policy(an_address=1)
    strangers.came("a", one, 0)

    assert strangers.came("b", other, 0) == (["a"] if same else [])


@pytest.mark.parametrize("seed", range(20))
def test_never_more_are_kept_than_the_bounds_say(seed: int) -> None:
    chance, strangers = random.Random(seed), Strangers[int](8, 3, 10.0)
    there: dict[int, str] = {}

    for number in range(500):
        if there and chance.random() < 0.3:
            gone = chance.choice(list(there))
            strangers.left(gone)
            del there[gone]
            continue
        address = f"10.0.0.{chance.randrange(6)}"
        for closed in strangers.came(number, address, number):
            del there[closed]
        there[number] = address
        assert len(there) == len(strangers) <= 8
        assert all(list(there.values()).count(a) <= 3 for a in there.values())
