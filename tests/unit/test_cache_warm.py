"""The second tier keeps its bound, and what leaves it leaves in the published order."""

import math
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.cache import CacheEntry, Database, WarmTier, bytes_of, half_life_ns, heated

from ..cache_world import BEGAN_NS, DAY_NS, SECRET, Clock, key_of

WINDOW_NS = 30 * DAY_NS
SIZES = (100, 1_500, 3_000, 9_000)


class Model:
    """The published rule, by plain arithmetic over every single use."""

    def __init__(self, bound: int, clock: Clock) -> None:
        self.bound, self._clock = bound, clock
        self.sizes: dict[int, int] = {}
        self.uses: dict[int, list[int]] = {}  # times
        self.gone: list[int] = []

    def put(self, number: int, size: int) -> None:
        old = self.sizes.get(number, 0)
        if size > self.bound:
            return
        while sum(self.sizes.values()) - old + size > self.bound:
            self._evict(number)
        self.sizes[number] = size
        self.use(number)

    def use(self, number: int) -> None:
        if number in self.sizes:
            self.uses.setdefault(number, []).append(self._clock.ns)

    def _evict(self, but: int) -> None:
        others = [number for number in self.sizes if number != but]
        since_ns = self._clock.ns - WINDOW_NS
        old = [number for number in others if self.uses[number][-1] < since_ns]
        if old:
            leaves = min(old, key=lambda number: self.uses[number][-1])
        else:
            leaves = min(others, key=self._frequency)
        del self.sizes[leaves], self.uses[leaves]
        self.gone.append(leaves)

    def _frequency(self, number: int) -> float:
        """Uses, of which each counts half after a quarter of the window."""
        quarter = WINDOW_NS / 4
        return sum(math.exp2((at - self._clock.ns) / quarter) for at in self.uses[number])


class Tier(WarmTier):
    """A second tier that shows its file."""

    def __init__(self, folder: Path, bound: int, clock: Clock, gone: list[CacheEntry]) -> None:
        self.database = Database(folder / "cache.db")
        super().__init__(self.database, bound, WINDOW_NS, SECRET, gone.append, clock)


def entry_of(number: int, size: int) -> CacheEntry:
    return CacheEntry.of(key_of(number), bytes([number]) * size, ())


def use(tier: Tier, number: int, uses: int = 1) -> None:
    def work(connection: sqlite3.Connection) -> None:
        tier.note_used(connection, {key_of(number).digest: uses})

    tier.database.run(work, None)  # as the bookkeeping does


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 9), st.sampled_from(SIZES)),
        st.tuples(st.just("use"), st.integers(0, 9), st.integers(1, 3)),
        # In odd parts of a second, so that no two moments are equal.
        st.tuples(st.just("sleep"), st.integers(1, 1_200), st.just(0)),
    ),
    min_size=5,
    max_size=40,
)


@given(bound=st.integers(2_000, 40_000), steps=STEPS)
@settings(max_examples=60)
def test_it_keeps_its_bound_and_evicts_as_the_model_does(
    bound: int, steps: list[tuple[str, int, int]]
) -> None:
    with TemporaryDirectory() as folder:
        clock, gone = Clock(), list[CacheEntry]()
        tier, model = Tier(Path(folder), bound, clock, gone), Model(bound, clock)

        for what, number, more in steps:
            clock.ns += 1_000_003
            if what == "put":
                tier.put(entry_of(number, more))
                model.put(number, bytes_of(more))
            elif what == "use":
                for _ in range(more):
                    clock.ns += 7_000_001
                    use(tier, number)
                    model.use(number)
            else:
                clock.sleep(number / 24)

            kept = {key: size for key, _, size in tier.ranked(100)}
            held = tier.database.run(
                lambda db: db.execute("select bytes, entries from totals").fetchone(), (0, 0)
            )
            assert held[0] == sum(model.sizes.values()) <= bound
            assert held[1] == len(model.sizes)
            assert kept.keys() <= {key_of(n).digest for n in model.sizes}
        assert [entry.key for entry in gone] == [key_of(n).digest for n in model.gone]
        tier.database.close()


def test_what_was_not_used_within_the_window_leaves_before_what_is_seldom_used(
    tmp_path: Path,
) -> None:
    clock, gone = Clock(), list[CacheEntry]()
    tier = Tier(tmp_path, 3 * bytes_of(100), clock, gone)
    tier.put(entry_of(1, 100))
    use(tier, 1, 1_000)
    clock.sleep(31)
    tier.put(entry_of(2, 100))
    tier.put(entry_of(3, 100))

    tier.put(entry_of(4, 100))

    assert [entry.key for entry in gone] == [key_of(1).digest]


def test_of_what_was_used_of_late_the_least_frequent_leaves_first(tmp_path: Path) -> None:
    clock, gone = Clock(), list[CacheEntry]()
    tier = Tier(tmp_path, 3 * bytes_of(100), clock, gone)
    for number, uses in ((1, 5), (2, 1), (3, 9)):
        tier.put(entry_of(number, 100))
        use(tier, number, uses)

    tier.put(entry_of(4, 100))

    assert [entry.key for entry in gone] == [key_of(2).digest]


def test_uses_age_so_that_what_was_popular_once_gives_way(tmp_path: Path) -> None:
    clock, gone = Clock(), list[CacheEntry]()
    tier = Tier(tmp_path, 2 * bytes_of(100), clock, gone)
    tier.put(entry_of(1, 100))
    use(tier, 1, 7)  # eight uses: after four half-lives they weigh as half a use
    clock.sleep(29.99)
    tier.put(entry_of(2, 100))

    tier.put(entry_of(3, 100))

    assert [entry.key for entry in gone] == [key_of(1).digest]


def test_what_is_larger_than_the_bound_is_not_kept_and_evicts_nothing(tmp_path: Path) -> None:
    gone: list[CacheEntry] = []
    tier = Tier(tmp_path, 10_000, Clock(), gone)
    tier.put(entry_of(1, 100))

    assert not tier.put(entry_of(2, 20_000))

    assert tier.get(key_of(1).digest) is not None
    assert gone == []


def test_a_sweep_evicts_what_is_out_of_the_window_and_nothing_else(tmp_path: Path) -> None:
    clock, gone = Clock(), list[CacheEntry]()
    tier = Tier(tmp_path, 1_000_000, clock, gone)
    for number in range(100):
        tier.put(entry_of(number, 100))
    clock.sleep(20)
    tier.put(entry_of(100, 100))
    clock.sleep(11)

    assert tier.sweep(lambda: True) == 100

    assert tier.get(key_of(100).digest) is not None
    assert len(gone) == 100


def test_a_sweep_makes_no_file_where_nothing_was_cached(tmp_path: Path) -> None:
    tier = Tier(tmp_path, bound=1_000_000, clock=Clock(), gone=[])

    assert tier.sweep(lambda: True) == 0
    assert list(tmp_path.iterdir()) == []


@given(
    uses=st.lists(
        st.tuples(st.integers(0, 90 * DAY_NS), st.integers(1, 50)), min_size=1, max_size=20
    )
)
def test_a_heat_is_the_moment_at_which_one_use_weighs_as_much_as_all(
    uses: list[tuple[int, int]],
) -> None:
    half, heat = half_life_ns(WINDOW_NS), 0.0

    for at, times in sorted(uses):
        heat = heated(heat, BEGAN_NS + at, times, half)

    weight = sum(times * 2.0 ** (at / half) for at, times in uses)
    assert math.isclose(2.0 ** ((heat - BEGAN_NS) / half), weight, rel_tol=1e-3)
