"""Folder trust: whether a home that came from somewhere may act for this user."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .acting import SILENT, UNFINISHED, Acting, Seen, acting_in
    from .deciding import (
        VARIABLE,
        digest_at,
        give_trust,
        note_made,
        reasons_against,
        require_trust,
        standing_at,
        take_unrecorded,
        withdraw_trust,
    )
    from .errors import TrustError, TrustStoreError, TrustVariableError, UntrustedHomeError
    from .git_index import objects_in_git
    from .standing import HomeState, Standing, learn_all, standing_of
    from .store import TrustRecord
else:
    lazily(__name__)

__all__ = [
    "SILENT",
    "UNFINISHED",
    "VARIABLE",
    "Acting",
    "HomeState",
    "Seen",
    "Standing",
    "TrustError",
    "TrustRecord",
    "TrustStoreError",
    "TrustVariableError",
    "UntrustedHomeError",
    "acting_in",
    "digest_at",
    "give_trust",
    "learn_all",
    "note_made",
    "objects_in_git",
    "reasons_against",
    "require_trust",
    "standing_at",
    "standing_of",
    "take_unrecorded",
    "withdraw_trust",
]
