"""P = f(H, G): from a request and a view of the store to a prompt, without I/O, clock or model."""

import hashlib
from collections import Counter as Tally
from functools import lru_cache, partial
from typing import Final, NamedTuple

from cortex.runtime.cache import Artefacts

from .blocks import encode, with_breakpoints
from .counted import CountedOnce
from .errors import ContextRefusedError
from .history.pieces import Fitted, make_piece
from .history.recall import recall, room_for_recall
from .history.turns import fit_turns, kept_for_turns
from .keep import begins, behind, declare, overgrown
from .layout.render import (
    Fixed,
    Placed,
    base_texts,
    edited,
    heading,
    kept_lines,
    place,
    render,
    write_fixed,
)
from .layout.tools import rank_tool
from .manifest import Account, Measured, account, measure
from .material import Choice, Clean, Left, Ranked, Sized, chars_of, clean, deduplicate
from .prompt import PassedOver, Prompt
from .prompts.editing import Edits
from .request import Bounds, Request, Section, View, bounds
from .segments import Prefix, Why
from .selection.compress import MOST_CHARS, PROSE, UNTRIED, Compressor, cost, kind_of
from .selection.fit import fit, reserve, size
from .selection.gather import gather, scope
from .selection.item_index import Views
from .selection.preselect import preselect
from .selection.rank import in_form, question_of, rank
from .tokens import Counter, TokenCounter
from .trace_notes import (
    notes_of,
    tell_chosen,
    tell_compressed,
    tell_kept,
    tell_placed,
    tell_ranked,
    tell_rendered,
)
from .tracing import Trace, Watch

PIECES_KEPT: Final = 512  # of turns
COUNTED_SHARE: Final = 12  # characters a token of the window; a longer item cannot fit whole
COMPRESSED_SHARE: Final = 3  # times the window: how much text compression is tried on
CROWDED_SHARE: Final = 6  # the same for a whole priority class, which is then not counted
HOPE: Final = 0.4  # share of its tokens: prose that would not fit at this size is not condensed


class _Looked(NamedTuple):
    """The state after the passes before the fit."""

    cleans: list[Clean]
    sized: list[Sized]
    left: list[Left]
    passed_over: tuple[PassedOver, ...]


class _Chosen(NamedTuple):
    choices: list[Choice]
    left: list[Left]
    measured: Measured
    forms: frozenset[str] = frozenset()  # items in another form

    def noting(self, untried: set[str]) -> "_Chosen":
        """The same, with the reasons why items were not compressed."""

        def why(item_id: str, reason: str) -> str:
            return f"{reason}; {UNTRIED}" if item_id in untried else reason

        choices = [c._replace(reason=why(c.ranked.item.id, c.reason)) for c in self.choices]
        left = [each._replace(reason=why(each.item.id, each.reason)) for each in self.left]
        return _Chosen(choices, left, self.measured, self.forms)


def _forms_of(sized: list[Sized]) -> frozenset[str]:
    return frozenset(each.ranked.item.id for each in sized if each.ranked.form)


def _best_first(sized: list[Sized]) -> list[Sized]:
    return sorted(sized, key=lambda each: (-each.ranked.score, each.ranked.item.id))


