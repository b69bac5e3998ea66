"""Keep: a prompt begins with the bytes of the previous one, or it declares an epoch.

Material of the previous prompt keeps its place; new material follows it, at the end of the
history or after that. This module decides nothing else: the material was chosen before.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from .layout.render import Placed
from .manifest import Measured, segments_of
from .segments import Epoch, Prefix, Segment, Stretch, Why

MOVED: Final[tuple[Stretch, ...]] = ("epoch", "append")  # stretches that may contain items


def behind(placed: Sequence[Placed], before: Prefix) -> list[Placed]:
    """*placed* in the order of the prompt *before*, followed by new material."""
    stood = {
        (segment.stretch, item): at
        for segment in before.kept
        if segment.stretch in MOVED
        for at, item in enumerate(segment.items)
    }
    kept: list[tuple[int, Placed]] = []
    new: list[Placed] = []
    for each in placed:
        at = stood.get((each.stretch, each.choice.ranked.item.id))
        if at is not None:
            kept.append((at, each))
        elif stood and each.stretch == "epoch":
            new.append(each._replace(stretch="volatile"))
        else:
            new.append(each)
    return [*(each for _, each in sorted(kept, key=lambda pair: pair[0])), *new]


def begins(data: bytes, before: Prefix) -> bool:
    """Whether the blocks *data* begin with all of the prompt *before* that a cache may hold."""
    return changed(data, before) is None


def changed(data: bytes, before: Prefix) -> Segment | None:
    """The first stretch of the prompt *before* that the blocks *data* do not begin with."""
    for segment in before.kept:
        if hashlib.sha256(data[: segment.end]).hexdigest() != segment.digest:
            return segment
    return None


def overgrown(moved: Measured, natural: Measured, before: Prefix) -> bool:
    """Whether the material out of its place is larger than what a rewrite would write again."""
    displaced = _tokens(segments_of(moved), "volatile") - _tokens(segments_of(natural), "volatile")
    return displaced > _tokens(before.kept, *MOVED)


def declare(
    measured: Measured,
    before: Prefix,
    of_turns: Sequence[Epoch],
    turn: int,
    why: Why | None = None,
) -> tuple[Epoch, ...]:
    """All epochs up to this prompt: those of its turns, earlier ones, and a new one if needed.

    Args:
        measured: The prompt.
        before: The previous prompt.
        of_turns: The epochs that its turns declare.
        turn: The turn that the prompt is for.
        why: Why it does not begin like the previous one, if known.
    """
    first = changed(measured.data, before)
    others = [epoch for epoch in before.declared if not epoch.of_turns]
    turns_before = len(before.declared) - len(others)
    if first is not None and not (first.stretch == "append" and len(of_turns) > turns_before):
        others.append(_epoch(measured, before, first, turn, why))
    numbered = enumerate(others, len(of_turns) + 1)
    return (*of_turns, *(replace(epoch, number=number) for number, epoch in numbered))


def _epoch(measured: Measured, before: Prefix, first: Segment, turn: int, why: Why | None) -> Epoch:
    now = segments_of(measured)
    there = {item for segment in now for item in segment.items}
    gone = [i for segment in before.kept for i in segment.items if i not in there]
    if first.stretch == "stable":
        why = "stable"
    elif gone:
        why = "gone"
    at = before.kept.index(first)
    kept = [each for each in now if each.stretch != "volatile"]
    return Epoch(
        number=0,
        turn=turn,
        why=why or "changed",
        shed=max(0, sum(s.tokens for s in before.kept) - sum(s.tokens for s in kept)),
        rewritten=sum(segment.tokens for segment in kept[at:]),
        about=gone[0] if why == "gone" else first.stretch,
        of_turns=False,
    )


def _tokens(segments: Sequence[Segment], *stretches: Stretch) -> int:
    return sum(segment.tokens for segment in segments if segment.stretch in stretches)
