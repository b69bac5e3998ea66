"""The way to a hub: to the one that is up on a home as its owner, or to any by its address."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from cortex.bus import Client, HubAwayError, Vocabulary, connect
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
            return connect(
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
