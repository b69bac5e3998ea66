"""Who may use the bus and for what: grants, tokens, certificates, and the masking of secrets."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from cortex.bus import OWNER, person_of, root_of

    from .certificates import (
        Certificate,
        client_authority,
        client_certificate,
        hub_certificate,
        read_certificate,
        renew_hub_certificate,
    )
    from .errors import GrantInvalidError, KeyFileError, NoSuchClientError, TokenFileError
    from .grants import ANYWHERE, GRANTS, Grant, Grants, folded, grants_in
    from .holdings import HeldDeadline, HeldSubscription, Holdings, holdings_of
    from .hub_access import HubAccess
    from .issuing import TOPICS, Terms, change, found, grants_of, issue, revoke
    from .owners import RecordedOwners
    from .patterns import pair_of
    from .permissions import GUARDED, PUBLISH, READ, SUBSCRIBE, WORK, Authorizer, Permissions
    from .tokens import digest_of, new_token, owner_token, read_token, token_file
else:
    lazily(__name__)

__all__ = [
    "ANYWHERE",
    "GRANTS",
    "GUARDED",
    "OWNER",
    "PUBLISH",
    "READ",
    "SUBSCRIBE",
    "TOPICS",
    "WORK",
    "Authorizer",
    "Certificate",
    "Grant",
    "GrantInvalidError",
    "Grants",
    "HeldDeadline",
    "HeldSubscription",
    "Holdings",
    "HubAccess",
    "KeyFileError",
    "NoSuchClientError",
    "Permissions",
    "RecordedOwners",
    "Terms",
    "TokenFileError",
    "change",
    "client_authority",
    "client_certificate",
    "digest_of",
    "folded",
    "found",
    "grants_in",
    "grants_of",
    "holdings_of",
    "hub_certificate",
    "issue",
    "new_token",
    "owner_token",
    "pair_of",
    "person_of",
    "read_certificate",
    "read_token",
    "renew_hub_certificate",
    "revoke",
    "root_of",
    "token_file",
]
