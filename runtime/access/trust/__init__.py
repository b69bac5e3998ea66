"""Folder trust: whether a home that came from elsewhere may act for this user."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .acting import SILENT, UNFINISHED, Acting, Seen, acting_in
    from .assessment import HomeState, TrustAssessment, assess, learn_all
    from .deciding import (
        VARIABLE,
        assess_at,
        digest_at,
        give_trust,
        note_made,
        reasons_against,
        require_trust,
        take_unrecorded,
        withdraw_trust,
    )
    from .errors import TrustError, TrustStoreError, TrustVariableError, UntrustedHomeError
    from .git_index import objects_in_git
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
    "TrustAssessment",
    "TrustError",
    "TrustRecord",
    "TrustStoreError",
    "TrustVariableError",
    "UntrustedHomeError",
    "acting_in",
    "assess",
    "assess_at",
    "digest_at",
    "give_trust",
    "learn_all",
    "note_made",
    "objects_in_git",
    "reasons_against",
    "require_trust",
    "take_unrecorded",
    "withdraw_trust",
]
