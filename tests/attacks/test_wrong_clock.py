"""A wrong clock: ten years ahead for a while, ten years back, between starts and while running.

Recorded time never goes back. Whatever waits goes on as if the clock had not been set: durations
last as long as they say, schedules come at their next time by the clock as it is, leases lapse.
"""

import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from importlib import import_module
from itertools import pairwise

import msgspec
import pytest
import structlog

from cortex.bus import (
    Claim,
    Claimed,
    Client,
    Draft,
    Due,
    Hub,
    LocalHub,
    Publish,
    Subscribe,
    SystemClock,
    decode,
    system_entropy,
)
from cortex.bus.events import (
    VOCABULARY,
    ExecutionHalted,
    ExecutionRequest,
    RuntimeStarted,
    StepCompleted,
    StepExecute,
    StepFailed,
    TriggerReceived,
)
from cortex.runtime.cli import main
from cortex.runtime.kernel import Component, Delivery, Home, Output, Runtime, Serves, on
from cortex.runtime.log import EventLog

from ..staff_world import QUICK, World
from ..waiting import until

SECOND_NS = 1_000_000_000
HOUR_NS = 3_600 * SECOND_NS
YEARS_NS = 10 * 365 * 24 * HOUR_NS
PATIENCE_S = 120.0
EITHER_WAY = pytest.mark.parametrize("by_ns", [YEARS_NS, -YEARS_NS], ids=["ahead", "back"])


class WallClock(SystemClock):
    """A clock that the test sets; what durations are measured by goes on as it does."""

    def __init__(self, by_ns: int = 0) -> None:
        self.by_ns = by_ns

    def now_ns(self) -> int:
        return super().now_ns() + self.by_ns


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    # The clock's thread looks this often whether the clock was set.
    monkeypatch.setattr(import_module("cortex.bus.alarms"), "LONGEST_S", 0.05)


class Flaky(Component):
    """Does what it is asked at its second try."""

    workers = 1
    serves = (Serves("action", "flaky"), Serves("action", "slow"))

    @on(StepExecute, where={"action": "flaky"})
    def flaky(self, event: StepExecute, delivery: Delivery) -> Iterator[Output]:
        place = {"execution_id": event.execution_id, "step_id": event.step_id}
        if event.attempt == 1:
            yield StepFailed(**place, attempt=1, error="not yet", kind="busy", retry=True)
        else:
            yield completed(event)

    @on(StepExecute, where={"action": "slow"})
    def slow(self, event: StepExecute, delivery: Delivery) -> Iterator[Output]:
        ENTERED.append(event.execution_id)
        until_s = time.monotonic() + PATIENCE_S
        while event.execution_id not in RELEASED and time.monotonic() < until_s:
            time.sleep(0.01)
        yield completed(event)


ENTERED: list[str] = []
RELEASED: set[str] = set()
RETRIES = """
process: retries
version: 1
steps:
  - { id: one, action: flaky, description: Try, retry: { attempts: 3, backoff_s: 0.3 } }
"""
BOUNDED = """
process: bounded
version: 1
steps:
  - { id: one, action: slow, description: Take long, timeout: 1h }
"""
HOURLY = """
process: hourly
version: 1
trigger: { type: schedule, cron: "0 * * * *", timezone: UTC, missed: MISSED }
steps:
  - { id: one, action: shell, description: Say, with: { run: echo one } }
"""


def completed(event: StepExecute) -> StepCompleted:
    return StepCompleted(
        execution_id=event.execution_id, step_id=event.step_id, attempt=event.attempt
    )


@contextmanager
def running(clock: WallClock, *, home: Home | None = None) -> Iterator[World]:
    with Runtime(home, components=[*QUICK, Flaky], clock=clock) as runtime:
        yield World(runtime)


def blink(world: World, clock: WallClock, by_ns: int) -> None:
    """Let the clock be wrong for as long as it takes to record something and fire what is due."""
    clock.by_ns += by_ns
    noted(world.client)
    settled(world)
    clock.by_ns -= by_ns
    noted(world.client)
    settled(world)


def noted(client: Client) -> int:
    return client.publish(RuntimeStarted(runtime="somebody", cortex_version="1"))


def set_to_next_hour(clock: WallClock) -> None:
    """A second after the next full hour, by the clock as it is."""
    clock.by_ns += HOUR_NS - clock.now_ns() % HOUR_NS + SECOND_NS


def jumps(client: Client) -> list[dict[str, int]]:
    found = [r for r in client.read() if r.topic == "log.clock_jumped"]
    return [msgspec.msgpack.decode(record.body) for record in found]


def goes_never_back(client: Client) -> bool:
    return all(before.time_ns <= after.time_ns for before, after in pairwise(client.read()))


