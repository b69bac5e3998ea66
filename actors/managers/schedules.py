"""When schedules are due, and what to do about times that passed without a running hub."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from msgspec import Struct

from cortex.bus.events import TriggerReceived
from cortex.runtime.kernel import Forget, Later
from cortex.runtime.processes import LinkedProcess, ScheduleTrigger

SOURCE = "schedule"  # the field `source` of a trigger that a schedule fired
LATE_NS = 60_000_000_000  # a time that is handled within a minute was not missed
EARLY_NS = 2_000_000_000  # smaller differences are normal clock synchronisation


class Firing(Struct, frozen=True):
    """What to do about a schedule that is due."""

    run: bool  # False: it was missed, and missed times are skipped; or it is early
    next_ns: int | None  # None if there is no next time
    late_s: float
    early: bool = False  # the clock was set back since: the time is still to come


def next_due_ns(schedule: ScheduleTrigger, after_ns: int) -> int | None:
    """The first time of *schedule* after *after_ns*; None if there is none in 50 years.

    At a clock change a time that does not exist moves to the end of the gap, and one that exists
    twice counts once; schedules by the hour or minute keep their interval.
    """
    after = datetime.fromtimestamp(after_ns // 1_000_000_000, UTC)
    try:
        times = CronSim(schedule.cron, after.astimezone(ZoneInfo(schedule.timezone)))
    except CronSimError:
        return None  # the 30th of February
    for due in times:
        due_ns = int(due.timestamp()) * 1_000_000_000
        # In a repeated hour, the first occurrence may have passed.
        if due_ns > after_ns:
            return due_ns
    return None


def firing(schedule: ScheduleTrigger, due_ns: int, now_ns: int) -> Firing:
    """The decision of its policy about missed times, for the time *due_ns*."""
    if due_ns - now_ns > EARLY_NS:
        return Firing(run=False, next_ns=due_ns, late_s=0.0, early=True)
    late_s = max(0, now_ns - due_ns) / 1e9
    missed = now_ns - due_ns > LATE_NS
    # With "all" the next one may have passed, too: its deadline is due at once.
    after_ns = due_ns if schedule.missed == "all" else max(due_ns, now_ns)
    run = not (missed and schedule.missed == "skip")
    return Firing(run, next_due_ns(schedule, after_ns), late_s)


def schedules_of(process: LinkedProcess | None) -> tuple[ScheduleTrigger, ...]:
    """The schedules of *process*; none of an abstract one."""
    if process is None or process.abstract:
        return ()
    return tuple(each for each in process.triggers if isinstance(each, ScheduleTrigger))


def changed(
    before: LinkedProcess | None, after: LinkedProcess | None
) -> Iterator[tuple[int, ScheduleTrigger | None]]:
    """The indexes of a process with a changed schedule, or (None) a removed one.

    An unchanged one keeps its deadline, which may be due and not handled yet.
    """
    old, new = schedules_of(before), schedules_of(after)
    for index in range(max(len(old), len(new))):
        if index >= len(new):
            yield index, None
        elif index >= len(old) or old[index] != new[index]:
            yield index, new[index]


def armed(
    name: str,
    index: int,
    schedule: ScheduleTrigger,
    due_ns: int | None,
    ahead_ns: int,
    workspace: str,
    trigger_id: str,
) -> Iterator[Later | Forget]:
    """The deadline of a schedule; removes the deadline if there is no further time.

    Args:
        name: The name of the process.
        index: The place of the schedule among those of its process.
        schedule: The schedule.
        due_ns: Its next time, by the clock.
        ahead_ns: How far the log's time is ahead of the clock.
        workspace: The workspace of its runs.
        trigger_id: The id of the trigger to publish.
    """
    if due_ns is None:
        yield Forget(deadline(name, index))
        return
    due = datetime.fromtimestamp(due_ns / 1e9, UTC).isoformat()
    yield Later(
        deadline(name, index),
        due_ns + ahead_ns,
        TriggerReceived(
            trigger_id=trigger_id,
            fields={
                "source": SOURCE,
                "process": name,
                "cron": schedule.cron,
                "timezone": schedule.timezone,
                "due": due,
            },
            goal=f"scheduled run of {name}",
            workspace=workspace,
        ),
        lasts=False,
    )


def find(process: LinkedProcess, fields: dict[str, Any]) -> tuple[int, ScheduleTrigger] | None:
    """The schedule that fired with *fields*, and its index; None if it was removed since."""
    for index, schedule in enumerate(schedules_of(process)):
        if (schedule.cron, schedule.timezone) == (fields.get("cron"), fields.get("timezone")):
            return index, schedule
    return None


def due_ns_of(fields: dict[str, Any], default: int) -> int:
    """The time that fired with *fields*; *default* if they do not say."""
    try:
        return round(datetime.fromisoformat(str(fields.get("due"))).timestamp()) * 1_000_000_000
    except ValueError:
        return default


def deadline(name: str, index: int) -> str:
    """Name of the deadline of the schedule at *index* of the process *name*."""
    return f"schedule/{name}" if index == 0 else f"schedule/{name}/{index}"
