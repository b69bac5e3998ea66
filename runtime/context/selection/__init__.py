"""Selects the material of a prompt: gathers, sanitises, ranks, fits and compresses it."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .compress import Compressor
    from .fit import fit, reserve, size
    from .gather import Gathered, gather, scope
    from .preselect import preselect
    from .rank import rank
else:
    lazily(__name__)

__all__ = [
    "Compressor",
    "Gathered",
    "fit",
    "gather",
    "preselect",
    "rank",
    "reserve",
    "scope",
    "size",
]
