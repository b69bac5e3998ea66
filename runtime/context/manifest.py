"""Account: assigns every token of a prompt, and records the decision about every item."""

import hashlib
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import replace

from .blocks import COMPILER, HEAD, PromptBlock, framing_tokens, line_of
from .counted import shares
from .layout.fence import consecutive
from .layout.render import Fixed
from .material import Choice, Left, Ranked
from .prompt import (
    EditNote,
    FixedPart,
    Manifest,
    ManifestEntry,
    PassedOver,
    State,
)
from .request import LEAST_FRAMING, SECTIONS, Bounds, Request, Section
from .segments import Epoch, Segment
from .tokens import Counter


class Measured:
    """A rendered prompt and the tokens of each of its blocks; they add up to the total."""

    def __init__(self, blocks: list[PromptBlock], tokens: list[int], counter: Counter) -> None:
        self.blocks, self.tokens = blocks, tokens
        self.encoding, self.exact = counter.encoding, counter.exact

    @cached_property
    def lines(self) -> list[bytes]:
        """Each encoded block; computed only for the final prompt."""
        return [*map(line_of, self.blocks)]

    @cached_property
    def data(self) -> bytes:
        """The beginning of the encoded prompt: its first line and all blocks."""
        return b"".join((HEAD, *self.lines))

    @cached_property
    def framing(self) -> int:
        """Tokens that an API adds; an estimate."""
        return framing_tokens(self.blocks)

    @property
    def sections(self) -> dict[Section, int]:
        """Tokens of each section, absent ones included."""
        tally: Tally[Section] = Tally()
        for block, tokens in zip(self.blocks, self.tokens, strict=True):
            tally[block.section] += tokens
        return {section: tally[section] for section in SECTIONS}

    def over(self, bound: Bounds) -> dict[Section, int]:
        """Sections over their budget and by how much; the largest one if only the sum is over."""
        sections = self.sections
        over = {
            section: tokens - bound.section(section)
            for section, tokens in sections.items()
            if tokens > bound.section(section)
        }
        more = max(0, self.framing - LEAST_FRAMING)  # already subtracted from the bound
        excess = sum(sections.values()) + more - bound.prompt
        if not over and excess > 0:
            over[max(SECTIONS, key=lambda section: sections[section])] = excess
        return over


def measure(blocks: list[PromptBlock], counter: Counter) -> Measured:
    """Count what is sent; a token belongs to the block of its first byte."""
    return Measured(blocks, shares([block.pieces for block in blocks], counter), counter)


class Account(NamedTuple):
    """The contents of a manifest besides its items."""

    request: Request
    position: int
    bound: Bounds
    fixed: Fixed
    passed_over: tuple[PassedOver, ...]
    declared: tuple[Epoch, ...]
    edits: tuple[EditNote, ...] = ()


def account(
    about: Account, choices: Sequence[Choice], left: Sequence[Left], measured: Measured
) -> Manifest:
    """The manifest of a prompt: items in the order of their ids, each exactly once."""
    request, bound = about.request, about.bound
    in_items, in_fixed = _tokens_of(measured)
    entries = [_entry_in(choice, in_items[choice.ranked.item.id], request) for choice in choices]
    entries.extend(_entry_out(item, request) for item in left)
    segments = segments_of(measured)
    eligible = sum(each.tokens for each in segments if each.stretch != "volatile")
    return Manifest(
        position=about.position,
        encoding=measured.encoding,
        exact=measured.exact,
        window=request.window,
        effective_window=bound.effective_window,
        headroom=bound.budgets.headroom,
        budgets={str(section): bound.section(section) for section in SECTIONS},
        tokens=sum(measured.tokens),
        sections={str(s): n for s, n in measured.sections.items()},
        epochs=len(about.declared),
        declared=about.declared,
        segments=segments,
        eligible=eligible,
        strategy=request.strategy,
        passed_over=about.passed_over,
        warnings=tuple(_warnings(request, entries, eligible)),
        items=tuple(sorted(_edited(entries, about.edits), key=lambda entry: entry.id)),
        fixed=tuple(
            FixedPart(
                section,
                tokens,
                about.fixed[section].neutralised if section in about.fixed else (),
                _editors(about.edits, section, ""),
            )
            for section, tokens in in_fixed.items()
        ),
        edits=about.edits,
        compiler=COMPILER,
        framing=measured.framing,
    )


