"""Which time a question is about: "in May", "last week", "between 2025-05-03 and June". Pure.

Times are UTC. A month or a day without a year is the last one that has begun.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from .updates import COUNT, MONTH

EVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST_AGO: Final = 400  # of a unit: "400 days ago"; what is more is seldom meant
_UNITS: Final = {"day": 1, "week": 7, "month": 30, "year": 365}  # in days
_MONTHS: Final = "|".join(sorted(MONTH, key=len, reverse=True))
_COUNTS: Final = "|".join(sorted(COUNT, key=len, reverse=True))
_DAY: Final = r"(?P<{n}>\d{{1,2}})(?:st|nd|rd|th)?"
_YEAR: Final = r"(?:,?\s+(?P<{n}>(?:19|20)\d\d))"
# Small "may" is a verb, but for what stands before a month: "in may".
_BEFORE_MONTH: Final = (
    r"(?:in|during|since|before|after|until|till|by|of|from|to|and|between|around|last|this|early|"
    r"mid|late)"
)
_MOMENT: Final = re.compile(
    r"(?P<iso>\b(?:19|20)\d\d-\d\d(?:-\d\d)?\b)"
    rf"|\b(?P<m1>{_MONTHS})\.?\s+{_DAY.format(n='d1')}\b{_YEAR.format(n='y1')}?"
    rf"|\b{_DAY.format(n='d2')}\s+(?:of\s+)?(?P<m2>{_MONTHS})\b{_YEAR.format(n='y2')}?"
    rf"|\b(?P<m3>{_MONTHS})\b{_YEAR.format(n='y3')}"
    rf"|(?<=\b)(?P<before>{_BEFORE_MONTH})\s+(?P<m4>{_MONTHS})\b(?!\s*\d)"
    r"|\b(?P<word>today|yesterday)\b"
    r"|\b(?P<which>this|last|past|previous)\s+(?P<unit>week|month|year)\b(?!\s+(?:before|after)\b)"
    rf"|\b(?P<count>\d{{1,3}}|an?|{_COUNTS})\s+(?P<ago>day|week|month|year)s?\s+ago\b"
    rf"|\b(?:last|past)\s+(?P<some>\d{{1,3}}|{_COUNTS})\s+(?P<units>day|week|month|year)s\b"
    r"|\b(?:in|during|since|before|after|until|by|of|from|to|and|between)\s+"
    r"(?P<year>(?:19|20)\d\d)\b(?![-/]\d)",
    re.IGNORECASE,
)
_RELATION: Final = re.compile(
    r"(?:\b(?P<count>\d{1,3}|an?|the(?:\s+last)?|last|" + _COUNTS + r")?\s*"
    r"\b(?P<unit>day|week|month|year)s?\s+)?"
    r"\b(?P<relation>before|after|since|until|till|by|between|from)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_JOINED: Final = re.compile(r"^\s*(?:and|to|until|till|-)\s+$", re.IGNORECASE)
# Of a moment that has the word before it, too.
_RELATED: Final = re.compile(r"^(before|after|since|until|till|by|between|from)\b", re.IGNORECASE)


class Span(NamedTuple):
    """A stretch of time."""

    from_ns: int  # UTC nanoseconds
    to_ns: int  # the first that is no longer in it

    def has(self, time_ns: int) -> bool:
        """Whether *time_ns* is in it."""
        return self.from_ns <= time_ns < self.to_ns


class _Moment(NamedTuple):
    begins: datetime
    ends: datetime
    start: int  # place in the text
    end: int


def spans(question: str, now_ns: int) -> tuple[Span, ...]:
    """The times that *question* names, in its order, as seen at *now_ns*; none if it names none."""
    now = EVER + timedelta(microseconds=now_ns // 1_000)
    found = list(_moments(question, now))
    made: list[Span] = []
    at = 0
    while at < len(found):
        one = found[at]
        relation, unit_days = _relation(question, one)
        after = found[at + 1] if at + 1 < len(found) else None
        if relation in ("between", "from") and after is not None and _joined(question, one, after):
            made.append(_span(one.begins, after.ends))
            at += 2
            continue
        made.append(_related(relation, unit_days, one, now))
        at += 1
    return tuple(span for span in made if span.from_ns < span.to_ns)


def _joined(question: str, one: _Moment, after: _Moment) -> bool:
    between = question[one.end : after.start]
    first = question[after.start : after.end].split()[0].lower()
    return bool(_JOINED.match(between)) or (not between.strip() and first in ("and", "to"))


def _relation(question: str, moment: _Moment) -> tuple[str, float]:
    """The word that relates it to what is asked, and over how many days; 0 for any number."""
    own = _RELATED.match(question[moment.start : moment.end])
    before = question[: moment.start] + (f"{own[1]} " if own else "")
    match = _RELATION.search(before)
    if match is None:
        return "", 0
    days = 0.0
    if match["unit"]:
        days = _number((match["count"] or "a").lower()) * _UNITS[match["unit"].lower()]
    return match["relation"].lower(), days


def _related(relation: str, days: float, moment: _Moment, now: datetime) -> Span:
    several = timedelta(days=days)
    match relation:
        case "before":
            return _span(moment.begins - several if days else EVER, moment.begins)
        case "until" | "till" | "by":
            return _span(EVER, moment.ends)
        case "after":
            return _span(moment.ends, moment.ends + several if days else _after(now))
        case "since" | "from":
            return _span(moment.begins, _after(now))
        case _:
            return _span(moment.begins, moment.ends)


def _moments(question: str, now: datetime) -> Iterator[_Moment]:
    for match in _MOMENT.finditer(question):
        try:
            begins, ends = _bounds(match, now)
        except (ValueError, OverflowError):  # "February 31"
            continue
        yield _Moment(begins, ends, match.start(), match.end())


def _bounds(match: "re.Match[str]", now: datetime) -> tuple[datetime, datetime]:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if match["iso"]:
        year, month, *day = map(int, match["iso"].split("-"))
        return _day(year, month, day[0]) if day else _month(year, month)
    for n in ("1", "2"):
        if match[f"m{n}"]:
            return _last(_day, now, match[f"y{n}"], MONTH[match[f"m{n}"].lower()], match[f"d{n}"])
    if match["m3"]:
        return _month(int(match["y3"]), MONTH[match["m3"].lower()])
    if match["m4"]:
        return _last(_month, now, "", MONTH[match["m4"].lower()])
    if match["word"]:
        begins = today - timedelta(days=match["word"].lower() == "yesterday")
        return begins, begins + timedelta(days=1)
    if match["which"]:
        return _this_or_last(match["which"].lower(), match["unit"].lower(), today)
    if match["ago"]:
        unit = _UNITS[match["ago"].lower()]
        begins = today - timedelta(days=_number(match["count"].lower()) * unit)
        # "three weeks ago" is about that week, not about one day of it.
        return begins - timedelta(days=unit // 2), begins + timedelta(days=unit - unit // 2)
    if match["units"]:
        unit = _UNITS[match["units"].lower()]
        return today - timedelta(days=_number(match["some"].lower()) * unit), _after(now)
    year = int(match["year"])
    return datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)


def _this_or_last(which: str, unit: str, today: datetime) -> tuple[datetime, datetime]:
    """The calendar's week, month or year; "past week" and the like are the days up to now."""
    if which == "past":
        return today - timedelta(days=_UNITS[unit]), today + timedelta(days=1)
    begins = {
        "week": today - timedelta(days=today.weekday()),
        "month": today.replace(day=1),
        "year": today.replace(month=1, day=1),
    }[unit]
    if which == "this":
        return begins, today + timedelta(days=1)
    last = begins - timedelta(days=1)
    first = {"week": begins - timedelta(days=7), "month": last.replace(day=1)}
    return first.get(unit, last.replace(month=1, day=1)), begins


