"""Access to a bus: the interface that a hub's server asks, and the implementation that allows all.

A server ties a connection to the client that `admit` returns. It asks again for every topic of
every request and of every page, because grants may change while a client is connected. A grant may
also limit the folders in which requested work runs.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from .errors import CortexError, NotGrantedError
from .event import Draft, Recorded
from .limits import Allowance, root_of
from .requests import Request, Withdraw

WORKSPACE = "workspace"  # the verb of a denial that is about a folder
VERBS = ("publish", "subscribe", "read", "work", "approve")


class Peer(msgspec.Struct, frozen=True):
    """The other end of a connection, as the carrier knows it."""

    carrier: str  # "inproc", "ipc", "tcp", "tls"
    address: str = ""  # "10.0.0.7:51234"; empty on ipc
    certificate: str = ""  # name in the client's certificate, as the hub's authority signed it
    problem: str = ""  # why the certificate that it shows is not taken; empty for fine


class Owners(Protocol):
    """Who owns something at a hub, and what the owner may still do.

    The hub asks while it holds its lock: when a deadline is due, and when a client is removed. It
    never asks for a publish.
    """

    def may(self, client: str, verb: str, topic: str, now_ns: int, key: str | None = None) -> bool:
        """Whether *client* may *verb* events of *topic* with *key* now.

        Or whether it is in the hub's own process.
        """
        ...

    def left_by(self, client: str, pending: Sequence[Recorded]) -> Sequence[Draft]:
        """The events to record when a client is removed, about what it has announced.

        *pending* are the events of the current transaction, which are not in the log yet.
        """
        ...


class Access(Protocol):
    """Admits clients, and says what each of them may do."""

    def admit(self, token: str, name: str, peer: Peer) -> str:
        """The authenticated name of the client that shows *token* and calls itself *name*.

        Raises:
            ClientDeniedError: The client is not admitted; that is recorded already.
        """
        ...

    def allows(self, client: str, verb: str, topic: str) -> bool:
        """Whether *client* may *verb* ("publish", "subscribe", "read", "work") events of *topic*.

        With every key: `keys` has those that were granted one by one.
        For a verb that an event class names in `granted_by`, *topic* is the key of the event.

        It must be cheap: the server calls it for every topic of every page. A caller that caches
        answers drops them when the `watch` of the client is called.
        """
        ...

    def freshen(self) -> None:
        """Take in what changed, and call each `watch`, for all that was answered before this call.

        The server calls it before every request and every answer: it costs nothing if nothing
        changed.
        """
        return

    def keys(self, client: str, verb: str, topic: str) -> frozenset[str]:
        """The keys with which *client* may *verb* events of *topic*, if not with every key."""
        return frozenset()

    def allows_some(self, client: str, verb: str) -> bool:
        """Whether *client* may *verb* events of any topic at all."""
        ...

    def granted(self, client: str) -> bool:
        """Whether *client* has any grant; a client without one may only say hello."""
        return any(self.allows_some(client, verb) for verb in VERBS)

    def folders(self, client: str) -> Sequence[str]:
        """The folders in which *client* may request work; empty if there is no limit."""
        return ()

    def limits(self, name: str) -> Allowance | None:
        """The limits of the client to which *name* belongs; None if it has no limits.

        The hub calls it for everything that it keeps for a client: it must not call the hub.
        """
        return None

    def limited(self, client: str, what: str, limit: int) -> None:
        """Record that *client* is at a limit; the same at most once a second, with a count."""
        return

    def answers(self, client: str, topic: str) -> bool:
        """Whether *client* may answer queries of *topic*: by default, if it may work the topic."""
        return self.allows(client, "work", topic)

    def holds(self, client: str, subscription: str) -> bool:
        """Whether *client* may use *subscription*, as a subscription or as a source.

        Its own are its name and everything below it ("name/..."); others are granted by name.
        """
        ...

    def refusal(self, source: str, request: Request) -> CortexError | None:
        """Why *source* may not make *request*, by more than topics and names; None if it may.

        It is asked last, for each request of a client once: it may count them.
        """
        return None

    def deny(self, client: str, verb: str, topic: str) -> CortexError:
        """Record that *client* was denied, and return the error for the answer.

        The same denial is recorded at most once a second, with a count.
        """
        ...

    def watch(self, changed: Callable[[str], None]) -> None:
        """Call *changed* with a client's name whenever its grants change or are revoked.

        It is called on a thread of the access, and must return soon. If the client no longer has
        `standing`, the server closes its connections.
        """
        ...

    def standing(self, client: str) -> bool:
        """Whether *client* is still admitted: not after a revocation, or once its grant expired."""
        ...

    def withdrawal(self, client: str) -> Withdraw | None:
        """The request that removes all that *client* left; None while it is admitted."""
        return None if self.standing(client) else Withdraw(root_of(client))

    def connected(self, client: str, peer: Peer) -> None:
        """Record that *client* has connected."""
        ...

    def left(self, client: str, peer: Peer, reason: str) -> None:
        """Record that *client* has left, and why."""
        ...


class Open(Access):
    """Everybody may do everything under any name: for tests, and for a hub inside one program."""

    def admit(self, token: str, name: str, peer: Peer) -> str:
        """Every client is who it says it is."""
        return name

    def allows(self, client: str, verb: str, topic: str) -> bool:
        """Always."""
        return True

    def allows_some(self, client: str, verb: str) -> bool:
        """Always."""
        return True

    def holds(self, client: str, subscription: str) -> bool:
        """Always."""
        return True

    def deny(self, client: str, verb: str, topic: str) -> CortexError:
        """The error alone: nothing is recorded."""
        return NotGrantedError(client, verb, topic)

    def watch(self, changed: Callable[[str], None]) -> None:
        """Nothing ever changes."""

    def standing(self, client: str) -> bool:
        """Always."""
        return True

    def connected(self, client: str, peer: Peer) -> None:
        """Nothing is recorded."""

    def left(self, client: str, peer: Peer, reason: str) -> None:
        """Nothing is recorded."""


class _Placed(msgspec.Struct):
    workspace: str = ""


_READ = msgspec.msgpack.Decoder(_Placed).decode


def outside(draft: Draft, folders: Iterable[str]) -> str:
    """The folder in which *draft* asks for work, if it is outside *folders*; otherwise "".

    Links are resolved, so that a link cannot lead outside. The policy says which topics ask
    for work.
    """
    try:
        workspace = _READ(draft.body).workspace
    except msgspec.DecodeError:
        return ""  # the body has no such field; the hub reports that
    return "" if not workspace or within(workspace, folders) else workspace


def within(folder: str, folders: Iterable[str]) -> bool:
    """Whether *folder*, an absolute path, is one of *folders* or in one of them."""
    if "\0" in folder or not Path(folder).is_absolute():
        return False
    found = os.path.realpath(folder)
    return any(
        found == root or found.startswith(root.rstrip("/") + "/")
        for root in map(os.path.realpath, folders)
    )
