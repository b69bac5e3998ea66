"""Reads and writes times, durations and counts in human-readable form."""

import re
from datetime import UTC, datetime, timedelta

import click

LAST_NS = 1 << 63  # the largest time in an event

_UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_AGO = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")


def parse_time(text: str, now_ns: int) -> int:
    """UTC nanoseconds of *text*: "90s", "1h", "2d" ago, or a date or time in ISO 8601.

    A time without an offset is in the local time zone.

    Raises:
        click.BadParameter: It is neither.
    """
    ago = _AGO.fullmatch(text.strip())
    if ago:
        return now_ns - round(float(ago[1]) * _UNITS_S[ago[2]] * 1e9)
    try:
        when = datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{text!r} is not a time: write 90s, 15m, 1h, 2d or 1w ago, or 2026-03-01T09:30"
        ) from None
    since = when - datetime(1970, 1, 1, tzinfo=UTC)
    return (since // timedelta(microseconds=1)) * 1_000


def parse_end(text: str, now_ns: int) -> int:
    """UTC nanoseconds of *text*: "90s", "12h", "30d" from now, or a date or time in ISO 8601.

    Raises:
        click.BadParameter: It is neither, or is over already.
    """
    ahead = _AGO.fullmatch(text.strip())
    try:
        end_ns = 2 * now_ns - parse_time(text, now_ns) if ahead else parse_time(text, now_ns)
    except click.BadParameter:
        raise click.BadParameter(
            f"{text!r} is not a time: write 12h, 30d or 1w from now, or 2026-03-01T09:30"
        ) from None
    if not now_ns < end_ns < LAST_NS:
        raise click.BadParameter(f"{text!r} is {'over' if end_ns <= now_ns else 'too far away'}")
    return end_ns


def iso(time_ns: int) -> str:
    """The time in UTC, to the microsecond, as ISO 8601."""
    seconds, rest_ns = divmod(time_ns, 1_000_000_000)
    when = datetime.fromtimestamp(seconds, UTC).isoformat()  # strftime takes ten times as long
    return f"{when[:19]}.{rest_ns // 1_000:06d}Z"


def local(time_ns: int) -> str:
    """The time on this machine's clock, to the second."""
    return f"{datetime.fromtimestamp(time_ns // 1_000_000_000).astimezone():%Y-%m-%d %H:%M:%S}"


def recent(time_ns: int, now_ns: int) -> str:
    """`local`, as short as is unambiguous: 14:03:20 today, 03-01 14:03 this year, else the date."""
    when, now = (datetime.fromtimestamp(ns // 1_000_000_000) for ns in (time_ns, now_ns))
    if when.date() == now.date():
        return f"{when:%H:%M:%S}"
    return f"{when:%m-%d %H:%M}" if when.year == now.year else f"{when:%Y-%m-%d}"


def duration(seconds: float) -> str:
    """A duration in a suitable unit: `0.4 ms`, `1.8 s`, `4 min 05 s`, `2 h 10 min`, `9 d`."""
    if seconds < 0.1:
        return f"{seconds * 1e3:.1f} ms"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 100:
        return f"{minutes} min {rest:02d} s"
    if minutes < 72 * 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes // (24 * 60):,} d"


def many(count: int, one: str, more: str = "") -> str:
    """*count* with its noun: "1 failure", "2,000 failures", "1 entry"/"2 entries".

    Args:
        count: The number.
        one: The singular.
        more: The plural; by default, *one* with an s.
    """
    return f"{count:,} {one if count == 1 else more or f'{one}s'}"