class ContextCompiler:
    """Compiles prompts with one token counter; thread-safe.

    Passes: gather, scope, preselect, sanitise, deduplicate, rank, fit, compress, place, render.
    Each is a pure function that can be called alone; `trace` has what it saw, did and why. Turns
    of the step come after all other material, and do not change it. *artefacts* keeps the shorter
    forms of texts, which do not depend on anything else.
    """

    def __init__(
        self,
        counter: Counter | None = None,
        *,
        compress: bool = True,
        artefacts: Artefacts | None = None,
    ) -> None:
        self._views = Views()
        self._counter: Counter = CountedOnce(counter or TokenCounter())
        self._compressor = Compressor(self._counter, artefacts) if compress else None
        # Cached, because every later prompt compiles its turns again.
        make = partial(make_piece, self._counter.count, self._compressor)
        self._piece = lru_cache(PIECES_KEPT)(make)

    def compile(self, request: Request, view: View | None = None) -> Prompt:
        """The prompt for one step; equal inputs give equal bytes.

        Prompt and headroom together never exceed the effective window, and no section exceeds its
        budget, counted on the text that is sent.

        Raises:
            ContextRefusedError: Required material does not fit. Nothing was cut; the message says
                what is too big, by how much, and what to change.
            EditUnfitError: A required edit cannot be applied.
            ItemRepeatedError: Two items have the same id.
        """
        return self._compile(request, view or View(), None)

    def trace(self, request: Request, view: View | None = None) -> Trace:
        """The same, with a record of each pass; it includes a refusal.

        Raises:
            ItemRepeatedError: Two items have the same id.
        """
        watch = Watch()
        try:
            prompt = self._compile(request, view or View(), watch)
        except ContextRefusedError as refused:
            return Trace(passes=watch.passes, chunks=watch.chunks, refused=str(refused))
        return Trace(passes=watch.passes, chunks=watch.chunks, prompt=prompt)

    def _compile(self, request: Request, view: View, watch: Watch | None) -> Prompt:
        looked = self._looked(request, view, watch)
        tools = sum(s.whole_tokens for s in looked.sized if s.ranked.item.section == "tools")
        bound = bounds(request, tools)
        edits, unedited = Edits(request.edits), write_fixed(request)
        fixed = edited(unedited, edits)
        chosen = self._chosen(request, looked, fixed, bound, watch)
        left, choices = [*looked.left, *chosen.left], chosen.choices
        fitted, measured = Fitted(), chosen.measured
        if request.turns:
            fitted, choices, measured = self._with_turns(request, choices, fixed, bound, measured)
            left += fitted.left
        placed, measured, why = self._kept(request, view.prefix, choices, fixed, bound, measured)
        turn = request.turns[-1].number + 1 if request.turns else 0
        declared = declare(measured, view.prefix, fitted.declared, turn, why)
        if watch:
            tell_chosen(watch, choices, left)
            tell_placed(watch, placed)
            tell_rendered(watch, measured)
        manifest = account(
            Account(
                request,
                *(view.position, bound, fixed, looked.passed_over, declared),
                edits.notes(base_texts(unedited, placed), kept_lines(unedited)),
            ),
            choices,
            left,
            measured,
        )
        blocks = with_breakpoints(measured.blocks, lasting=bool(request.tools))
        encoded = encode(blocks, measured.data)
        return Prompt(
            blocks=blocks,
            encoded=encoded,
            digest=hashlib.sha256(encoded).hexdigest(),
            tokens=manifest.tokens,
            sections=manifest.sections,
            manifest=manifest,
        )

    def _kept(
        self,
        request: Request,
        before: Prefix,
        choices: list[Choice],
        fixed: Fixed,
        bound: Bounds,
        natural: Measured,
    ) -> tuple[list[Placed], Measured, Why | None]:
        """Keep the order of the previous prompt if that keeps its bytes; otherwise say why not."""
        placed = place(choices, request.strategy)
        if begins(natural.data, before):
            return placed, natural, None
        moved = behind(placed, before)
        measured = measure(render(fixed, moved, Edits(request.edits)), self._counter)
        if not begins(measured.data, before):
            return placed, natural, "changed"
        if measured.over(bound):
            return placed, natural, "room"
        if overgrown(measured, natural, before):
            return placed, natural, "order"
        return moved, measured, None

    def _looked(self, request: Request, view: View, watch: Watch | None) -> _Looked:
        with self._views.lock:
            gathered = gather(request, self._views.index(view.items))
            scoped, foreign, uncarried = scope(gathered, request)
            window = bounds(request, 0).effective_window
            picked, passed = preselect(gathered, scoped, question_of(request.step), window)
        harmless, empty = clean(picked)
        distinct, twins = deduplicate(harmless)
        ranked = self._ranked(distinct, request)
        if watch:
            watch.tell("gather", len(gathered), len(gathered), ())
            tell_kept(watch, "scope", len(gathered), foreign, passed=uncarried)
            watch.tell("preselect", len(scoped), len(picked), notes_of(passed))
            tell_kept(watch, "sanitise", len(picked), empty, harmless)
            tell_kept(watch, "deduplicate", len(harmless), twins)
            tell_ranked(watch, ranked)
        left = [*foreign, *empty, *twins]
        return _Looked(distinct, self._sized(ranked, request), left, uncarried + passed)

    def _ranked(self, cleans: list[Clean], request: Request) -> list[Ranked]:
        return [*rank(cleans, request.step), *map(rank_tool, request.tools)]

    def _sized(self, ranked: list[Ranked], request: Request) -> list[Sized]:
        window = bounds(request, 0).effective_window
        chars: Tally[int] = Tally()
        for each in ranked:
            chars[each.item.priority] += 0 if each.item.must_include else chars_of(each)
        most = window * COUNTED_SHARE
        crowded = {
            priority for priority, sum_of in chars.items() if sum_of > window * CROWDED_SHARE
        }
        return [
            size(each, self._counter.count, 0 if each.item.priority in crowded else most)
            for each in ranked
        ]

    def _chosen(
        self,
        request: Request,
        looked: _Looked,
        fixed: Fixed,
        bound: Bounds,
        watch: Watch | None,
    ) -> _Chosen:
        """Choose the items: data in its exact form, and too long prose in condensed form.

        A form is included only whole. If it does not fit, chunks of the source may.
        """
        kept = kept_for_turns(request, bound)
        entries = {entry.item.id: entry for entry in looked.cleans}
        short, untried = self._exact(looked.sized, entries)
        found = self._fitted(request, self._in_form(looked.sized, short), fixed, bound, kept)
        condensed, too_long = self._condensed(looked.sized, entries, found, bound)
        short, untried = short | condensed, untried | too_long
        tried = len(short)
        while True:
            whole = {choice.ranked.item.id for choice in found.choices if choice.whole}
            fitting = {name: entry for name, entry in short.items() if name in whole}
            if found.forms == fitting.keys() == short.keys():
                break
            short = fitting if found.forms == short.keys() else short
            found = self._fitted(request, self._in_form(looked.sized, short), fixed, bound, kept)
        if watch:
            tell_compressed(watch, tried, short)
        return found.noting(untried - short.keys())

    def _exact(
        self, sized: list[Sized], entries: dict[str, Clean]
    ) -> tuple[dict[str, Clean], set[str]]:
        """Data in its exact form, the best first, within a limit; and the items not tried."""
        made: dict[str, Clean] = {}
        untried: set[str] = set()
        if self._compressor is None:
            return made, untried
        left = MOST_CHARS
        for each in _best_first(sized):
            entry = entries.get(each.ranked.item.id)
            kind = kind_of(entry) if entry else None
            if entry is None or kind is None or kind in PROSE:
                continue
            if len(entry.text) > left:
                untried.add(entry.item.id)
                continue
            left -= len(entry.text)
            if short := self._compressor.of_item(entry):
                made[entry.item.id] = short
        return made, untried

    def _condensed(
        self, sized: list[Sized], entries: dict[str, Clean], found: _Chosen, bound: Bounds
    ) -> tuple[dict[str, Clean], set[str]]:
        """Prose that does not fit whole, condensed; and items that are too long even so."""
        whole = {choice.ranked.item.id for choice in found.choices if choice.whole}
        made: dict[str, Clean] = {}
        untried: set[str] = set()
        if self._compressor is None:
            return made, untried
        left, left_chars = bound.effective_window * COMPRESSED_SHARE, MOST_CHARS
        for each in _best_first(sized):
            item, tokens = each.ranked.item, each.whole_tokens
            entry = entries.get(item.id)
            if entry is None or item.id in whole or (kind := kind_of(entry)) not in PROSE:
                continue
            chars = cost(entry.text, kind)
            too_long = tokens > left or tokens * HOPE > bound.section(item.section)
            if too_long or chars > left_chars:
                untried.add(item.id)
                continue
            left, left_chars = left - tokens, left_chars - chars
            if short := self._compressor.of_item(entry):
                made[item.id] = short
        return made, untried

    def _in_form(self, sized: list[Sized], short: dict[str, Clean]) -> list[Sized]:
        """*sized*, with the forms of the items in *short*."""
        return [
            size(in_form(each.ranked, short[name]), self._counter.count)
            if (name := each.ranked.item.id) in short
            else each
            for each in sized
        ]

    def _fitted(
        self, request: Request, items: list[Sized], fixed: Fixed, bound: Bounds, kept: int
    ) -> _Chosen:
        # Counts of parts add up at line breaks, so that one round is enough. If they do not, the
        # overshoot is subtracted from the room until the sent text is within its bounds.
        short: Tally[Section] = Tally()
        while True:
            room = reserve(items, fixed, bound, short, self._counter.count)
            choices, left = fit(items, room, self._counter.count, kept)
            measured = self._measured(request, fixed, choices)
            over = measured.over(bound)
            if not over:
                return _Chosen(choices, left, measured, _forms_of(items))
            short.update(over)

    def _measured(self, request: Request, fixed: Fixed, choices: list[Choice]) -> Measured:
        placed = place(choices, request.strategy)
        return measure(render(fixed, placed, Edits(request.edits)), self._counter)

    def _with_turns(
        self,
        request: Request,
        others: list[Choice],
        fixed: Fixed,
        bound: Bounds,
        before: Measured,
    ) -> tuple[Fitted, list[Choice], Measured]:
        # All other material was chosen without the turns, so that its bytes stay the same.
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
