"""Counts connections and disconnections, so that a client in a crash loop does not fill the log.

A client's first connection and first disconnection are reported at once; what follows within the
minute is counted, and reported as one pair after it. Other addresses and certificates of a client
are reported separately, up to a limit for each client; the rest are counted together.
"""

from collections import Counter

import msgspec

from cortex.bus import Event, Peer, root_of
from cortex.bus.events import ClientConnected, ClientLeft

from .windows import Windows

WINDOW_NS = 60_000_000_000
CAME, LEFT = "came", "left"
_PAIR = (CAME, LEFT)


class _Kind(msgspec.Struct, frozen=True):
    client: str
    carrier: str
    host: str
    certificate: str


class PresenceNote(msgspec.Struct, frozen=True):
    """A connection or disconnection, with the newest of the times that it counts."""

    how: str  # CAME or LEFT
    client: str
    peer: Peer
    reason: str
    times: int


class _Counted(msgspec.Struct):
    client: str = ""
    peer: Peer = Peer("")
    told: set[str] = set()  # in this window
    times: Counter[str] = msgspec.field(default_factory=Counter)  # not reported yet
    reason: str = ""  # why it last left
    newest: str = CAME


class Presence:
    """Counts; holds no lock, its owner does."""

    def __init__(self) -> None:
        self._windows: Windows[_Kind, _Counted] = Windows(WINDOW_NS, _Counted)
        self.next_ns = self._windows.next_ns  # when `due` has something to look at next

    def note(
        self, how: str, client: str, peer: Peer, now_ns: int, reason: str = ""
    ) -> PresenceNote | None:
        """Count that *client* came or left; what is to be recorded at once comes back."""
        root = root_of(client)
        kind = _Kind(client, peer.carrier, _host(peer.address), peer.certificate)
        _, known = self._windows.of(root, kind, _Kind(root, "", "", ""), now_ns)
        known.client, known.peer, known.newest = client, peer, how
        known.reason = reason if how == LEFT else known.reason
        if how in known.told:
            known.times[how] += 1
            return None
        known.told.add(how)
        return PresenceNote(how, client, peer, reason, 1)

    def due(self, now_ns: int) -> list[PresenceNote]:
        """What was counted in windows that are over; the newest of each pair comes last."""
        over = self._windows.over(now_ns, lambda known: bool(known.times))
        return [note for _, known in over for note in _rest(known)]

    def rest(self) -> list[PresenceNote]:
        """All counts that are not reported yet, for the end."""
        return [note for _, known in self._windows.rest() for note in _rest(known)]


def _rest(known: _Counted) -> list[PresenceNote]:
    order = _PAIR if known.newest == LEFT else _PAIR[::-1]
    times, known.times = known.times, Counter()
    return [
        PresenceNote(how, known.client, known.peer, known.reason, times[how])
        for how in order
        if times[how]
    ]


def _host(address: str) -> str:
    """The address without its port, which is another each time."""
    return address.rpartition(":")[0] or address


def presence_event(told: PresenceNote) -> Event:
    """What is recorded of a client that came or left."""
    who = {"client": told.client, "carrier": told.peer.carrier, "address": told.peer.address}
    if told.how == LEFT:
        return ClientLeft(**who, reason=told.reason, times=told.times)
    return ClientConnected(**who, certificate=told.peer.certificate, times=told.times)
