"""P = f(H, G): from a request and a view of the store to a prompt, without I/O, clock or model."""

import hashlib
from collections import Counter as Tally
from functools import lru_cache, partial
from typing import Final

from .fit import Choice, Sized, fit, size
from .manifest import Measured, account, measure
from .material import Left, clean, deduplicate, gather, scope
from .prompt import Prompt
from .rank import rank
from .render import Fixed, heading, place, render, write_fixed
from .request import Bounds, Request, Section, Turn, View, bounds
from .room import reserve
from .tokens import Counter, TokenCounter
from .tools import rank_tool
from .turns import Fitted, fit_turns, kept_for_turns, make_piece

PIECES_KEPT: Final = 256  # of turns


class ContextCompiler:
    """Compiles prompts under one way of counting tokens; safe to share by threads.

    Passes: gather, scope, sanitise, deduplicate, rank, fit, place, render. Each is a pure function
    that can be called alone. Turns of the step come after what else is in, and change none of it.
    """

    def __init__(self, counter: Counter | None = None) -> None:
        self._counter: Counter = counter or TokenCounter()
        # Turns are compiled again with every turn that follows.
        self._piece = lru_cache(PIECES_KEPT)(partial(make_piece, self._counter.count))

    def compile(self, request: Request, view: View | None = None) -> Prompt:
        """The prompt for one step; equal inputs give equal bytes.

        Prompt and headroom together never exceed the effective window, and no section exceeds its
        budget, counted on the text as it is sent.

        Raises:
            ContextRefusedError: What must be in does not fit. Nothing was cut; the message says
                what is too big, by how much, and what to change.
            ItemRepeatedError: Two items have the same id.
        """
        view = view or View()
        items, left = self._considered(request, view)
        tools = sum(s.whole_tokens for s in items if s.ranked.item.section == "tools")
        bound = bounds(request, tools)
        fixed = write_fixed(request)
        kept = kept_for_turns(request, bound)
        choices, squeezed, measured = self._fitted(items, fixed, bound, kept)
        epochs = 0
        if request.turns:
            turns, measured = self._with_turns(request.turns, choices, fixed, bound, measured)
            choices, squeezed = [*choices, *turns.choices], [*squeezed, *turns.left]
            epochs = turns.epochs
        manifest = account(
            request, view.position, bound, fixed, choices, [*left, *squeezed], measured, epochs
        )
        text = measured.text
        return Prompt(
            text=text,
            digest=hashlib.sha256(text.encode()).hexdigest(),
            tokens=manifest.tokens,
            sections=manifest.sections,
            manifest=manifest,
        )

    def _considered(self, request: Request, view: View) -> tuple[list[Sized], list[Left]]:
        scoped, foreign = scope(gather(request, view), request)
        harmless, empty = clean(scoped)
        distinct, twins = deduplicate(harmless)
        ranked = [*rank(distinct, request.step), *map(rank_tool, request.tools)]
        return [size(r, self._counter.count) for r in ranked], [*foreign, *empty, *twins]

    def _fitted(
        self, items: list[Sized], fixed: Fixed, bound: Bounds, kept: int
    ) -> tuple[list[Choice], list[Left], Measured]:
        # Counts of pieces add up at line breaks, so that one round does. Where they do not, the
        # overshoot is taken off the room until the text, as it is sent, is inside its bounds.
        short: Tally[Section] = Tally()
        while True:
            room = reserve(items, fixed, bound, short, self._counter.count)
            choices, left = fit(items, room, self._counter.count, kept)
            measured = measure(render(fixed, place(choices)), self._counter)
            over = measured.over(bound)
            if not over:
                return choices, left, measured
            short.update(over)

    def _with_turns(
        self,
        turns: tuple[Turn, ...],
        others: list[Choice],
        fixed: Fixed,
        bound: Bounds,
        before: Measured,
    ) -> tuple[Fitted, Measured]:
        # What else is in was chosen without a look at the turns: its bytes stay as they were.
        count = self._counter.count
        taken = before.sections["history"] or count(heading("history"))
        new = taken - before.sections["history"]
        room = min(bound.section("history") - taken, bound.prompt - sum(before.tokens) - new)
        while True:
            fitted = fit_turns(turns, room, self._piece, count)
            placed = place([*others, *fitted.choices])
            measured = measure(render(fixed, placed), self._counter)
            over = measured.over(bound)
            if not over:
                return fitted, measured
            room -= sum(over.values())
