"""From the text of a failure to the lines of a checkout that it points at."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .checkout import (
        Checkout,
        CheckoutError,
        CheckoutUnreadableError,
        GitMissingError,
        NotAFolderError,
    )
    from .frames import Frame, parse_frames
    from .rank import Location, find_relevant_code
else:
    lazily(__name__)

__all__ = [
    "Checkout",
    "CheckoutError",
    "CheckoutUnreadableError",
    "Frame",
    "GitMissingError",
    "Location",
    "NotAFolderError",
    "find_relevant_code",
    "parse_frames",
]
