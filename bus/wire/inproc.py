"""Hubs that this process serves under a name, for `connect("inproc://name")`."""

import threading
from collections.abc import Callable
from typing import TypeAlias

from ..client.client import Client
from ..errors import HubAwayError, UrlError
from ..event import Event
from ..vocabulary import Vocabulary

Events: TypeAlias = tuple[type[Event], ...]

Connects = Callable[[str, str, Vocabulary | None, Events], Client]  # token, name, events

# The one table of the process: a URL must work from any part of it.
_SERVED: dict[str, Connects] = {}
_LOCK = threading.Lock()


def serve(name: str, connects: Connects) -> None:
    """Register a hub under *name* for clients of this process.

    Raises:
        UrlError: Another hub has that name.
    """
    with _LOCK:
        if _SERVED.setdefault(name, connects) != connects:
            raise UrlError(f"inproc://{name}", "another hub of this process has that name")


def withdraw(connects: Connects) -> None:
    """Unregister that hub."""
    with _LOCK:
        for name in [n for n, c in _SERVED.items() if c == connects]:
            del _SERVED[name]


def connect(
    name: str, token: str, client: str, vocabulary: Vocabulary | None, events: Events
) -> Client:
    """A client of the hub of that name; it decodes *vocabulary*, or the hub's, and *events*.

    Raises:
        HubAwayError: No hub of this process has that name.
        ClientDeniedError: The hub does not admit this client.
    """
    connects = _SERVED.get(name)
    if connects is None:
        raise HubAwayError(f"inproc://{name}", "no hub of this process has that name")
    return connects(token, client, vocabulary, events)
