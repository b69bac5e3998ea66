"""What a hub is made of: filters, the tail, the queue of work, each beside a naive model."""

from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from cortex.bus import FORMAT, Filter, Recorded, TopicGlob, Work
from cortex.bus.events import VOCABULARY

# Not shown at the front door: nobody but the hub uses them.
TAIL = import_module("cortex.bus.hub.pages").Tail
QUEUE = import_module("cortex.bus.hub.queue").WorkQueue

TOPICS = ["a.b", "a.c", "b.c", "a", "ab.c", "a.b.c", "a.bb.c"]
topics = st.sampled_from(TOPICS)
keys = st.none() | st.sampled_from(["k", "l"])
pairs = st.tuples(topics | st.sampled_from(["a.*", "b.*", "a.b.*", "*"]), keys)


def naive(pair: tuple[str, str | None], topic: str, key: str | None) -> bool:
    wanted, wanted_key = pair
    if wanted == "*":
        return True
    if wanted.endswith(".*"):
        return topic.startswith(wanted[:-1])
    return topic == wanted and wanted_key in (None, key)


@given(st.lists(pairs, max_size=6), topics, keys)
@settings(max_examples=300, deadline=None)
def test_a_filter_is_the_or_of_its_pairs(
    wanted: list[tuple[str, str | None]], topic: str, key: str | None
) -> None:
    expected = any(naive(pair, topic, key) for pair in wanted)

    assert Filter(wanted).matches(topic, key) == expected
    assert Filter(reversed(wanted)).matches(topic, key) == expected


@pytest.mark.parametrize(
    ("pattern", "seen"),
    [
        ("a.b", {"a.b"}),
        ("a.*", {"a.b", "a.c", "a.b.c", "a.bb.c"}),
        ("*.c", {"a.c", "b.c", "ab.c", "a.b.c", "a.bb.c"}),
        ("[ab].c", {"a.c", "b.c"}),
        ("a?.c", {"ab.c"}),
        ("A.b", set()),
    ],
)
def test_a_glob_has_signs_anywhere_within_what_a_filter_sees(pattern: str, seen: set[str]) -> None:
    glob = TopicGlob((pattern,))

    assert set(filter(glob.matches, TOPICS)) == seen
    assert all(Filter.of((glob.within(),)).matches(topic) for topic in seen)


def record(position: int) -> Recorded:
    return Recorded(
        FORMAT, position, "s", position, b"", 0, "a.b", 1, None, None, "t", None, None, b""
    )


@given(st.integers(0, 5), st.lists(st.integers(0, 7), max_size=12), st.integers(1, 5))
@settings(max_examples=200, deadline=None)
def test_a_tail_gives_a_run_or_says_that_it_is_too_old(
    head: int, sizes: list[int], keep: int
) -> None:
    tail = TAIL(head, keep)
    end = head
    for size in sizes:
        tail.extend([record(p) for p in range(end + 1, end + size + 1)])
        end += size

    for after in range(head, end + 1):
        found = tail.after(after, 3)
        if found is None:
            assert after < tail.before
            assert end - after > keep  # it keeps at least that many
        else:
            assert [r.position for r in found] == list(range(after + 1, min(after + 3, end) + 1))
    newest = [r.position for r in tail.newest(head, end)]
    assert newest == list(range(tail.before + 1, end + 1))


class Queue(RuleBasedStateMachine):
    """The queue beside a dict that is searched from end to end."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = QUEUE()
        self.works: dict[int, Work] = {}
        self.now_ns = 100
        self.newest = 0

    @rule()
    def arrives(self) -> None:
        self.newest += 1
        self._put(Work("w", self.newest))

    @rule(limit=st.integers(1, 4), lease=st.integers(0, 5))
    def claimed(self, limit: int, lease: int) -> None:
        ready = [p for p, w in sorted(self.works.items()) if w.not_before_ns <= self.now_ns]
        taken = []
        for work in self.queue.claimable(self.now_ns):
            taken.append(work.position)
            if len(taken) == limit:
                break
        assert taken == ready[:limit]
        for position in taken:
            before = self.works[position]
            self._put(Work("w", position, before.epoch + 1, 0, self.now_ns + lease))

    @rule(limit=st.integers(1, 4))
    def claimed_in_vain(self, limit: int) -> None:
        taken = []
        for work in self.queue.claimable(self.now_ns):
            taken.append(work.position)
            if len(taken) == limit:
                break
        for position in taken:
            self.queue.again(position)

    @rule(at=st.integers(0, 9), wait=st.integers(0, 9))
    def changed(self, at: int, wait: int) -> None:
        if self.works:
            work = self.works[sorted(self.works)[at % len(self.works)]]
            self._put(Work("w", work.position, work.epoch, work.attempts, self.now_ns + wait))

    @rule(at=st.integers(0, 9))
    def finished(self, at: int) -> None:
        if self.works:
            position = sorted(self.works)[at % len(self.works)]
            del self.works[position]
            self.queue.remove(position)

    @rule(by=st.integers(0, 4))
    def time_passes(self, by: int) -> None:
        self.now_ns += by
        ripe = [w for w in self.works.values() if 0 < w.not_before_ns <= self.now_ns]
        assert bool(ripe) >= self.queue.mature(self.now_ns)

    def _put(self, work: Work) -> None:
        self.works[work.position] = work
        self.queue.put(work)

    @invariant()
    def is_complete(self) -> None:
        assert len(self.queue) == len(self.works)
        assert all(self.queue.get(p) == w for p, w in self.works.items())

    @invariant()
    def says_when_to_look_again(self) -> None:
        coming = [w.not_before_ns for w in self.works.values() if w.not_before_ns > self.now_ns]
        due_ns = self.queue.next_due_ns()
        if coming:
            assert due_ns is not None
            assert due_ns <= min(coming)


TestQueue = Queue.TestCase
TestQueue.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)


def test_routing_fields_exist() -> None:
    for cls in VOCABULARY:
        for field in (cls.routing, cls.belongs[1], cls.subject_field):
            assert not field or field in cls.__struct_fields__, f"{cls.__name__}.{field}"
