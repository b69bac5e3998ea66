"""P = f(H, G): from a request and a view of the store to a prompt, without I/O, clock or model."""

import hashlib
from collections import Counter as Tally
from functools import lru_cache, partial
from typing import Final, NamedTuple

from .compress import Compressor
from .counting import CountedOnce
from .errors import ContextRefusedError
from .fit import Choice, Sized, fit, size
from .manifest import Account, Measured, account, measure
from .material import Clean, Left, clean, deduplicate, gather, scope
from .pieces import Fitted, make_piece
from .preselect import preselect
from .prompt import PassedOver, Prompt
from .rank import Ranked, question_of, rank
from .recall import recall, room_for_recall
from .render import Fixed, heading, place, render, write_fixed
from .request import Bounds, Request, Section, View, bounds
from .room import reserve
from .tellings import (
    tell_chosen,
    tell_compressed,
    tell_kept,
    tell_placed,
    tell_ranked,
    tell_rendered,
)
from .tokens import Counter, TokenCounter
from .tools import rank_tool
from .tracing import Note, Trace, Watch
from .turns import fit_turns, kept_for_turns

PIECES_KEPT: Final = 512  # of turns
COUNTED_SHARE: Final = 12  # characters a token of the window, beyond which no item can be in whole
COMPRESSED_SHARE: Final = 3  # times the window: how much is compressed in the hope that it fits
HOPE: Final = 0.4  # of its tokens: an item that is too long even then is not compressed
ROUNDS: Final = 3  # of fitting with compressed items, before those that do not fit stay as they are


class _Looked(NamedTuple):
    """What the passes before the fit leave."""

    cleans: list[Clean]
    sized: list[Sized]
    left: list[Left]
    passed_over: tuple[PassedOver, ...]


class _Chosen(NamedTuple):
    choices: list[Choice]
    left: list[Left]
    measured: Measured


