"""Keep: a prompt begins with the bytes of the one before it, or it declares an epoch.

What stood in the prompt before stays where it stood; what is new goes behind it, to the end of the
history or behind that. Nothing else is decided here: which material is in was chosen before.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from ..manifest import Measured, segments_of
from ..segments import Epoch, Prefix, Segment, Stretch, Why
from .render import Placed

MOVED: Final[tuple[Stretch, ...]] = ("epoch", "append")  # stretches in which items may stand


def behind(placed: Sequence[Placed], before: Prefix) -> list[Placed]:
    """*placed* in the order of the prompt *before*, with what is new behind it."""
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


def begins(text: str, before: Prefix) -> bool:
    """Whether *text* begins with all of the prompt *before* that a cache may hold."""
    return changed(text, before) is None


def changed(text: str, before: Prefix) -> Segment | None:
    """The first stretch of the prompt *before* that *text* does not begin with."""
    data = text.encode()
    for segment in before.kept:
        if hashlib.sha256(data[: segment.end]).hexdigest() != segment.digest:
            return segment
    return None


def overgrown(moved: Measured, natural: Measured, before: Prefix) -> bool:
    """Whether what stands behind, and not in its place, is more than what would be written anew."""
    displaced = _tokens(segments_of(moved), "volatile") - _tokens(segments_of(natural), "volatile")
    return displaced > _tokens(before.kept, *MOVED)


def declare(
    measured: Measured,
    before: Prefix,
    of_turns: Sequence[Epoch],
    turn: int,
    why: Why | None = None,
) -> tuple[Epoch, ...]:
    """All epochs up to this prompt: those of its turns, those before, and one if it needs one.

    Args:
        measured: The prompt.
        before: The prompt before it.
        of_turns: What its turns declare, which stands for itself.
        turn: The turn that it asks for.
        why: Why it does not begin as that one, if that is known.
    """
    first = changed(measured.text, before)
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
