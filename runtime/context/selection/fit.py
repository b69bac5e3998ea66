"""Fit: chooses ranked material for the available room; whole items if possible.

A knapsack over the sections' budgets, filled by value per token: a chunk's score is its value per
token, reduced by the share of its fence. A section's budget is a cap. Of the whole room each
section with material has a *floor*, which no other can take; above it more valuable material uses
what others leave.
"""

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Final, NamedTuple

from cortex.runtime.retrieval import Chunk

from ..errors import ContextRefusedError
from ..layout.fence import body, fence, sent_around
from ..layout.render import Fixed, heading
from ..layout.tools import ToolItem
from ..material import (
    CHARS_A_TOKEN,
    UNCOUNTED,
    Choice,
    Left,
    Ranked,
    Run,
    Sized,
    all_lines,
    chars_of,
)
from ..request import LEAST_FRAMING, SECTIONS, Bounds, Section

Count = Callable[[str], int]

FLOOR: Final = 0.5  # of a section's fair share of the room
LEAST_TOKENS: Final = 12  # below which nothing is tried
MISSES: Final = 48  # chunks in a row that did not fit a section, after which none is tried


class Room(NamedTuple):
    """Free tokens: in each section, and in total."""

    sections: dict[Section, int]
    total: int
    floors: dict[Section, int] = {}  # of the total, each reserved for one section


def size(ranked: Ranked, count: Count, most_chars: int | None = None) -> Sized:
    """Count an item; its fence and its text end in line breaks, where counts add up.

    The text is not counted if it has more than *most_chars* characters and may be cut.
    """
    around = fence(ranked)
    fence_tokens = count(sent_around(ranked, around))
    may_be_cut = not (ranked.item.must_include or isinstance(ranked.item, ToolItem))
    if may_be_cut and most_chars is not None and chars_of(ranked) > most_chars:
        return Sized(ranked, fence_tokens, UNCOUNTED, around)
    return Sized(ranked, fence_tokens, count(body(ranked, all_lines(ranked))), around)


def fit(
    items: list[Sized], room: Room, count: Count, kept: int = 0
) -> tuple[list[Choice], list[Left]]:
    """Choose required items, then fill the remaining room by priority classes.

    A class that fits is taken whole. Otherwise the chunks with the highest value per token
    are taken, across its items, each only if its section and the whole still have room for it.

    Args:
        items: In the order in which they were gathered.
        room: The available tokens.
        count: The token counter.
        kept: Tokens of history reserved for required items.

    Raises:
        ContextRefusedError: A required item does not fit.
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
        tokens = _tokens_of(sized, chunk, count)
        if tokens <= free:
            missed[section] = 0
            room = _less(room, section, tokens + (0 if at in taken else sized.fence_tokens))
            taken.setdefault(at, set()).add(nr)
        else:
            missed[section] = missed.get(section, 0) + 1
    return [_partial(group[at], taken[at], count) for at in sorted(taken)], room


def _tokens_of(sized: Sized, chunk: Chunk, count: Count) -> int:
    if sized.text_tokens != UNCOUNTED and len(sized.ranked.chunks) == 1:
        return sized.text_tokens
    return count(body(sized.ranked, ((chunk.start, chunk.end),)))


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
        tokens = count(body(sized.ranked, all_lines(sized.ranked)))
        return _whole(sized._replace(text_tokens=tokens), "fits")
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


def reserve(
    items: list[Sized], fixed: Fixed, bound: Bounds, short: Mapping[Section, int], count: Count
) -> Room:
    """Subtract headings and fixed text from the bounds; *short* is the overshoot of the last round.

    Raises:
        ContextRefusedError: A fixed section is over its budget, or all of them together are over
            the effective window.
    """
    used = {section.ranked.item.section for section in items}
    taken: dict[Section, int] = {}
    for section in SECTIONS:
        text = fixed[section].text if section in fixed else ""
        own = count(heading(section) + text) if text else 0
        _check_section(section, own, bound)
        taken[section] = own or (count(heading(section)) if section in used else 0)
    free = bound.prompt - sum(taken.values())
    if free < 0:
        raise _all_too_big(taken, bound)
    return Room(
        {s: max(0, bound.section(s) - taken[s] - short.get(s, 0)) for s in SECTIONS},
        max(0, free - sum(short.values())),
    )


def _check_section(section: Section, tokens: int, bound: Bounds) -> None:
    limit = bound.section(section)
    if tokens > limit:
        raise ContextRefusedError(
            section,
            tokens,
            limit,
            f"budgets.{section}",
            f"shorten it, or set budgets.{section} to {tokens:,} or more",
        )


def _all_too_big(taken: dict[Section, int], bound: Bounds) -> ContextRefusedError:
    biggest = max(taken, key=lambda section: taken[section])
    needed = sum(taken.values())
    return ContextRefusedError(
        "the text that every prompt of this step holds",
        needed,
        max(bound.prompt, 0),
        "effective_window less headroom",
        f"the largest part is {biggest} with {taken[biggest]:,}; shorten it, or raise "
        f"effective_window to {needed + bound.budgets.headroom + LEAST_FRAMING:,} or more",
    )
