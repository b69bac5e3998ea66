"""How long a home keeps its records, and what is refused for that reason.

Cortex has no command that removes an event from a log. Two put another log in the place of one:
`restore --replace`, and `backup` into an earlier backup. They ask here.
"""

import calendar
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cortex.bus import CortexError, Log, decode
from cortex.runtime.kernel import Config, Home, RefusedError, many
from cortex.runtime.log import EventLog, LogMissingError, LogTree

SIX_MONTHS: Final = "6 months"  # articles 19(1) and 26(6) of the EU AI Act
_FIRST_YEAR: Final = 1


def kept_since(keep: str, now_ns: int) -> int:
    """The time, UTC nanoseconds, since which *keep* (as in "6 months") demands all records."""
    count, unit = keep.split()
    now = datetime.fromtimestamp(now_ns // 1_000_000_000, UTC)
    if unit.startswith("day"):
        since = now - timedelta(days=min(int(count), (now - datetime.min.replace(tzinfo=UTC)).days))
    else:
        since = _months_before(now, int(count) * (12 if unit.startswith("year") else 1))
    return max(0, round(since.timestamp())) * 1_000_000_000


def _months_before(when: datetime, months: int) -> datetime:
    """The same day of an earlier month, or the last one that it has."""
    years, month = divmod(when.year * 12 + when.month - 1 - months, 12)
    year = max(years, _FIRST_YEAR)
    day = min(when.day, calendar.monthrange(year, month + 1)[1])
    return when.replace(year=year, month=month + 1, day=day)


def refuse_loss(home: Home, there: Path, instead: Path, remedy: str) -> None:
    """Refuse to put the log *instead* in the place of *there* if *home* still has to keep it.

    A log that begins with all events of the other takes its place freely.

    Raises:
        RefusedError: Records would go that are younger than `[audit] keep`; it ends with *remedy*.
        ConfigError: config.toml cannot be read, so that it is not known what has to be kept.
    """
    keep = Config.shown(home).audit.keep
    if not keep:
        return
    try:
        lost, last_ns = _lost(there, instead)
    except LogMissingError:
        return
    except CortexError as error:
        raise RefusedError(
            f"this home keeps its records for {keep} ([audit] keep), and which would go cannot be "
            f"read ({error}): {remedy}"
        ) from None
    if lost and last_ns >= kept_since(keep, time.time_ns()):
        raise RefusedError(
            f"{many(lost, 'event')} would go, and this home keeps its records for {keep} "
            f"([audit] keep): {remedy}"
        )


def _lost(there: Path, instead: Path) -> tuple[int, int]:
    """How many events of the log *there* are not in *instead*, and the time of the last one."""
    old = EventLog.open(there, readonly=True)
    try:
        new = EventLog.open(instead, readonly=True)
        try:
            head = old.state().head
            return head - _common(old, new, min(head, new.state().head)), _time_of(old, head)
        finally:
            new.close()
    finally:
        old.close()


def _common(old: EventLog, new: EventLog, most: int) -> int:
    """With how many of the same events, at most *most*, both logs begin."""
    with LogTree(old, most) as ours, LogTree(new, most) as theirs:
        least = 0
        while least < most:
            size = (least + most + 1) // 2
            if ours.root_at(size) == theirs.root_at(size):
                least = size
            else:
                most = size - 1
    return least


def _time_of(log: Log, position: int) -> int:
    found = log.read(position - 1, 1, 1) if position else ()
    return decode(found[0]).time_ns if found else 0