Bounds = Callable[..., tuple[datetime, datetime]]


def _last(
    bounds: Bounds, now: datetime, year: str | None, month: int, day: str = ""
) -> tuple[datetime, datetime]:
    """That month, or day of it, in *year*; without one the last that has begun."""
    rest = (int(day),) if day else ()
    if year:
        return bounds(int(year), month, *rest)
    for each in range(now.year, now.year - 5, -1):  # four years back, for a 29th of February
        try:
            found = bounds(each, month, *rest)
        except ValueError:
            continue
        if found[0] <= now:
            return found
    raise ValueError(month)


def _day(year: int, month: int, day: int) -> tuple[datetime, datetime]:
    begins = datetime(year, month, day, tzinfo=UTC)
    return begins, begins + timedelta(days=1)


def _month(year: int, month: int) -> tuple[datetime, datetime]:
    begins = datetime(year, month, 1, tzinfo=UTC)
    return begins, (begins + timedelta(days=32)).replace(day=1)


def _number(word: str) -> int:
    if word.isdecimal():
        return min(int(word), LONGEST_AGO)
    return int(COUNT.get(word, "1"))


def _after(now: datetime) -> datetime:
    return now + timedelta(days=1)


def _span(begins: datetime, ends: datetime) -> Span:
    return Span(_ns(begins), _ns(ends))


def _ns(moment: datetime) -> int:
    return (moment - EVER) // timedelta(microseconds=1) * 1_000
