"""Turns: the earlier exchanges of a step with its model, as history that only grows.

The bytes of earlier turns do not change, so that an endpoint finds them in its cache. If the
next turn would not fit, that is an *epoch*: the oldest results are shortened to a line that names
the handle by which they can be read again, until there is room for a few more turns. An epoch is
declared earlier if that pays, by the prices. Its effect depends only on the turns before it,
so that every later prompt does the same.
"""

from collections.abc import Callable, Sequence
from typing import Final

from cortex.runtime.models import Price

from ..errors import ContextRefusedError
from ..request import SPOKEN, Bounds, Request, Turn, TurnPart
from ..selection.fit import Count
from .compactor import HistoryCompactor, RentOrBuy
from .pieces import Fitted, TurnPiece

RESULTS_SHARE: Final = 1 / 3  # maximum share of the room for all results of one turn
ANSWER_SHARE: Final = 1 / 4  # maximum share of the room for a model's own text
RESULT_TOKENS: Final = 2_000  # of one result
HISTORY_SHARE: Final = 0.5  # share of the remaining history for the turns of a step
PROBLEM_TOKENS: Final = 500  # for the reason why an answer did not fit

Make = Callable[[int, TurnPart, int], TurnPiece]  # from a turn's number, the part, and its tokens


def kept_for_turns(request: Request, bound: Bounds) -> int:
    """Tokens that other material leaves for later turns, from the first prompt of a step on."""
    half = round(bound.budgets.history * HISTORY_SHARE)
    if request.tools:
        return half
    # A model that must answer in a given form may be asked once more.
    return min(half, bound.budgets.headroom + PROBLEM_TOKENS) if request.answer_schema else 0


def fit_turns(
    turns: Sequence[Turn], room: int, make: Make, count: Count, price: Price | None = None
) -> Fitted:
    """The turns in *room* tokens; the oldest results are shortened if they do not fit.

    Args:
        turns: In order.
        room: The tokens available for them.
        make: `make_piece` under *count*; most turns are cached from the previous prompt.
        count: The token counter.
        price: For epochs that pay before there is need of room.

    Raises:
        ContextRefusedError: There is no room for the newest turn.
    """
    standing = HistoryCompactor(room, count, RentOrBuy(price or Price()))
    for turn in turns:
        spoken = sum(said.kind in SPOKEN for said in turn.said)
        each = min(RESULT_TOKENS, int(room * RESULTS_SHARE) // max(len(turn.said) - spoken, 1))
        own = int(room * ANSWER_SHARE) // max(spoken, 1)
        standing.add([make(turn.number, s, own if s.kind in SPOKEN else each) for s in turn.said])
    if standing.tokens > room:
        raise ContextRefusedError(
            f"turn {turns[-1].number} of the step",
            standing.tokens,
            max(room, 0),
            "budgets.history",
            "raise budgets.history and the effective window",
        )
    return standing.fitted()
