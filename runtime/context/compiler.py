"""P = f(H, G): from a request and a view of the store to a prompt, without I/O, clock or model."""

import hashlib
from collections import Counter as Tally
from functools import lru_cache, partial
from typing import Final, NamedTuple

from .errors import ContextRefusedError
from .history.pieces import Fitted, make_piece
from .history.recall import recall, room_for_recall
from .history.turns import fit_turns, kept_for_turns
from .layout.keep import begins, behind, declare, overgrown
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
from .prompt import PassedOver, Prompt
from .prompts.editing import Edits
from .request import Bounds, Request, Section, View, bounds
from .segments import Prefix, Why
from .selection.compress import MOST_CHARS, UNTRIED, Compressor, cost, kind_of
from .selection.fit import Choice, Sized, chars_of, fit, size
from .selection.gather import gather, scope
from .selection.item_index import Views
from .selection.material import Clean, Left, Ranked, clean, deduplicate
from .selection.preselect import preselect
from .selection.rank import question_of, rank
from .selection.room import reserve
from .tokens import CountedOnce, Counter, TokenCounter
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
COUNTED_SHARE: Final = 12  # characters a token of the window, beyond which no item can be in whole
COMPRESSED_SHARE: Final = 3  # times the window: how much is compressed in the hope that it fits
CROWDED_SHARE: Final = 6  # the same of a whole class of priority: it is not counted to find out
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

    def noting(self, untried: set[str]) -> "_Chosen":
        """The same, with why items that might have been compressed were not."""

        def why(item_id: str, reason: str) -> str:
            return f"{reason}; {UNTRIED}" if item_id in untried else reason

        choices = [c._replace(reason=why(c.ranked.item.id, c.reason)) for c in self.choices]
        left = [each._replace(reason=why(each.item.id, each.reason)) for each in self.left]
        return _Chosen(choices, left, self.measured)


class ContextCompiler:
    """Compiles prompts under one way of counting tokens; safe to share by threads.

    Passes: gather, scope, preselect, sanitise, deduplicate, rank, fit, compress, place, render.
    Each is a pure function that can be called alone; `trace` gives what it saw, did and why. Turns
    of the step come after what else is in, and change none of it.
    """

    def __init__(self, counter: Counter | None = None, *, compress: bool = True) -> None:
        self._views = Views()
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
            EditUnfitError: An edit that must be in cannot be.
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
        return Prompt(
            text=measured.text,
            digest=hashlib.sha256(measured.text.encode()).hexdigest(),
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
        """In the order of the prompt before, where that keeps its bytes; else why it does not."""
        placed = place(choices, request.strategy)
        if begins(natural.text, before):
            return placed, natural, None
        moved = behind(placed, before)
        written = render(fixed, moved, Edits(request.edits))
        if not begins("".join(each.text for each in written), before):
            return placed, natural, "changed"
        measured = measure(written, self._counter)
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
        """What is in, with what is too long in a shorter form where that lets it in whole."""
        kept = kept_for_turns(request, bound)
        plain = self._fitted(request, looked.sized, fixed, bound, kept)
        whole = {choice.ranked.item.id for choice in plain.choices if choice.whole}
        tried, untried = self._compressed(looked, whole, bound)
        short = tried
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
        return (found if short else plain).noting(untried)

    def _compressed(
        self, looked: _Looked, whole: set[str], bound: Bounds
    ) -> tuple[dict[str, Clean], set[str]]:
        """Items in a shorter form, and those that were too long to try."""
        if self._compressor is None:
            return {}, set()
        entries = {entry.item.id: entry for entry in looked.cleans}
        not_whole = entries.keys() - whole
        hoped = [s for s in looked.sized if s.ranked.item.id in not_whole]
        left, left_chars = bound.effective_window * COMPRESSED_SHARE, MOST_CHARS
        made: dict[str, Clean] = {}
        untried: set[str] = set()
        for sized in sorted(hoped, key=lambda s: (-s.ranked.score, s.ranked.item.id)):
            item = sized.ranked.item
            tokens = sized.whole_tokens
            kind = kind_of(entries[item.id])
            if kind is None:
                continue
            chars = cost(entries[item.id].text, kind)
            too_long = tokens > left or tokens * HOPE > bound.section(item.section)
            if too_long or chars > left_chars:
                untried.add(item.id)
                continue
            left, left_chars = left - tokens, left_chars - chars
            short = self._compressor.of_item(entries[item.id])
            if short is not None:
                made[item.id] = short
        return made, untried

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
        return measure(render(fixed, placed, Edits(request.edits)), self._counter)

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
