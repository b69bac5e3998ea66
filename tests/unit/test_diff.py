"""Where two logs part, and what changed between two states."""

from collections.abc import Sequence
from hashlib import sha256

from hypothesis import example, given
from hypothesis import strategies as st

from cortex.runtime.diff import PastState, changed_between, changes_of, first_difference

HASH = 32
MOST = 3 * 4_096 + 7  # some pages of leaf hashes
LEAVES = b"".join(sha256(str(n).encode()).digest() for n in range(MOST))
NAMED = st.dictionaries(st.text("abc", min_size=1, max_size=2), st.sampled_from("xyz"))


class LeavesOf:
    """The leaf hashes of a log, and how many were asked for."""

    def __init__(self, hashes: bytes) -> None:
        self._hashes, self.pages = hashes, 0

    def leaf_hashes(self, first: int, last: int) -> bytes:
        self.pages += 1
        return self._hashes[(first - 1) * HASH : last * HASH]


def other_at(positions: Sequence[int]) -> bytes:
    changed = bytearray(LEAVES)
    for position in set(positions):
        changed[position * HASH - 1] ^= 1
    return bytes(changed)


@given(st.lists(st.integers(1, MOST), max_size=4), st.integers(0, MOST))
@example([4_096], MOST)
@example([4_097, 4_096], MOST)
@example([1], 0)
def test_the_first_position_with_another_leaf_is_found(positions: list[int], through: int) -> None:
    found = first_difference(LeavesOf(LEAVES), LeavesOf(other_at(positions)), through)

    assert found == min([each for each in set(positions) if each <= through], default=through + 1)


def test_nothing_behind_the_first_difference_is_read() -> None:
    other = LeavesOf(other_at([5_000]))

    assert first_difference(LeavesOf(LEAVES), other, MOST) == 5_000
    assert other.pages == 2


@given(NAMED, NAMED)
def test_what_changed_leads_from_one_state_to_the_other(
    before: dict[str, str], after: dict[str, str]
) -> None:
    changed = changed_between(before, after)

    kept = {name: said for name, said in before.items() if name not in changed.gone}
    kept |= {each.name: each.now for each in changed.changed} | changed.appeared
    assert kept == after
    assert all(before[each.name] == each.was != each.now for each in changed.changed)
    assert changed.nothing == (before == after)
    back = changed_between(after, before)
    assert (back.appeared, back.gone) == (changed.gone, changed.appeared)


def test_every_kind_of_state_is_compared() -> None:
    empty = PastState(executions={}, models={}, processes={}, clients={}, knowledge={})
    some = PastState(executions={}, models={"fast": "M"}, processes={}, clients={}, knowledge={})

    changes = changes_of(empty, some)

    assert set(changes) == {"executions", "models", "processes", "clients", "knowledge"}
    assert [kind for kind, each in changes.items() if not each.nothing] == ["models"]
