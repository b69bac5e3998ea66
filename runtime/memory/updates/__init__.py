"""Which statements are current: found, ranked, and followed from one to the next."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .answering import answerable
    from .chains import Chain, Facts, Step
    from .ordering import asks_for_past, history, order_current
    from .replacing import may_replace, replaced
    from .statements import LIKELY, SURE, Hit, Replacement, Statement
    from .things import is_fact
    from .vocabulary import COUNT, MONTH
else:
    lazily(__name__)

__all__ = [
    "COUNT",
    "LIKELY",
    "MONTH",
    "SURE",
    "Chain",
    "Facts",
    "Hit",
    "Replacement",
    "Statement",
    "Step",
    "answerable",
    "asks_for_past",
    "history",
    "is_fact",
    "may_replace",
    "order_current",
    "replaced",
]
