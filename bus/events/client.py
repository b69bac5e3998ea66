"""Clients of the bus: connections, disconnections, limits and denials."""

from ..event import Event


class ClientConnected(Event, frozen=True, kw_only=True, tag="client.connected"):
    """A client connected over a carrier."""

    belongs = ("client", "client")

    client: str
    carrier: str  # "inproc", "ipc", "tcp" or "tls"
    address: str = ""  # where it came from; empty on one machine
    certificate: str = ""  # SHA-256 of the certificate required by its grant and shown, hex
    times: int = 1  # since the last of these; a client that comes and goes is reported in pairs


class ClientLeft(Event, frozen=True, kw_only=True, tag="client.left"):
    """A connection of a client ended."""

    belongs = ("client", "client")

    client: str
    carrier: str
    address: str = ""
    reason: str = ""  # "closed", "revoked", or the error
    times: int = 1  # how often since the last of these; carrier, address and reason of the newest


class ClientLimited(Event, frozen=True, kw_only=True, tag="client.limited"):
    """A client is at one of its limits; the hub refused the request."""

    belongs = ("client", "client")

    client: str  # as the hub authenticated it; "?" for connections without authorisation
    what: str  # a key of [limits] in config.toml, such as "subscriptions"; or "strangers"
    limit: int
    times: int = 1  # occurrences since the last event with the same content


class ClientDenied(Event, frozen=True, kw_only=True, tag="client.denied"):
    """A client tried something that it may not do; the hub refused it."""

    belongs = ("client", "client")

    client: str  # as the hub authenticated it; "?" for a client that was not authorised
    verb: str  # "connect", "send", "publish", "subscribe", "read", "work" or "hold"
    about: str = ""  # a topic; for "hold" a name, for "send" the error
    reason: str
    claimed: str = ""  # the name that it claimed, if it was not authorised
    carrier: str = ""
    address: str = ""
    times: int = 1  # occurrences since the last event with the same content
