"""Grants: which clients are admitted, and what they may do; a fold over these is in force."""

from ..event import Event


class GrantGiven(Event, frozen=True, kw_only=True, tag="grant.given"):
    """From now on, a client may do only this; this replaces its earlier grant."""

    belongs = ("grants", "")  # one stream: a writer at the newest version has seen all grants
    routing = "client"

    client: str
    token_sha256: str  # hex; the token itself is shown once and not stored
    publish: tuple[str, ...] = ()  # topic patterns: exact, "family.*", "x.plugin.*" or "*"
    subscribe: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    work: tuple[str, ...] = ()
    names: tuple[str, ...] = ()  # components that it may host, beside its own name
    expires_ns: int = 0  # UTC nanoseconds; 0 for never
    certificate: str = ""  # SHA-256 of the one certificate it must show over TLS, hex
    approve: tuple[str, ...] = ()  # gates it may answer: "process/gate", "*" for either; or "*"
    limits: dict[str, int] = {}  # by key of [limits], if they differ from config.toml
    # Absolute folders: the client may request work only there. Empty: in any folder.
    workspaces: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()  # scopes in which a person lays down directives by it; or "*"


class GrantRevoked(Event, frozen=True, kw_only=True, tag="grant.revoked"):
    """A client was revoked: the hub disconnects it and removes what it left."""

    belongs = ("grants", "")  # one stream: a writer at the newest version has seen all grants
    routing = "client"

    client: str
    reason: str = ""
    # What the hub keeps for its return: "deadlines", "subscriptions",
    # "announcements". The same transaction removes everything else.
    keeps: tuple[str, ...] = ()