def asked_for(client: Client) -> int:
    """How many executions."""
    return sum(record.topic == "execution.request" for record in client.read())


@EITHER_WAY
def test_a_retry_comes_after_its_backoff(by_ns: int) -> None:
    clock = WallClock()
    with running(clock) as world:
        world.compiled(RETRIES)
        blink(world, clock, by_ns)

        began_s = time.monotonic()
        run = world.run("retries")

        assert run.outcome == "completed"
        assert time.monotonic() - began_s < PATIENCE_S
        assert goes_never_back(world.client)


@EITHER_WAY
def test_a_retry_that_waits_while_the_clock_is_set_comes_after_its_backoff(by_ns: int) -> None:
    clock = WallClock()
    with running(clock) as world:
        world.compiled(RETRIES.replace("backoff_s: 0.3", "backoff_s: 1.5"))
        began_s = time.monotonic()  # before it fails: what comes after may take any time
        after = world.client.publish(ExecutionRequest(execution_id="e1", process="retries"))
        world.wait(lambda said: said.record.topic == "step.failed", after)

        blink(world, clock, by_ns)
        run = world.stopped("e1", after)

        assert run.outcome == "completed"
        assert time.monotonic() - began_s > 1.0  # and not at once, as if the years had passed


@EITHER_WAY
def test_a_step_with_an_hour_left_is_not_ended_by_a_clock(by_ns: int) -> None:
    clock = WallClock()
    with running(clock) as world:
        world.compiled(BOUNDED)
        after = world.client.publish(ExecutionRequest(execution_id="e2", process="bounded"))
        until(lambda: "e2" in ENTERED)

        blink(world, clock, by_ns)
        blink(world, clock, by_ns)
        RELEASED.add("e2")
        run = world.stopped("e2", after)

        assert run.outcome == "completed", run.end
        assert not run.all(ExecutionHalted)
        assert not run.all(StepFailed)


@pytest.mark.parametrize("missed", ["skip", "once", "all"])
@EITHER_WAY
def test_a_schedule_comes_at_its_next_time_by_the_clock(by_ns: int, missed: str) -> None:
    clock = WallClock()
    with running(clock) as world:
        world.compiled(HOURLY.replace("MISSED", missed))
        settled(world)  # it is armed: else its time might come once the clock is set back
        blink(world, clock, by_ns)
        settled(world)
        early = asked_for(world.client)

        for hours in (1, 2):
            set_to_next_hour(clock)
            noted(world.client)
            until(partial(has_asked, world.client, hours))  # or the next hour would miss this one
        settled(world)

        # A time that has come while the clock was ahead ran then, once, or was skipped.
        assert early == (1 if by_ns > 0 and missed != "skip" else 0)
        assert asked_for(world.client) == 2
        assert goes_never_back(world.client)


def has_asked(client: Client, times: int) -> bool:
    return asked_for(client) == times


def settled(world: World) -> None:
    """Whatever is due now was dealt with."""
    head = world.client.head
    marker = TriggerReceived(trigger_id=f"marker-{head}", fields={"source": "nobody"})
    due = Due(f"tests/marker/{head}", 0, Draft.of(marker))
    world.client.hub.ask_one("tests", Publish((), due=(due,)))
    world.wait(lambda said: said.record.topic == "trigger.unmatched", head)


@EITHER_WAY
def test_a_lease_lapses_and_a_backoff_ends_on_time(by_ns: int) -> None:
    clock = WallClock()
    with running(clock) as world:
        hub = world.runtime.hub
        hub.ask_one("w", Subscribe("w", "work", (("runtime.started", None),)))
        noted(world.client)
        assert claimed(hub, lease_s=3_600)

        blink(world, clock, by_ns)

        assert claimed(hub, lease_s=36_000) == 2  # of the blink, not the one that is held
        hub.steady_ns = lambda: time.monotonic_ns() + HOUR_NS  # an hour passes
        until(lambda: claimed(hub, lease_s=36_000) == 1)


def claimed(hub: LocalHub, lease_s: float) -> int:
    """How many events were claimed."""
    answer = hub.ask_one("w", Claim("w", 9, int(lease_s * SECOND_NS)))
    assert isinstance(answer, Claimed)
    return len(answer.leases)


@EITHER_WAY
def test_a_jump_is_recorded_with_what_became_of_the_time(by_ns: int) -> None:
    clock = WallClock()
    with running(clock) as world:
        blink(world, clock, by_ns)

        there, back = jumps(world.client)
        assert abs(there["by_ns"] - by_ns) < HOUR_NS
        assert abs(back["by_ns"] + by_ns) < HOUR_NS
        # Ahead: the years are left out, then the log stays ahead. Back: it is ahead, then is not.
        assert max(there["skipped_ns"], there["ahead_ns"]) > YEARS_NS - HOUR_NS
        assert (back["ahead_ns"] > YEARS_NS - HOUR_NS) == (by_ns > 0)
        assert goes_never_back(world.client)


