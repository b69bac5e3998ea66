"""Turns: what a step's model said and saw before, as history that only grows.

The bytes of earlier turns stay as they are, so that an endpoint finds them in its cache. Where the
next turn would not fit, that is an *epoch*: the oldest results are shortened to a line that names
the handle by which they can be read again, until there is room for some turns more. An epoch is
declared earlier where prices say that it pays. What it did follows from the turns before it alone,
so that every later prompt does the same.
"""

from collections.abc import Callable, Sequence
from typing import Final

from cortex.runtime.models import Price

from ..errors import ContextRefusedError
from ..request import Bounds, Request, Turn, TurnPart
from ..selection.fit import Count
from .compactor import HistoryCompactor, RentOrBuy
from .pieces import Fitted, TurnPiece

RESULTS_SHARE: Final = 1 / 3  # of the room: what all results of one turn take at most
ANSWER_SHARE: Final = 1 / 4  # of the room: what a model's own text takes at most
RESULT_TOKENS: Final = 2_000  # of one result
HISTORY_SHARE: Final = 0.5  # of the history that other material leaves to the turns of a step
PROBLEM_TOKENS: Final = 500  # that it takes to say why an answer did not fit

Make = Callable[
    [int, TurnPart, int], TurnPiece
]  # of a turn's number, what was said, and its tokens


def kept_for_turns(request: Request, bound: Bounds) -> int:
    """Tokens that other material leaves, from the first prompt of a step on, to its later turns."""
    half = round(bound.budgets.history * HISTORY_SHARE)
    if request.tools:
        return half
    # One that must answer in a given form may be asked once more.
    return min(half, bound.budgets.headroom + PROBLEM_TOKENS) if request.answer_schema else 0


def fit_turns(
    turns: Sequence[Turn], room: int, make: Make, count: Count, price: Price | None = None
) -> Fitted:
    """The turns in *room* tokens, the oldest results shortened where it is full.

    Args:
        turns: In order.
        room: What there is for them.
        make: `make_piece` under *count*; most turns were made for the prompt before.
        count: How tokens are counted.
        price: By which epochs are declared before there is need of room.

    Raises:
        ContextRefusedError: There is no room for the newest turn.
    """
    standing = HistoryCompactor(room, count, RentOrBuy(price or Price()))
    for turn in turns:
        results = sum(said.kind != "answer" for said in turn.said)
        each = min(RESULT_TOKENS, int(room * RESULTS_SHARE) // max(results, 1))
        own = int(room * ANSWER_SHARE)
        standing.add([make(turn.number, s, own if s.kind == "answer" else each) for s in turn.said])
    if standing.tokens > room:
        raise ContextRefusedError(
            f"turn {turns[-1].number} of the step",
            standing.tokens,
            max(room, 0),
            "budgets.history",
            "raise budgets.history and the effective window",
        )
    return standing.fitted()