class ContextCompiler:
    """Compiles prompts under one way of counting tokens; safe to share by threads.

    Passes: gather, scope, preselect, sanitise, deduplicate, rank, fit, compress, place, render.
    Each is a pure function that can be called alone; `trace` gives what it saw, did and why. Turns
    of the step come after what else is in, and change none of it.
    """

    def __init__(self, counter: Counter | None = None, *, compress: bool = True) -> None:
        self._counter: Counter = CountedOnce(counter or TokenCounter())
        self._compressor = Compressor(self._counter) if compress else None
        # Turns are compiled again with every turn that follows.
        shorten = self._compressor.of_text if self._compressor else None
        self._piece = lru_cache(PIECES_KEPT)(partial(make_piece, self._counter.count, shorten))

    def compile(self, request: Request, view: View | None = None) -> Prompt:
        """The prompt for one step; equal inputs give equal bytes.

        Prompt and headroom together never exceed the effective window, and no section exceeds its
        budget, counted on the text as it is sent.

        Raises:
            ContextRefusedError: What must be in does not fit. Nothing was cut; the message says
                what is too big, by how much, and what to change.
            ItemRepeatedError: Two items have the same id.
        """
        return self._compile(request, view or View(), None)

    def trace(self, request: Request, view: View | None = None) -> Trace:
        """The same compile, with what each pass saw, did and why; a refusal is part of it.

        Raises:
            ItemRepeatedError: Two items have the same id.
        """
        watch = Watch()
        try:
            prompt = self._compile(request, view or View(), watch)
        except ContextRefusedError as refused:
            return Trace(passes=watch.passes, refused=str(refused))
        return Trace(passes=watch.passes, prompt=prompt)

    def _compile(self, request: Request, view: View, watch: Watch | None) -> Prompt:
        looked = self._looked(request, view, watch)
        tools = sum(s.whole_tokens for s in looked.sized if s.ranked.item.section == "tools")
        bound = bounds(request, tools)
        fixed = write_fixed(request)
        chosen = self._chosen(request, looked, fixed, bound, watch)
        left, choices = [*looked.left, *chosen.left], chosen.choices
        fitted, measured = Fitted(), chosen.measured
        if request.turns:
            fitted, choices, measured = self._with_turns(request, choices, fixed, bound, measured)
            left += fitted.left
        if watch:
            tell_chosen(watch, choices, left)
            tell_placed(watch, place(choices, request.strategy), request.strategy)
            tell_rendered(watch, measured)
        manifest = account(
            Account(request, view.position, bound, fixed, looked.passed_over, fitted.declared),
            choices,
            left,
            measured,
        )
        return Prompt(
            text=measured.text,
            digest=hashlib.sha256(measured.text.encode()).hexdigest(),
            tokens=manifest.tokens,
            sections=manifest.sections,
            manifest=manifest,
        )

    def _looked(self, request: Request, view: View, watch: Watch | None) -> _Looked:
        gathered = gather(request, view)
        scoped, foreign = scope(gathered, request)
        picked, passed = preselect(scoped, question_of(request.step))
        harmless, empty = clean(picked)
        distinct, twins = deduplicate(harmless)
        ranked = self._ranked(distinct, request)
        if watch:
            watch.tell("gather", len(gathered), len(gathered), ())
            tell_kept(watch, "scope", len(gathered), foreign)
            over = [Note(each.section, f"{each.count} passed over", each.reason) for each in passed]
            watch.tell("preselect", len(scoped), len(picked), over)
            tell_kept(watch, "sanitise", len(picked), empty, harmless)
            tell_kept(watch, "deduplicate", len(harmless), twins)
            tell_ranked(watch, ranked)
        return _Looked(distinct, self._sized(ranked, request), [*foreign, *empty, *twins], passed)

    def _ranked(self, cleans: list[Clean], request: Request) -> list[Ranked]:
        return [*rank(cleans, request.step), *map(rank_tool, request.tools)]

    def _sized(self, ranked: list[Ranked], request: Request) -> list[Sized]:
        window = bounds(request, 0).effective_window
        return [size(each, self._counter.count, window * COUNTED_SHARE) for each in ranked]

    def _chosen(
        self,
        request: Request,
        looked: _Looked,
        fixed: Fixed,
        bound: Bounds,
        watch: Watch | None,
    ) -> _Chosen:
        """What is in, with what is too long in a shorter form where that lets it in whole."""
        kept = kept_for_turns(request, bound)
        plain = self._fitted(request, looked.sized, fixed, bound, kept)
        whole = {choice.ranked.item.id for choice in plain.choices if choice.whole}
        tried = short = self._compressed(looked, whole, bound)
        found = plain
        for _ in range(ROUNDS):
            if not short:
                break
            cleans = [short.get(entry.item.id, entry) for entry in looked.cleans]
            sized = self._sized(self._ranked(cleans, request), request)
            found = self._fitted(request, sized, fixed, bound, kept)
            now = {choice.ranked.item.id for choice in found.choices if choice.whole}
            if short.keys() <= now:
                break
            short = {name: entry for name, entry in short.items() if name in now}
        else:
            short = {}
        if watch:
            tell_compressed(watch, len(tried), short)
        return found if short else plain

    def _compressed(self, looked: _Looked, whole: set[str], bound: Bounds) -> dict[str, Clean]:
        if self._compressor is None:
            return {}
        entries = {entry.item.id: entry for entry in looked.cleans}
        hoped = [s for s in looked.sized if s.ranked.item.id in entries.keys() - whole]
        left = bound.effective_window * COMPRESSED_SHARE
        made: dict[str, Clean] = {}
        for sized in sorted(hoped, key=lambda s: (-s.ranked.score, s.ranked.item.id)):
            item = sized.ranked.item
            tokens = sized.whole_tokens
            if tokens > left or tokens * HOPE > bound.section(item.section):
                continue
            left -= tokens
            short = self._compressor.of_item(entries[item.id])
            if short is not None:
                made[item.id] = short
        return made

    def _fitted(
        self, request: Request, items: list[Sized], fixed: Fixed, bound: Bounds, kept: int
    ) -> _Chosen:
        # Counts of pieces add up at line breaks, so that one round does. Where they do not, the
        # overshoot is taken off the room until the text, as it is sent, is inside its bounds.
        short: Tally[Section] = Tally()
        while True:
            room = reserve(items, fixed, bound, short, self._counter.count)
            choices, left = fit(items, room, self._counter.count, kept)
            measured = self._measured(request, fixed, choices)
            over = measured.over(bound)
            if not over:
                return _Chosen(choices, left, measured)
            short.update(over)

    def _measured(self, request: Request, fixed: Fixed, choices: list[Choice]) -> Measured:
        placed = place(choices, request.strategy)
        return measure(render(fixed, placed, request.strategy), self._counter)

    def _with_turns(
        self,
        request: Request,
        others: list[Choice],
        fixed: Fixed,
        bound: Bounds,
        before: Measured,
    ) -> tuple[Fitted, list[Choice], Measured]:
        # What else is in was chosen without a look at the turns: its bytes stay as they were.
        count = self._counter.count
        taken = before.sections["history"] or count(heading("history"))
        new = taken - before.sections["history"]
        free = bound.prompt - sum(before.tokens) - new
        least = bound.section("history") - taken
        room = min(least, max(free - room_for_recall(bound), free // 2))
        while True:
            fitted = fit_turns(request.turns, room, self._piece, count, request.price)
            choices = [*others, *fitted.choices]
            measured = self._measured(request, fixed, choices)
            over = measured.over(bound)
            if not over:
                return fitted, *self._with_recalled(
                    request, fitted, choices, fixed, bound, measured
                )
            room -= sum(over.values())

    def _with_recalled(
        self,
        request: Request,
        fitted: Fitted,
        choices: list[Choice],
        fixed: Fixed,
        bound: Bounds,
        before: Measured,
    ) -> tuple[list[Choice], Measured]:
        free = min(
            room_for_recall(bound),
            bound.section("step") - before.sections["step"],
            bound.prompt - sum(before.tokens),
        )
        recalled = recall(fitted.away, request.step, request.turns, free, self._counter.count)
        while recalled:
            with_them = [*choices, *recalled]
            measured = self._measured(request, fixed, with_them)
            if not measured.over(bound):
                return with_them, measured
            recalled = recalled[:-1]
        return choices, before
