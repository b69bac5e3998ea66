"""Connects to a hub: to a running home's hub as its owner, or to any hub by its address."""

from collections.abc import Generator
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

NAME = "owner"  # the source of what the owner's own programs publish, by default
AWAY_S = 30.0  # how long a client waits for an unreachable hub


class Hub(msgspec.Struct, frozen=True):
    """The address of a hub, and the token for it."""

    url: str
    token: str
    home: Home | None = None  # if it is the hub of a home on this machine

    def __repr__(self) -> str:
        return f"Hub({self.url})"  # never the token

    def dial(
        self, name: str = "", vocabulary: Vocabulary | None = None, away_s: float = AWAY_S
    ) -> Client:
        """A client under *name*; close it after use.

        Raises:
            HubSilentError: It is the hub of a home, and does not answer.
            HubAwayError: The hub cannot be reached.
            ClientDeniedError: The hub does not admit this client.
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
    """The running hub of *home*, with the owner's token.

    Raises:
        NotUpError: No hub is running.
        KeyFileError: The token cannot be read.
    """
    up = found(home)
    if up is None:
        raise NotUpError(str(home.path))
    return Hub(up.url, owner_token(home.path / "keys"), home)


@contextmanager
def connected(home: Home, name: str = NAME) -> Generator[Client, None, None]:
    """A client of the running hub of *home*, with the owner's token, until the block is left.

    Raises:
        NotUpError: No hub is running.
        HubSilentError: The hub is running, but does not answer.
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
    """A client of a running hub; use it in a `with`, or `close` it.

    Args:
        hub: Its address, as `cortex up` and `status` print it; or a home, or its folder,
            with a running hub; None for the home of commands in the working folder. The
            owner of a home needs no token.
        name: The name of this client: the source of what it publishes.
        token: For an address: proves who the client is; `cortex client add` shows it once. None,
            as from an unset variable, is refused.
        events: Event classes of its own, in addition to those of Cortex.
        fingerprint: SHA-256 of the hub's certificate, instead of the one in the address.
        authority: PEM of the authority that signed the hub's certificate, instead of a fingerprint.
        certificate: PEM of this client's own certificate, with its *key*.
        key: PEM of its private key.
        away_s: How long a caller waits while the hub is unreachable.

    Raises:
        NotUpError: No hub is running on that home.
        HubSilentError: The hub is running, but does not answer.
        HubAwayError: No hub listens at that address.
        HubUnverifiedError: Another program or hub than the expected one listens there.
        ClientDeniedError: The hub does not admit this client.
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
