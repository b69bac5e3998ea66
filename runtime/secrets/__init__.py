"""Secrets: where they come from, what they look like, and how they are kept out of what is kept."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .mask import (
        Mask,
        MaskedBlobs,
        MaskedPieces,
        MaskedTextError,
        holds_mask,
        masks_in,
        refuse_masked,
    )
    from .redaction import HIDDEN, Redactor, redacted
    from .shapes import mask_shapes
    from .sources import (
        KEYRING,
        LOOKS_SECRET,
        SecretUnavailableError,
        is_set,
        named_in,
        place_of,
        remedy_of,
        secret_value,
        with_names,
    )
else:
    lazily(__name__)

__all__ = [
    "HIDDEN",
    "KEYRING",
    "LOOKS_SECRET",
    "Mask",
    "MaskedBlobs",
    "MaskedPieces",
    "MaskedTextError",
    "Redactor",
    "SecretUnavailableError",
    "holds_mask",
    "is_set",
    "mask_shapes",
    "masks_in",
    "named_in",
    "place_of",
    "redacted",
    "refuse_masked",
    "remedy_of",
    "secret_value",
    "with_names",
]
