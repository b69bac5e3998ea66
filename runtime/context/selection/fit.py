"""Fit: what of the ranked material goes into the room there is; whole where possible.

A knapsack over the sections' budgets, filled by worth a token: the score of a chunk is its worth a
token, lessened by the share of its fence. A section's budget is a cap. Of the whole room each
section with material has a *floor*, which no other can take; above it whoever is worth more borrows
what others leave.
"""

from collections.abc import Callable
from itertools import groupby
from typing import Final, NamedTuple

from ..errors import ContextRefusedError
from ..layout.fence import Run, all_lines, body, fence
from ..layout.tools import ToolItem
from ..request import Section
from .material import Left, Ranked

Count = Callable[[str], int]

FLOOR: Final = 0.5  # of a section's fair share of the room
UNCOUNTED: Final = -1
CHARS_A_TOKEN: Final = 4  # where nothing was counted
LEAST_TOKENS: Final = 12  # below which nothing is tried
MISSES: Final = 48  # chunks in a row that did not fit a section, after which none is tried


class Room(NamedTuple):
    """Tokens that are free: in each section, and in all of them together."""

    sections: dict[Section, int]
    total: int
    floors: dict[Section, int] = {}  # of the total, each for one section alone


class Sized(NamedTuple):
    """A ranked item and what it costs."""

    ranked: Ranked
    fence_tokens: int
    text_tokens: int  # UNCOUNTED where it is far too long to be in whole

    @property
    def whole_tokens(self) -> int:
        """Tokens of the whole item with its fence; about, where it was not counted."""
        if self.text_tokens == UNCOUNTED:
            return self.fence_tokens + chars_of(self.ranked) // CHARS_A_TOKEN
        return self.fence_tokens + self.text_tokens

    @property
    def counted(self) -> int:
        """Tokens of its text; 0 where they were not counted."""
        return max(self.text_tokens, 0)


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


def chars_of(ranked: Ranked) -> int:
    """Characters of an item's text."""
    return sum(map(len, ranked.lines)) + len(ranked.lines)


def size(ranked: Ranked, count: Count, most_chars: int | None = None) -> Sized:
    """Count an item; its fence and its text end in line breaks, where counts add up.

    The text is not counted if it has more than *most_chars* characters and may be cut.
    """
    fence_tokens = count("".join(fence(ranked)))
    may_be_cut = not (ranked.item.must_include or isinstance(ranked.item, ToolItem))
    if may_be_cut and most_chars is not None and chars_of(ranked) > most_chars:
        return Sized(ranked, fence_tokens, UNCOUNTED)
    return Sized(ranked, fence_tokens, count(body(ranked, all_lines(ranked))))


def fit(
    items: list[Sized], room: Room, count: Count, kept: int = 0
) -> tuple[list[Choice], list[Left]]:
    """Choose what must be in, then class by class of priority what the room still takes.

    A class that fits is taken whole. Of one that does not, the chunks that are worth most a token
    are taken, across its items, each only if its section and the whole still have room for it.

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
    optional = [sized for sized in items if not sized.ranked.item.must_include]
    room = _with_floors(optional, room, kept)
    optional.sort(key=lambda sized: -sized.ranked.item.priority)
    for _, group in groupby(optional, key=lambda sized: sized.ranked.item.priority):
        taken, room = _fit_class(list(group), room, count)
        choices.update((choice.ranked.item.id, choice) for choice in taken)
    chosen = [choices[s.ranked.item.id] for s in items if s.ranked.item.id in choices]
    left = [_left(s, room) for s in items if s.ranked.item.id not in choices]
    return chosen, left


def _with_floors(optional: list[Sized], room: Room, kept: int) -> Room:
    history = max(0, room.sections["history"] - kept)
    sections = {**room.sections, "history": history}
    total = max(0, room.total - kept)
    wanted: dict[Section, int] = {}
    for sized in optional:
        section = sized.ranked.item.section
        wanted[section] = wanted.get(section, 0) + sized.whole_tokens
    caps = sum(sections[section] for section in wanted) or 1
    floors = {
        section: min(tokens, int(FLOOR * total * sections[section] / caps))
        for section, tokens in wanted.items()
    }
    return Room(sections, total, floors)


def _whole(sized: Sized, reason: str) -> Choice:
    return Choice(sized, all_lines(sized.ranked), reason)


def _less(room: Room, section: Section, tokens: int) -> Room:
    sections = {**room.sections, section: room.sections[section] - tokens}
    floors = room.floors
    if floors.get(section):
        floors = {**floors, section: max(0, floors[section] - tokens)}
    return Room(sections, room.total - tokens, floors)


def _free(room: Room, section: Section) -> int:
    others = sum(tokens for other, tokens in room.floors.items() if other != section)
    return min(room.sections[section], room.total - others)


def _take(room: Room, sized: Sized) -> Room:
    item = sized.ranked.item
    free, needed = _free(room, item.section), sized.whole_tokens
    if needed > free:
        limited_by = _limit(room, item.section)
        instead = "shorten it, drop must_include so that it may be cut"
        if isinstance(item, ToolItem):
            instead = "list fewer tools, or their pack, which a model can enable"
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
    sections = {sized.ranked.item.section for sized in group}
    floors = sum(tokens for section, tokens in after.floors.items() if section not in sections)
    counted = all(sized.text_tokens != UNCOUNTED for sized in group)
    if counted and after.total >= floors and min(after.sections.values()) >= 0:
        return [_whole(sized, "fits") for sized in group], after
    return _fit_chunks(group, room, count)


def _fit_chunks(group: list[Sized], room: Room, count: Count) -> tuple[list[Choice], Room]:
    order = sorted(
        (-_worth(sized, nr), at, nr)
        for at, sized in enumerate(group)
        for nr in range(len(sized.ranked.chunks))
    )
    taken: dict[int, set[int]] = {}
    missed: dict[Section, int] = {}
    for _, at, nr in order:
        sized = group[at]
        section, chunk = sized.ranked.item.section, sized.ranked.chunks[nr]
        free = _free(room, section) - (0 if at in taken else sized.fence_tokens)
        if free < LEAST_TOKENS or missed.get(section, 0) >= MISSES:
            continue
        tokens = count(body(sized.ranked, ((chunk.start, chunk.end),)))
        if tokens <= free:
            missed[section] = 0
            room = _less(room, section, tokens + (0 if at in taken else sized.fence_tokens))
            taken.setdefault(at, set()).add(nr)
        else:
            missed[section] = missed.get(section, 0) + 1
    return [_partial(group[at], taken[at], count) for at in sorted(taken)], room


def _worth(sized: Sized, nr: int) -> float:
    ranked = sized.ranked
    chunk = ranked.chunks[nr]
    if len(ranked.chunks) > 1:
        return ranked.scores[nr]  # its fence is shared with the others
    text = max(1, sum(map(len, ranked.lines[chunk.start : chunk.end])) // CHARS_A_TOKEN)
    return ranked.scores[nr] * text / (text + sized.fence_tokens)


def _partial(sized: Sized, numbers: set[int], count: Count) -> Choice:
    chunks = sized.ranked.chunks
    if len(numbers) == len(chunks):
        return _whole(size(sized.ranked, count), "fits")
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
        sized.counted,
        ranked.score,
    )
