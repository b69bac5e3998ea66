"""How comings and goings are counted, so that a client in a crash loop does not fill the log.

The first time that a client comes, and that it leaves, is told at once; what follows within the
minute is counted, and told as one pair when it is over. Who comes from elsewhere, or shows another
certificate, is told apart; of one client only so many at a time, the rest together.
"""

from collections import Counter

import msgspec

from cortex.bus import Event, Peer, root_of
from cortex.bus.events import ClientConnected, ClientLeft

WINDOW_NS = 60_000_000_000
KINDS = 16  # of one client at a time; what is more is counted as one
CAME, LEFT = "came", "left"
_PAIR = (CAME, LEFT)


class _Kind(msgspec.Struct, frozen=True):
    client: str
    carrier: str
    host: str
    certificate: str


class PresenceNote(msgspec.Struct, frozen=True):
    """That a client came or left, with the newest of those times that it stands for."""

    how: str  # CAME or LEFT
    client: str
    peer: Peer
    reason: str
    times: int


class _Counted(msgspec.Struct):
    until_ns: int
    client: str
    peer: Peer
    told: set[str] = set()  # in this window
    times: Counter[str] = msgspec.field(default_factory=Counter)  # not told yet
    reason: str = ""  # why it last left
    newest: str = CAME


class Presence:
    """Counts; holds no lock, its owner does."""

    def __init__(self) -> None:
        self._counted: dict[_Kind, _Counted] = {}
        self._kinds: Counter[str] = Counter()  # by client

    def note(
        self, how: str, client: str, peer: Peer, now_ns: int, reason: str = ""
    ) -> PresenceNote | None:
        """Count that *client* came or left; what is to be recorded at once comes back."""
        kind = _Kind(client, peer.carrier, _host(peer.address), peer.certificate)
        root = root_of(client)
        if kind not in self._counted and self._kinds[root] >= KINDS:
            kind = _Kind(root, "", "", "")
        known = self._counted.get(kind)
        if known is None:
            known = self._counted[kind] = _Counted(now_ns + WINDOW_NS, client, peer)
            self._kinds[root] += 1
        known.client, known.peer, known.newest = client, peer, how
        known.reason = reason if how == LEFT else known.reason
        if how in known.told:
            known.times[how] += 1
            return None
        known.told.add(how)
        return PresenceNote(how, client, peer, reason, 1)

    def due(self, now_ns: int) -> list[PresenceNote]:
        """What was counted in windows that are over; the newest of each pair comes last."""
        told: list[PresenceNote] = []
        for kind, known in list(self._counted.items()):
            if known.until_ns > now_ns:
                continue
            if known.times:
                told += _rest(known)
                known.times.clear()
                known.until_ns = now_ns + WINDOW_NS
                continue
            del self._counted[kind]
            self._kinds[root_of(kind.client)] -= 1
            self._kinds += Counter()  # without what is at zero
        return told

    def next_ns(self) -> int | None:
        """When `due` has something to look at next."""
        return min((known.until_ns for known in self._counted.values()), default=None)

    def rest(self) -> list[PresenceNote]:
        """All that was counted and not told, at the end."""
        told = [each for known in self._counted.values() for each in _rest(known)]
        self._counted.clear()
        self._kinds.clear()
        return told


def _rest(known: _Counted) -> list[PresenceNote]:
    order = _PAIR if known.newest == LEFT else _PAIR[::-1]
    return [
        PresenceNote(how, known.client, known.peer, known.reason, known.times[how])
        for how in order
        if known.times[how]
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
