"""Processes that run by the calendar: armed, fired, missed, changed, and across clock changes."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.actors.managers import firing, next_due_ns
from cortex.bus import Draft
from cortex.bus.events import (
    ExecutionDeferred,
    ExecutionStarted,
    LogClockJumped,
    ProcessRetired,
    ProcessUnlinked,
    TriggerMatched,
    TriggerUnmatched,
)
from cortex.runtime.processes import LinkedProcess, ScheduleTrigger

from .execution_world import SECOND_NS
from .test_manager_requests import Office, one

VIENNA = ZoneInfo("Europe/Vienna")
HOUR_NS = 3_600 * SECOND_NS
DAILY = ScheduleTrigger(cron="0 7 * * *", timezone="Europe/Vienna")


def ns(moment: datetime) -> int:
    return int(moment.timestamp()) * SECOND_NS


def times(schedule: ScheduleTrigger, after: datetime, count: int) -> list[datetime]:
    """The next times of *schedule*, in UTC."""
    found: list[datetime] = []
    after_ns: int | None = ns(after)
    while after_ns is not None and len(found) < count:
        after_ns = next_due_ns(schedule, after_ns)
        if after_ns is not None:
            found.append(datetime.fromtimestamp(after_ns // SECOND_NS, UTC))
    return found


def scheduled(
    cron: str = "0 7 * * *", name: str = "p", version: int = 1, **more: str
) -> LinkedProcess:
    trigger = ScheduleTrigger(cron=cron, **{"timezone": "UTC", **more})  # type: ignore[arg-type]
    return one(name, triggers=(trigger,), version=version)


def office_at(moment: datetime, *processes: LinkedProcess) -> Office:
    office = Office()
    office.world.now_ns = ns(moment)
    office.compile(*processes)
    return office


def fire(office: Office, late: timedelta = timedelta()) -> None:
    """Let the next deadline come, *late*."""
    due_ns = min(at_ns for at_ns, _ in office.world.deadlines.values())
    office.world.now_ns = max(office.world.now_ns, due_ns + round(late.total_seconds()) * SECOND_NS)
    office.world.fire(source="ProcessManager")
    office.play()


def armed(office: Office) -> list[str]:
    return [
        datetime.fromtimestamp(at_ns // SECOND_NS, UTC).strftime("%m-%d %H:%M")
        for at_ns, _ in office.world.deadlines.values()
    ]


NEW_YEAR = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_a_schedule_is_armed_fired_and_armed_again() -> None:
    office = office_at(NEW_YEAR, scheduled())
    first = armed(office)

    fire(office)

    assert first == ["01-02 07:00"]
    assert armed(office) == ["01-03 07:00"]
    matched = office.world.said(TriggerMatched)[0]
    assert (matched.process, matched.because) == ("p", "its schedule")
    assert office.world.said(ExecutionStarted)[0].goal == "scheduled run of p"


@pytest.mark.parametrize("missed", ["skip", "once", "all"])
def test_a_time_that_came_before_the_clock_was_set_back_runs_when_it_comes_again(
    missed: str,
) -> None:
    office = office_at(NEW_YEAR, scheduled(missed=missed))

    back_ns = ns(NEW_YEAR + timedelta(hours=19)) - office.world.now_ns
    jumped = LogClockJumped(by_ns=-back_ns, clock_ns=ns(NEW_YEAR), ahead_ns=back_ns, skipped_ns=0)
    office.world.append(Draft.of(jumped), "hub")
    office.world.fire(source="ProcessManager")  # by the clock as it was
    office.play()

    assert office.world.said(ExecutionStarted) == []
    (unmatched,) = office.world.said(TriggerUnmatched)
    assert "came too early" in unmatched.reason
    fire(office)  # at that time, by the clock as it is
    assert len(office.world.said(ExecutionStarted)) == 1


def test_each_firing_is_a_trigger_of_its_own() -> None:
    office = office_at(NEW_YEAR, scheduled())

    for _ in range(3):
        fire(office)

    assert len({event.trigger_id for event in office.world.said(TriggerMatched)}) == 3


@pytest.mark.parametrize(
    ("missed", "runs", "skipped", "then"),
    [("skip", 0, 1, "01-05 07:00"), ("once", 1, 0, "01-05 07:00"), ("all", 1, 0, "01-03 07:00")],
)
def test_times_that_passed_while_nobody_was_there(
    missed: str, runs: int, skipped: int, then: str
) -> None:
    office = office_at(NEW_YEAR, scheduled(missed=missed))

    fire(office, late=timedelta(days=2, hours=3))

    assert len(office.world.said(ExecutionStarted)) == runs
    assert len(office.world.said(TriggerUnmatched)) == skipped
    assert armed(office) == [then]


def test_all_missed_times_run_one_after_the_other() -> None:
    office = office_at(NEW_YEAR, scheduled(missed="all"))

    fire(office, late=timedelta(days=2, hours=3))
    fire(office)
    fire(office)

    assert len(office.world.said(ExecutionStarted)) == 3
    assert armed(office) == ["01-05 07:00"]


def test_a_time_that_is_a_little_late_was_not_missed() -> None:
    office = office_at(NEW_YEAR, scheduled(missed="skip"))

    fire(office, late=timedelta(seconds=30))

    assert len(office.world.said(ExecutionStarted)) == 1


def test_a_changed_schedule_is_armed_anew_and_an_unchanged_one_keeps_its_time() -> None:
    office = office_at(NEW_YEAR, scheduled(), scheduled("30 8 * * *", "q"))
    office.world.now_ns += 48 * HOUR_NS  # both have passed by now, and not come yet

    office.compile(scheduled(version=2), scheduled("45 9 * * *", "q", version=2))

    assert sorted(armed(office)) == ["01-02 07:00", "01-04 09:45"]


def test_a_retired_process_and_one_that_lost_its_schedule_are_no_longer_armed() -> None:
    office = office_at(NEW_YEAR, scheduled(), scheduled(name="q"))

    office.compile(one(version=2))
    office.publish(ProcessRetired(name="q", reason="old"))

    assert office.world.deadlines == {}


def test_a_start_forgets_the_runs_of_a_schedule_that_was_replaced() -> None:
    office = office_at(NEW_YEAR, scheduled())
    fire(office)  # it ran at that time
    office.compile(scheduled("0 7 * * 1-5", version=2))
    live = office.manager.snapshot()

    again = office.new_manager()
    office.world.recall(again, 0, len(office.world.records))

    assert again.snapshot() == live


def test_a_schedule_that_has_gone_when_it_fires_starts_nothing() -> None:
    office = office_at(NEW_YEAR, scheduled())
    late = dict(office.world.deadlines)
    office.compile(one(version=2))
    office.world.deadlines = late

    fire(office)

    assert office.world.said(TriggerUnmatched)[0].reason == "p no longer has this schedule"
    assert office.world.deadlines == {}


def test_an_unlinked_process_stays_armed_and_its_execution_waits_for_it() -> None:
    process = scheduled()
    office = office_at(NEW_YEAR, process)
    office.publish(ProcessUnlinked(name="p", digest=process.digest, missing=("action work",)))

    fire(office)

    assert office.world.said(ExecutionDeferred)[0].missing == ("action work",)
    assert sorted(armed(office)) == ["01-02 07:10", "01-03 07:00"]


def test_two_schedules_of_one_process_are_armed_beside_each_other() -> None:
    triggers = (DAILY, ScheduleTrigger(cron="0 18 * * 5"))
    office = office_at(NEW_YEAR, one(triggers=triggers))

    fire(office)

    assert set(office.world.deadlines) == {"schedule/p", "schedule/p/1"}
    assert sorted(armed(office)) == ["01-02 18:00", "01-03 06:00"]


def test_an_abstract_process_is_not_armed() -> None:
    assert office_at(NEW_YEAR, one(triggers=(DAILY,), abstract=True)).world.deadlines == {}


def test_a_schedule_keeps_its_hour_on_the_wall_across_both_clock_changes() -> None:
    spring = times(DAILY, datetime(2026, 3, 28, 12, tzinfo=VIENNA), 2)
    autumn = times(DAILY, datetime(2026, 10, 24, 12, tzinfo=VIENNA), 2)

    assert [moment.hour for moment in spring] == [5, 5]
    assert [moment.hour for moment in autumn] == [6, 6]


def test_a_time_that_does_not_exist_in_spring_comes_at_the_end_of_the_gap() -> None:
    schedule = ScheduleTrigger(cron="30 2 * * *", timezone="Europe/Vienna")

    found = times(schedule, datetime(2026, 3, 28, 12, tzinfo=VIENNA), 2)

    local = [moment.astimezone(VIENNA).strftime("%d %H:%M") for moment in found]
    assert local == ["29 03:00", "30 02:30"]


def test_a_time_that_exists_twice_in_autumn_comes_once() -> None:
    schedule = ScheduleTrigger(cron="30 2 * * *", timezone="Europe/Vienna")

    found = times(schedule, datetime(2026, 10, 24, 12, tzinfo=VIENNA), 3)

    assert [moment.astimezone(VIENNA).strftime("%d %H:%M") for moment in found] == [
        "25 02:30",
        "26 02:30",
        "27 02:30",
    ]


def test_a_time_whose_first_round_has_passed_waits_for_the_next_day() -> None:
    schedule = ScheduleTrigger(cron="50 2 * * *", timezone="Europe/Vienna")
    second_round = datetime(2026, 10, 25, 2, 40, tzinfo=VIENNA, fold=1)

    found = times(schedule, second_round, 1)

    assert found[0].astimezone(VIENNA).strftime("%d %H:%M") == "26 02:50"


def test_a_schedule_by_the_hour_goes_on_at_its_pace_across_a_clock_change() -> None:
    schedule = ScheduleTrigger(cron="0 * * * *", timezone="Europe/Vienna")

    found = times(schedule, datetime(2026, 10, 24, 22, 30, tzinfo=UTC), 6)

    assert {later - earlier for earlier, later in pairwise(found)} == {timedelta(hours=1)}


def test_a_schedule_that_never_comes_has_no_next_time() -> None:
    assert next_due_ns(ScheduleTrigger(cron="0 0 30 2 *"), 0) is None


CRONS = st.sampled_from(["* * * * *", "*/7 * * * *", "30 2 * * *", "0 3 * * 0", "59 1 1 * *"])
ZONES = st.sampled_from(["UTC", "Europe/Vienna", "America/New_York", "Australia/Lord_Howe"])


@settings(max_examples=300, deadline=None)
@given(CRONS, ZONES, st.integers(1_760_000_000, 1_860_000_000), st.integers(0, 999_999_999))
def test_the_next_time_is_always_later_and_on_a_whole_minute(
    cron: str, zone: str, after_s: int, rest_ns: int
) -> None:
    after_ns = after_s * SECOND_NS + rest_ns

    due_ns = next_due_ns(ScheduleTrigger(cron=cron, timezone=zone), after_ns)

    assert due_ns is not None
    assert due_ns > after_ns
    assert due_ns % (60 * SECOND_NS) == 0


@settings(max_examples=200, deadline=None)
@given(CRONS, ZONES, st.sampled_from(["skip", "once", "all"]), st.integers(0, 10**6))
def test_after_a_firing_the_next_time_lies_ahead_unless_all_are_run(
    cron: str, zone: str, missed: str, late_s: int
) -> None:
    schedule = ScheduleTrigger(cron=cron, timezone=zone, missed=missed)  # type: ignore[arg-type]
    due_ns = next_due_ns(schedule, 1_760_000_000 * SECOND_NS)
    assert due_ns is not None
    now_ns = due_ns + late_s * SECOND_NS

    outcome = firing(schedule, due_ns, now_ns)

    assert outcome.next_ns is not None
    assert outcome.next_ns > (due_ns if missed == "all" else now_ns)
    assert outcome.run == (missed != "skip" or late_s <= 60)