def _edited(entries: Sequence[ManifestEntry], edits: Sequence[EditNote]) -> Iterator[ManifestEntry]:
    for entry in entries:
        by = _editors(edits, entry.section, entry.id) if edits else ()
        yield replace(entry, edited=by) if by else entry


def _editors(edits: Sequence[EditNote], section: str, item: str) -> tuple[str, ...]:
    here = (each for each in edits if each.applied and (each.section, each.item) == (section, item))
    return tuple(dict.fromkeys(each.by for each in here))


def _tokens_of(measured: Measured) -> tuple[dict[str, int], Tally[Section]]:
    """Tokens by item, and the others by section."""
    in_items: dict[str, int] = {}
    in_fixed: Tally[Section] = Tally()
    for block, tokens in zip(measured.blocks, measured.tokens, strict=True):
        if block.item:
            in_items[block.item] = tokens
        else:
            in_fixed[block.section] += tokens
    return in_items, in_fixed


def segments_of(measured: Measured) -> tuple[Segment, ...]:
    """The stretches of a prompt, in order."""
    made: list[Segment] = []
    running, end = hashlib.sha256(HEAD), len(HEAD)
    written = zip(measured.blocks, measured.lines, measured.tokens, strict=True)
    for stretch, parts in groupby(written, key=lambda part: part[0].stretch):
        tokens, items = 0, []
        for block, line, counted in parts:
            running.update(line)
            end += len(line)
            tokens += counted
            items += [block.item] if block.item else []
        made.append(
            Segment(
                stretch=stretch,
                tokens=tokens,
                end=end,
                digest=running.hexdigest(),
                items=tuple(items),
            )
        )
    return tuple(made)


def _warnings(request: Request, entries: Sequence[ManifestEntry], eligible: int) -> Iterator[str]:
    minimum = request.caching.minimum_tokens
    if request.caching.keeps and eligible < minimum:
        yield (
            f"{eligible:,} tokens could be read from a cache again; the model's endpoint keeps no "
            f"prefix below {minimum:,}"
        )
    for entry in entries:
        if entry.stale:
            yield f"{entry.id} has changed since it was locked"


def _entry_in(choice: Choice, tokens: int, request: Request) -> ManifestEntry:
    ranked = choice.ranked
    state: State = "in" if choice.whole else "partial"
    return _entry(
        Left(
            ranked.item,
            choice.reason,
            ranked.neutralised,
            0 if choice.cut else choice.sized.counted,
            ranked.score,
        ),
        state,
        tokens,
        tuple(
            (ranked.numbers[start], ranked.numbers[end - 1])
            for start, end in consecutive(ranked, choice.runs)
            if not choice.cut and not ranked.form
        ),
        request,
        ranked,
    )


def _entry_out(left: Left, request: Request) -> ManifestEntry:
    return _entry(left, "out", 0, (), request)


def _entry(
    about: Left,
    state: State,
    tokens: int,
    lines: tuple[tuple[int, int], ...],
    request: Request,
    ranked: Ranked | None = None,
) -> ManifestEntry:
    item = about.item
    digest = item.digest or hashlib.sha256(item.text.encode(errors="replace")).hexdigest()
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
        digest=digest,
        lines=lines,
        neutralised=about.neutralised,
        form=ranked.form if ranked else "",
        saved=ranked.saved if ranked else 0,
        stale=request.locked.get(item.id, digest) != digest,
    )
