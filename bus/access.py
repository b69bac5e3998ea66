"""Who may say what on a bus: the contract that a hub's server asks, and the one that allows all.

A server ties a connection to the client that `admit` gives back, and asks again for every topic of
every request and of every page: what is granted may change while a client is connected.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from .errors import CortexError, NotGrantedError
from .event import Draft, Recorded
from .limits import Allowance
from .requests import Withdraw

WORKSPACE = "workspace"  # the verb of a denial that is about a folder
VERBS = ("publish", "subscribe", "read", "work", "approve")


class Peer(msgspec.Struct, frozen=True):
    """The other end of a connection, as the carrier knows it."""

    carrier: str  # "inproc", "ipc", "tcp", "tls"
    address: str = ""  # "10.0.0.7:51234"; empty on ipc
    certificate: str = ""  # name in the client's certificate, as the hub's authority signed it
    problem: str = ""  # why the certificate that it shows is not taken; empty for fine


class Owners(Protocol):
    """Whose something at a hub is, and whether they may still act by it.

    The hub asks while it holds its lock, when a deadline fires and when a client goes: never for
    an event that is published.
    """

    def may(self, client: str, verb: str, topic: str, now_ns: int) -> bool:
        """Whether *client* may *verb* events of *topic* now, or is of the hub's own process."""
        ...

    def left_by(self, client: str, pending: Sequence[Recorded]) -> Sequence[Draft]:
        """What is to be recorded for what a client that goes has said of itself.

        *pending* are the events of the transaction under way, which no log has yet.
        """
        ...


class Access(Protocol):
    """Lets clients in, and says what each of them may do."""

    def admit(self, token: str, name: str, peer: Peer) -> str:
        """The authenticated name of the client that shows *token* and calls itself *name*.

        Raises:
            ClientDeniedError: It is not let in; that is recorded already.
        """
        ...

    def allows(self, client: str, verb: str, topic: str) -> bool:
        """Whether *client* may *verb* ("publish", "subscribe", "read", "work") events of *topic*.

        Of a verb that an event class names in `granted_by`, *topic* is the key of the event.

        Cheap: it is asked for every topic of every page. Whoever keeps answers drops them when the
        `watch` of the client is called.
        """
        ...

    def allows_some(self, client: str, verb: str) -> bool:
        """Whether *client* may *verb* events of any topic at all."""
        ...

    def granted(self, client: str) -> bool:
        """Whether *client* was granted anything; one that was not may say hello and no more."""
        return any(self.allows_some(client, verb) for verb in VERBS)

    def folders(self, client: str) -> Sequence[str]:
        """The folders in which *client* may ask for work; none where it may in any."""
        return ()

    def limits(self, name: str) -> Allowance | None:
        """The limits of whoever *name* belongs to; None for one that is not limited.

        It is asked within the hub, for whatever a client makes it keep: it must not ask the hub.
        """
        return None

    def limited(self, client: str, what: str, limit: int) -> None:
        """Record that *client* is at a limit; the same at most once a second, with a count."""
        return

    def answers(self, client: str, topic: str) -> bool:
        """Whether *client* may answer the queries of *topic*: whoever may work it, unless said."""
        return self.allows(client, "work", topic)

    def holds(self, client: str, subscription: str) -> bool:
        """Whether *subscription* is the client's to use, as a subscription or as a source.

        Its own are its name and everything below it ("name/..."); others are granted by name.
        """
        ...

    def deny(self, client: str, verb: str, topic: str) -> CortexError:
        """Record that *client* was denied, and give the error to answer with.

        The same denial is recorded at most once a second, with how often it came.
        """
        ...

    def watch(self, changed: Callable[[str], None]) -> None:
        """Call *changed* with a client's name whenever its grants change or are taken back.

        It is called on a thread of the access, and must return soon. Where the client no longer
        has `standing`, whoever serves it closes its connections.
        """
        ...

    def standing(self, client: str) -> bool:
        """Whether *client* is still admitted: not after a revocation, or once its grant expired."""
        ...

    def withdrawal(self, client: str) -> Withdraw | None:
        """What removes all that *client* left, where it is let in no more; None where it stays."""
        return None if self.standing(client) else Withdraw(client.partition("/")[0])

    def connected(self, client: str, peer: Peer) -> None:
        """Record that *client* is there."""
        ...

    def left(self, client: str, peer: Peer, reason: str) -> None:
        """Record that *client* is gone, and why."""
        ...


class Open(Access):
    """Everybody may do everything under any name: for tests, and for a hub inside one program."""

    def admit(self, token: str, name: str, peer: Peer) -> str:
        """Whoever comes is who it says it is."""
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