def test_the_time_of_a_log_goes_on_while_it_is_ahead_of_the_clock() -> None:
    clock = WallClock()
    with running(clock) as world:
        blink(world, clock, YEARS_NS)
        first = next(world.client.read(after=noted(world.client) - 1)).time_ns
        time.sleep(0.1)
        second = next(world.client.read(after=noted(world.client) - 1)).time_ns

        assert SECOND_NS / 20 < second - first < PATIENCE_S * SECOND_NS


def from_the_future(home: Home, *deadlines: Due) -> None:
    """A log whose newest event was recorded ten years ahead."""
    with closing(EventLog.open(home.log_path)) as log:
        hub = LocalHub(Hub(log, VOCABULARY, system_entropy), WallClock(YEARS_NS))
        with closing(hub):
            ready = Draft.of(RuntimeStarted(runtime="r", cortex_version="1"))
            hub.ask_one("owner", Publish((ready,), due=deadlines))


@pytest.fixture
def default_logs() -> Iterator[None]:
    """Log lines go where they go in a program that configured nothing."""
    before = structlog.get_config() if structlog.is_configured() else None
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()
    if before is not None:
        structlog.configure(**before)


@pytest.mark.usefixtures("default_logs")
def test_a_home_from_the_future_says_so_at_every_start_and_goes_on(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    from_the_future(home)

    with running(WallClock(), home=home) as world:
        world.compiled(RETRIES)
        first = world.run("retries")
    said_first = capsys.readouterr().err
    with running(WallClock(), home=home) as world:
        second = world.run("retries")
        behind = [start.clock_behind_s for start in starts(world.client)]
        never_back = goes_never_back(world.client)

    assert first.outcome == second.outcome == "completed"
    assert "clock_behind_log" in said_first
    assert "clock_behind_log" in capsys.readouterr().err
    assert len(behind) == 2
    assert min(behind) > 3_000 * 86_400
    assert never_back
    assert len(the_jumps(home)) == 1  # it is one jump, however often the home is opened


def starts(client: Client) -> list[RuntimeStarted]:
    records = [r for r in client.read() if r.topic == "runtime.started" and r.source == "runtime"]
    return [
        event for r in records if isinstance(event := client.vocabulary.read(r), RuntimeStarted)
    ]


def the_jumps(home: Home) -> list[bytes]:
    with closing(EventLog.open(home.log_path, readonly=True)) as log:
        return [d for d in log.read(0, 9_999, 1 << 30) if decode(d).topic == "log.clock_jumped"]


def test_doctor_status_and_a_command_say_that_a_home_is_from_the_future(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    from_the_future(home)

    main(["doctor", "--home", str(home.path), "--json"])
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)}
    main(["status", "--home", str(home.path)])
    status = capsys.readouterr().out
    main(["run", "--goal", "see it work", "--home", str(home.path)])
    run = capsys.readouterr()

    assert checks["clock"]["state"] == "warn"
    assert "3,6" in checks["clock"]["found"]  # days
    assert "in the future of this clock" in status
    assert "clock_behind_log" in run.err
    assert "clock_behind_log" not in run.out


def test_what_waited_in_a_home_from_the_future_comes_when_its_own_time_is_over(home: Home) -> None:
    # As an earlier version left it: it knows when, and not how long it lasts.
    half_a_second = WallClock(YEARS_NS).now_ns() + SECOND_NS // 2
    due = Due("d", half_a_second, Draft.of(TriggerReceived(trigger_id="t", fields={"source": "x"})))
    from_the_future(home, due)

    with running(WallClock(), home=home) as world:
        world.wait(lambda said: said.record.topic == "trigger.received", 0)


@EITHER_WAY
def test_between_two_starts_nothing_waits_longer_than_it_lasts(home: Home, by_ns: int) -> None:
    with running(WallClock(by_ns), home=home) as world:
        due = lasting(world, 0.5)
        world.client.hub.ask_one("tests", Publish((), due=(due,)))

    with running(WallClock(), home=home) as world:
        world.wait(lambda said: said.record.topic == "trigger.received", 0)


def lasting(world: World, seconds: float) -> Due:
    after_ns = int(seconds * SECOND_NS)
    newest = next(world.client.read(after=world.client.head - 1))
    trigger = TriggerReceived(trigger_id="lasting", fields={"source": "nobody"})
    return Due("lasting", newest.time_ns + after_ns, Draft.of(trigger), after_ns)
