"""Widens a search by what a question names: entities that memories are about, and times."""

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from cortex.runtime.retrieval import STOPWORDS, words_of

from .dated import Span, spans
from .rows import in_scopes
from .tables import SINCE
from .view import MemoryView

LONGEST_NAME: Final = 6  # words
MOST_ASKED: Final = 200  # words of a question that are looked at
MOST_NAMED: Final = 50  # memories; an entity that more have says little
MOST_DATED: Final = 20  # newest memories of a time
LONGEST_DATED_NS: Final = 366 * 86_400 * 10**9  # a longer time finds none by itself


class Widening(NamedTuple):
    """What a question names beside its words."""

    named: tuple[str, ...] = ()  # ids of memories about entities that it names
    spans: tuple[Span, ...] = ()  # times that it names
    dated: tuple[str, ...] = ()  # ids of the newest memories of those times

    def is_dated(self, time_ns: int) -> bool:
        """Whether *time_ns* is in a time that the question names."""
        return any(span.has(time_ns) for span in self.spans)


NOTHING: Final = Widening()


def widened(question: str, view: MemoryView, scopes: Sequence[str], now_ns: int) -> Widening:
    """What *question* names, asked at *now_ns*; 0 for the time of the newest memory."""
    times = spans(question, now_ns or _newest_ns(view))
    short = [span for span in times if span.to_ns - span.from_ns <= LONGEST_DATED_NS]
    dated = [each for span in short for each in _of_time(view, scopes, span)]
    named = [each for name in _names(question, view) for each in _about(view, scopes, name)]
    return Widening(tuple(dict.fromkeys(named)), times, tuple(dict.fromkeys(dated)))


def _newest_ns(view: MemoryView) -> int:
    newest = view.query(
        # By the index of times: that of positions, which `+` rules out, would have all be sorted.
        f"select {SINCE} from memory_nodes where +position <= ? order by {SINCE} desc limit 1",  # noqa: S608  # names of ours; what comes from outside is bound
        (view.position,),
    )
    return int(newest[0][0]) if newest else 0


def _names(question: str, view: MemoryView) -> list[str]:
    """The entities that *question* names, the longest first, none inside another."""
    words = words_of(question)[:MOST_ASKED]
    runs = {
        " ".join(words[at : at + size]): range(at, at + size)
        for size in range(1, LONGEST_NAME + 1)
        for at in range(len(words) - size + 1)
        if not STOPWORDS.issuperset(words[at : at + size])
    }
    if not runs:
        return []
    rows = view.query(
        "select distinct name from memory_entities "
        "where name in (select value from json_each(?)) and position <= ?",
        (json.dumps(list(runs)), view.position),
    )
    found: list[str] = []
    taken: set[int] = set()
    for name in sorted((str(row[0]) for row in rows), key=lambda each: (-len(runs[each]), each)):
        if taken.isdisjoint(runs[name]):
            found.append(name)
            taken.update(runs[name])
    return found


def _about(view: MemoryView, scopes: Sequence[str], name: str) -> list[str]:
    """The memories about one entity, the newest first; none if there are too many."""
    where, values = in_scopes(scopes)
    rows = view.query(
        "select e.id from memory_entities e join memory_nodes n on n.id = e.id "  # noqa: S608  # names of ours; what comes from outside is bound
        f"where e.name = ? and e.position <= ? {where} order by e.position desc, e.id limit ?",
        (name, view.position, *values, MOST_NAMED + 1),
    )
    return [str(row[0]) for row in rows] if len(rows) <= MOST_NAMED else []


def _of_time(view: MemoryView, scopes: Sequence[str], span: Span) -> list[str]:
    where, values = in_scopes(scopes)
    rows = view.query(
        f"select id from memory_nodes where {SINCE} >= ? and {SINCE} < ? and position <= ? "  # noqa: S608  # names of ours; what comes from outside is bound
        f"{where} order by {SINCE} desc, id limit ?",
        (span.from_ns, span.to_ns, view.position, *values, MOST_DATED),
    )
    return [str(row[0]) for row in rows]
