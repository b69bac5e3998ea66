"""Grants: who may come in, and what they may do; what holds is a fold over these."""

from ..event import Event


class GrantGiven(Event, frozen=True, kw_only=True, tag="grant.given"):
    """From now on, a client may do only this; this replaces its earlier grant."""

    belongs = ("grants", "")  # one stream: who holds the newest version knows them all
    routing = "client"

    client: str
    token_sha256: str  # hex; the token itself is shown once and kept nowhere
    publish: tuple[str, ...] = ()  # topic patterns: exact, "family.*", "x.plugin.*" or "*"
    subscribe: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    work: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # components that it may host, beside its own name
    expires_ns: int = 0  # UTC nanoseconds; 0 for never
    certificate: str = ""  # SHA-256 of the one certificate it must show over TLS, hex
    approve: tuple[str, ...] = ()  # gates it may answer: "process/gate", "*" for either; or "*"
    limits: dict[str, int] = {}  # by key of [limits], where they are not those of config.toml
    # Absolute folders: the work that it asks for is in one of them. Empty: in any folder.
    workspaces: tuple[str, ...] = ()


class GrantRevoked(Event, frozen=True, kw_only=True, tag="grant.revoked"):
    """A client was revoked: it is disconnected, and all that it left is removed."""

    belongs = ("grants", "")  # one stream: who holds the newest version knows them all
    routing = "client"

    client: str
    reason: str = ""
    # What it left at the hub and is to find there again: "deadlines", "subscriptions",
    # "announcements". All else goes in the same transaction.
    keeps: tuple[str, ...] = ()
