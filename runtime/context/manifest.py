"""Account: what every token of a prompt belongs to, and what became of every item."""

import hashlib
from bisect import bisect_right
from collections import Counter as Tally
from itertools import accumulate
from typing import NamedTuple

from .fence import consecutive
from .fit import Choice
from .material import Left
from .prompt import FixedPart, Manifest, ManifestEntry, State
from .render import Fixed, Segment
from .request import SECTIONS, Bounds, Request, Section
from .tokens import Counter


class Measured(NamedTuple):
    """A rendered prompt and the tokens of each of its segments; they add up to the whole."""

    text: str
    segments: list[Segment]
    tokens: list[int]
    encoding: str

    @property
    def sections(self) -> dict[Section, int]:
        """Tokens of each section, absent ones included."""
        tally: Tally[Section] = Tally()
        for segment, tokens in zip(self.segments, self.tokens, strict=True):
            tally[segment.section] += tokens
        return {section: tally[section] for section in SECTIONS}

    def over(self, bound: Bounds) -> dict[Section, int]:
        """Sections over their budget and by how much; the largest one if only the sum is over."""
        sections = self.sections
        over = {
            section: tokens - bound.section(section)
            for section, tokens in sections.items()
            if tokens > bound.section(section)
        }
        excess = sum(sections.values()) - bound.prompt
        if not over and excess > 0:
            over[max(SECTIONS, key=lambda section: sections[section])] = excess
        return over


def measure(segments: list[Segment], counter: Counter) -> Measured:
    """Count the text as it is sent; a token belongs to the segment that its first byte is in."""
    text = "".join(segment.text for segment in segments)
    starts = list(accumulate((len(s.text.encode()) for s in segments), initial=0))[:-1]
    tokens = [0] * len(segments)
    at = 0
    for length in counter.lengths(text):
        tokens[bisect_right(starts, at) - 1] += 1
        at += length
    return Measured(text, segments, tokens, counter.encoding)


def account(
    request: Request,
    position: int,
    bound: Bounds,
    fixed: Fixed,
    choices: list[Choice],
    left: list[Left],
    measured: Measured,
    epochs: int,
) -> Manifest:
    """The manifest of a prompt: items in the order of their ids, each exactly once."""
    in_items: dict[str, int] = {}
    in_fixed: Tally[Section] = Tally()
    for segment, tokens in zip(measured.segments, measured.tokens, strict=True):
        if segment.item_id:
            in_items[segment.item_id] = tokens
        else:
            in_fixed[segment.section] += tokens
    entries = [_entry_in(choice, in_items[choice.ranked.item.id]) for choice in choices]
    entries.extend(_entry_out(item) for item in left)
    return Manifest(
        position=position,
        encoding=measured.encoding,
        window=request.window,
        effective_window=bound.effective_window,
        headroom=bound.budgets.headroom,
        budgets={str(section): bound.section(section) for section in SECTIONS},
        tokens=sum(measured.tokens),
        sections={str(s): n for s, n in measured.sections.items()},
        epochs=epochs,
        items=tuple(sorted(entries, key=lambda entry: entry.id)),
        fixed=tuple(
            FixedPart(section, tokens, fixed.get(section, ("", ()))[1])
            for section, tokens in in_fixed.items()
        ),
    )


def _entry_in(choice: Choice, tokens: int) -> ManifestEntry:
    ranked = choice.ranked
    state: State = "in" if choice.whole else "partial"
    return _entry(
        Left(
            ranked.item,
            choice.reason,
            ranked.neutralised,
            0 if choice.cut else choice.sized.text_tokens,
            ranked.score,
        ),
        state,
        tokens,
        tuple(
            (ranked.numbers[start], ranked.numbers[end - 1])
            for start, end in consecutive(ranked, choice.runs)
            if not choice.cut
        ),
    )


def _entry_out(left: Left) -> ManifestEntry:
    return _entry(left, "out", 0, ())


def _entry(
    about: Left, state: State, tokens: int, lines: tuple[tuple[int, int], ...]
) -> ManifestEntry:
    item = about.item
    return ManifestEntry(
        id=item.id,
        section=item.section,
        kind=item.kind,
        state=state,
        reason=about.reason,
        tokens=tokens,
        whole_tokens=about.whole_tokens,
        score=about.score,
        priority=item.priority,
        must_include=item.must_include,
        trust=item.trust,
        source=item.source,
        digest=item.digest or hashlib.sha256(item.text.encode(errors="replace")).hexdigest(),
        lines=lines,
        neutralised=about.neutralised,
    )
