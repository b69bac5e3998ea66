"""Fit: what of the ranked material goes into the room there is; whole where possible."""

from collections.abc import Callable
from itertools import groupby
from typing import NamedTuple

from .errors import ContextRefusedError
from .fence import Run, all_lines, body, fence
from .material import Left
from .rank import Ranked
from .request import Section
from .tools import ToolItem

Count = Callable[[str], int]


class Room(NamedTuple):
    """Tokens that are free: in each section, and in all of them together."""

    sections: dict[Section, int]
    total: int


class Sized(NamedTuple):
    """A ranked item and what it costs."""

    ranked: Ranked
    fence_tokens: int
    text_tokens: int

    @property
    def whole_tokens(self) -> int:
        """Tokens of the whole item with its fence."""
        return self.fence_tokens + self.text_tokens


class Choice(NamedTuple):
    """An item that is in, with the lines that are: all of them, or runs of (start, end)."""

    sized: Sized
    runs: tuple[Run, ...]
    reason: str
    cut: bool = False  # its text is what is left of a longer one

    @property
    def ranked(self) -> Ranked:
        """The item as it was ranked."""
        return self.sized.ranked

    @property
    def whole(self) -> bool:
        """Nothing was cut out."""
        return not self.cut and self.runs == all_lines(self.ranked)


def size(ranked: Ranked, count: Count) -> Sized:
    """Count an item; its fence and its text end in line breaks, where counts add up."""
    fence_tokens = count("".join(fence(ranked.item)))
    return Sized(ranked, fence_tokens, count(body(ranked, all_lines(ranked))))


def fit(
    items: list[Sized], room: Room, count: Count, kept: int = 0
) -> tuple[list[Choice], list[Left]]:
    """Choose what must be in, then class by class of priority what the room still takes.

    A class that fits is taken whole. Of one that does not, the chunks with the best scores are
    taken, across its items, each only if its section and the whole still have room for it.

    Args:
        items: In the order in which they were gathered.
        room: What there is for them.
        count: How tokens are counted.
        kept: Tokens of history that only what must be in may take.

    Raises:
        ContextRefusedError: An item that must be in does not fit.
    """
    room = Room(dict(room.sections), room.total)
    choices: dict[str, Choice] = {}
    for sized in items:
        if sized.ranked.item.must_include:
            room = _take(room, sized)
            choices[sized.ranked.item.id] = _whole(sized, "must be in")
    room = Room(
        {**room.sections, "history": max(0, room.sections["history"] - kept)},
        max(0, room.total - kept),
    )
    optional = [sized for sized in items if not sized.ranked.item.must_include]
    optional.sort(key=lambda sized: -sized.ranked.item.priority)
    for _, group in groupby(optional, key=lambda sized: sized.ranked.item.priority):
        taken, room = _fit_class(list(group), room, count)
        choices.update((choice.ranked.item.id, choice) for choice in taken)
    chosen = [choices[s.ranked.item.id] for s in items if s.ranked.item.id in choices]
    left = [_left(s, room) for s in items if s.ranked.item.id not in choices]
    return chosen, left


def _whole(sized: Sized, reason: str) -> Choice:
    return Choice(sized, all_lines(sized.ranked), reason)


def _less(room: Room, section: Section, tokens: int) -> Room:
    sections = {**room.sections, section: room.sections[section] - tokens}
    return Room(sections, room.total - tokens)


def _free(room: Room, section: Section) -> int:
    return min(room.sections[section], room.total)


def _take(room: Room, sized: Sized) -> Room:
    item = sized.ranked.item
    free, needed = _free(room, item.section), sized.whole_tokens
    if needed > free:
        limited_by = _limit(room, item.section)
        instead = "shorten it, drop must_include so that it may be cut"
        if isinstance(item, ToolItem):
            instead = "list fewer tools, or their pack, which is shown when it is asked for"
        raise ContextRefusedError(
            f"item {item.id}, which must be in,",
            needed,
            max(free, 0),
            limited_by,
            f"{instead}, or raise {limited_by} by {needed - max(free, 0):,}",
        )
    return _less(room, item.section, needed)


def _limit(room: Room, section: Section) -> str:
    return f"budgets.{section}" if room.sections[section] <= room.total else "effective_window"


def _fit_class(group: list[Sized], room: Room, count: Count) -> tuple[list[Choice], Room]:
    after = room
    for sized in group:
        after = _less(after, sized.ranked.item.section, sized.whole_tokens)
    if after.total >= 0 and min(after.sections.values()) >= 0:
        return [_whole(sized, "fits") for sized in group], after
    return _fit_chunks(group, room, count)


def _fit_chunks(group: list[Sized], room: Room, count: Count) -> tuple[list[Choice], Room]:
    order = sorted(
        (-score, at, nr)
        for at, sized in enumerate(group)
        for nr, score in enumerate(sized.ranked.scores)
    )
    taken: dict[int, set[int]] = {}
    for _, at, nr in order:
        sized = group[at]
        section, chunk = sized.ranked.item.section, sized.ranked.chunks[nr]
        free = _free(room, section)
        if free <= 0 or (at not in taken and free < sized.fence_tokens):
            continue
        tokens = count(body(sized.ranked, ((chunk.start, chunk.end),)))
        tokens += 0 if at in taken else sized.fence_tokens
        if tokens <= free:
            taken.setdefault(at, set()).add(nr)
            room = _less(room, section, tokens)
    return [_partial(group[at], taken[at]) for at in sorted(taken)], room


def _partial(sized: Sized, numbers: set[int]) -> Choice:
    chunks = sized.ranked.chunks
    if len(numbers) == len(chunks):
        return _whole(sized, "fits")
    runs: list[Run] = []
    for nr in sorted(numbers):
        start, end = chunks[nr].start, chunks[nr].end
        if runs and runs[-1][1] == start:
            start = runs.pop()[0]
        runs.append((start, end))
    reason = f"{len(numbers)} of {len(chunks)} chunks fit, best first"
    return Choice(sized, tuple(runs), reason)


def _left(sized: Sized, room: Room) -> Left:
    ranked = sized.ranked
    return Left(
        ranked.item,
        f"{_limit(room, ranked.item.section)} has no room for it or for any chunk of it",
        ranked.neutralised,
        sized.text_tokens,
        ranked.score,
    )
