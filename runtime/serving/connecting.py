"""The way to a hub: to the one that is up on a home as its owner, or to any by its address."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from cortex import bus  # `bus.connect`, once there is a hub: it imports nng
from cortex.bus import Client, Event, HubAwayError, Vocabulary
from cortex.bus.events import VOCABULARY
from cortex.runtime.access import owner_token
from cortex.runtime.kernel import Home

from .errors import HubSilentError, NotUpError
from .note import found

NAME = "owner"  # the source of what the owner's own programs publish, unless they say otherwise
AWAY_S = 30.0  # that a client waits for a hub that is away, before it gives up


class Hub(msgspec.Struct, frozen=True):
    """Where a hub is, and what proves to it who comes."""

    url: str
    token: str
    home: Home | None = None  # where it is the hub of a home on this machine

    def __repr__(self) -> str:
        return f"Hub({self.url})"  # never the token

    def dial(
        self, name: str = "", vocabulary: Vocabulary | None = None, away_s: float = AWAY_S
    ) -> Client:
        """A client under *name*; close it when it is no longer wanted.

        Raises:
            HubSilentError: It is the hub of a home, and does not answer.
            HubAwayError: It cannot be reached.
            ClientDeniedError: It does not let this client in.
        """
        try:
            return bus.connect(
                self.url, token=self.token, name=name, vocabulary=vocabulary, away_s=away_s
            )
        except HubAwayError:
            up = found(self.home) if self.home is not None else None
            if self.home is None or up is None:
                raise
            raise HubSilentError(str(self.home.path), up.pid or None) from None


def hub_of(home: Home) -> Hub:
    """The hub that is up on *home*, with the owner's token.

    Raises:
        NotUpError: None is up.
        KeyFileError: The token cannot be read.
    """
    up = found(home)
    if up is None:
        raise NotUpError(str(home.path))
    return Hub(up.url, owner_token(home.path / "keys"), home)


@contextmanager
def connected(home: Home, name: str = NAME) -> Iterator[Client]:
    """A client of the hub that is up on *home*, with the owner's token, until the block is left.

    Raises:
        NotUpError: None is up.
        HubSilentError: One is, and does not answer.
    """
    client = hub_of(home).dial(name)
    try:
        yield client
    finally:
        client.close()


def connect(
    hub: str | Path | Home | None = None,
    *,
    name: str = "",
    token: str | None = "",
    events: tuple[type[Event], ...] = (),
    fingerprint: str = "",
    authority: Path | str | None = None,
    certificate: Path | str | None = None,
    key: Path | str | None = None,
    away_s: float = AWAY_S,
) -> Client:
    """A client of a hub that is up; use it in a `with`, or `close` it.

    Args:
        hub: Its address, as `cortex up` and `status` print it; or a home, or the folder of one, on
            which it is up; None for the home that commands in the working folder belong to. The
            owner of a home needs no token for it.
        name: What this client calls itself: the source of what it publishes.
        token: Of an address: what proves who comes, as `cortex client add` shows it once. None,
            which an unset variable gives, is refused.
        events: Event classes of its own, which it reads beside those of Cortex.
        fingerprint: SHA-256 of the hub's certificate, instead of the one in the address.
        authority: PEM of whoever signed the hub's certificate, instead of a fingerprint.
        certificate: PEM of this client's own certificate, with its *key*.
        key: PEM of its private key.
        away_s: How long a caller waits while the hub is away.

    Raises:
        NotUpError: No hub is up on that home.
        HubSilentError: One is, and does not answer.
        HubAwayError: Nobody listens at that address.
        HubUnverifiedError: Whoever listens there is not the hub that was meant.
        ClientDeniedError: The hub does not let this client in.
        UrlError: The address cannot be used; the message says why.
    """
    if isinstance(hub, str) and "://" in hub:
        return bus.connect(
            hub,
            token=token,
            name=name,
            fingerprint=fingerprint,
            authority=authority,
            certificate=certificate,
            key=key,
            events=events,
            away_s=away_s,
        )
    if hub is None:
        home = Home.find()
    else:
        home = hub if isinstance(hub, Home) else Home(Path(hub).expanduser().absolute())
    known = VOCABULARY.extended(events) if events else None
    return hub_of(home).dial(name or NAME, known, away_s)
