"""CTX: shorter text that a model reads directly, exact for data and condensed for prose."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .checking import Report, check
    from .decoding import Decoded, decode
    from .document import Comment, Document, Notes
    from .encoding import encode
    from .errors import CtxBoundError, CtxFormatError, CtxSourceError
    from .package import KINDS, Counter, Kind, Mode, Package, Part, kind_of, kind_of_name
    from .prose import checked_draft, condense, extract, sentences_that_cover
    from .sources.sources import read as read_source
else:
    lazily(__name__)

__all__ = [
    "KINDS",
    "Comment",
    "Counter",
    "CtxBoundError",
    "CtxFormatError",
    "CtxSourceError",
    "Decoded",
    "Document",
    "Kind",
    "Mode",
    "Notes",
    "Package",
    "Part",
    "Report",
    "check",
    "checked_draft",
    "condense",
    "decode",
    "encode",
    "extract",
    "kind_of",
    "kind_of_name",
    "read_source",
    "sentences_that_cover",
]
