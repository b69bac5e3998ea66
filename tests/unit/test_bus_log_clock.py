"""The log's time, however the clock is set: it never goes back, durations last, jumps are told."""

from importlib import import_module
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import Deadline, Draft

_log_clock: Any = import_module("cortex.bus.hub.log_clock")
_deadlines: Any = import_module("cortex.bus.hub.deadlines")
LogClock, JUMP_NS = _log_clock.LogClock, _log_clock.JUMP_NS
Deadlines, kept = _deadlines.Deadlines, _deadlines.kept

SECOND_NS = 1_000_000_000
HOUR_NS = 3_600 * SECOND_NS
DECADE_NS = 10 * 365 * 24 * HOUR_NS
START_NS = 2 * DECADE_NS
STEADY = settings(max_examples=200, deadline=None, derandomize=True)
PASSED = st.integers(0, HOUR_NS)
AROUND = st.one_of(st.just(0), st.integers(-DECADE_NS, DECADE_NS))
JUMPS = AROUND.filter(lambda by_ns: by_ns == 0 or abs(by_ns) >= JUMP_NS)
NUDGES = st.integers(1 - JUMP_NS, JUMP_NS - 1)


class Machine(msgspec.Struct):
    """Two clocks: one that somebody sets, and one that nobody does."""

    clock_ns: int = START_NS
    lasts_ns: int = 0

    def pass_(self, passed_ns: int, set_ns: int = 0) -> None:
        """Let time pass, and have the clock set by so much."""
        self.lasts_ns += passed_ns
        self.clock_ns += passed_ns + set_ns


def opened(machine: Machine, newest_ns: int = 0, ahead_ns: int = 0) -> Any:
    return LogClock(newest_ns, ahead_ns, machine.clock_ns, machine.lasts_ns)


@given(st.lists(st.tuples(PASSED, st.one_of(AROUND, NUDGES), st.booleans()), max_size=30))
@STEADY
def test_the_logs_time_never_goes_back_nor_far_from_the_clock_that_it_follows(
    steps: list[tuple[int, int, bool]],
) -> None:
    machine = Machine()
    clock = opened(machine)
    before_ns = clock.time_ns
    for passed_ns, set_ns, restarted in steps:
        machine.pass_(passed_ns, set_ns)
        if restarted:
            clock = opened(machine, clock.time_ns, clock.ahead_ns)
        else:
            clock.read(machine.clock_ns, machine.lasts_ns)

        assert clock.time_ns >= max(before_ns, machine.clock_ns)
        assert abs(clock.time_ns - machine.clock_ns - clock.ahead_ns) <= JUMP_NS
        before_ns = clock.time_ns


@given(st.lists(st.tuples(PASSED, JUMPS), max_size=30))
@STEADY
def test_a_jump_is_told_once_and_as_far_as_it_was(steps: list[tuple[int, int]]) -> None:
    machine = Machine()
    clock = opened(machine)
    for passed_ns, set_ns in steps:
        machine.pass_(passed_ns, set_ns)
        jump = clock.read(machine.clock_ns, machine.lasts_ns)
        again = clock.read(machine.clock_ns, machine.lasts_ns)

        assert (jump.by_ns if jump else 0) == set_ns
        assert again is None


@given(PASSED, AROUND, AROUND)
@STEADY
def test_a_jump_while_nobody_was_there_is_told_at_the_first_opening_alone(
    passed_ns: int, before_ns: int, away_ns: int
) -> None:
    machine = Machine()
    clock = opened(machine)
    machine.pass_(0, before_ns)
    clock.read(machine.clock_ns, machine.lasts_ns)
    machine.pass_(passed_ns, away_ns)

    first = opened(machine, clock.time_ns, clock.ahead_ns)
    second = opened(machine, first.time_ns, first.ahead_ns)

    assert (first.found is None) == (first.ahead_ns == clock.ahead_ns)
    assert second.found is None
    assert second.time_ns == first.time_ns


@given(st.lists(st.tuples(PASSED, JUMPS), max_size=30))
@STEADY
def test_what_lasts_is_measured_from_the_present_however_the_clock_is_set(
    steps: list[tuple[int, int]],
) -> None:
    machine = Machine()
    clock = opened(machine)
    skips: list[tuple[int, int]] = []
    known: dict[str, Deadline] = {}
    deadlines = Deadlines(known, skips)
    began: dict[str, tuple[int, int, int]] = {}  # when by the steady clock, how long, jumps so far
    jumps = 0
    for n, (passed_ns, set_ns) in enumerate(steps):
        name, after_ns = f"d{n}", (n + 1) * 7 * SECOND_NS
        draft = kept(Draft("t", 1, "s", None, b""), after_ns)
        known[name] = Deadline(name, clock.time_ns + after_ns, draft, "me")
        deadlines.set(known[name])
        began[name] = machine.lasts_ns, after_ns, jumps
        machine.pass_(passed_ns, set_ns)
        if jump := clock.read(machine.clock_ns, machine.lasts_ns):
            jumps += 1
            if jump.skipped_ns:
                skips.append((clock.time_ns - jump.skipped_ns, jump.skipped_ns))
        due = {each.name for each in deadlines.pop_due(clock.time_ns)}

        for each in [*began]:
            since_ns, lasts_ns, before = began[each]
            # The log's time may wait for a clock that was set back a little, after each jump.
            late_ns = JUMP_NS * (jumps - before + 1)
            waited_ns = machine.lasts_ns - since_ns
            if each in due:
                assert waited_ns >= lasts_ns
                del began[each], known[each]
            else:
                assert waited_ns < lasts_ns + late_ns
        next_ns = deadlines.next_ns()
        left_ns = (next_ns or clock.time_ns) - clock.time_ns
        assert left_ns <= max((lasts for _, lasts, _ in began.values()), default=0)
