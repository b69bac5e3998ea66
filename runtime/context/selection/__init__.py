"""What of the material goes into a prompt: gathered, made harmless, ranked, fitted, compressed."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .compress import Compressor
    from .fit import Choice, Sized, fit, size
    from .gather import Gathered, gather, scope
    from .material import Clean, Left, Ranked, clean, deduplicate
    from .preselect import preselect
    from .rank import rank
    from .room import reserve
    from .sanitise import sanitise
else:
    lazily(__name__)

__all__ = [
    "Choice",
    "Clean",
    "Compressor",
    "Gathered",
    "Left",
    "Ranked",
    "Sized",
    "clean",
    "deduplicate",
    "fit",
    "gather",
    "preselect",
    "rank",
    "reserve",
    "sanitise",
    "scope",
    "size",
]
