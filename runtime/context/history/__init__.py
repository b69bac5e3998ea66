"""The turns of a step in its prompts: fitted, compacted by epochs, and recalled."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .compactor import HistoryCompactor, RentOrBuy
    from .pieces import Fitted, TurnPiece, make_piece
    from .recall import recall
    from .turns import fit_turns
else:
    lazily(__name__)

__all__ = [
    "Fitted",
    "HistoryCompactor",
    "RentOrBuy",
    "TurnPiece",
    "fit_turns",
    "make_piece",
    "recall",
]
