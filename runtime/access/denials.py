"""How denials and limits that were reached are counted, so that a million of them fill no log.

The first of its kind is told at once; those that say the same within the next second are counted,
and told together when it is over. Of one client only so many kinds are told apart at a time.
"""

import msgspec

from cortex.bus import Event
from cortex.bus.events import ClientDenied, ClientLimited

WINDOW_NS = 1_000_000_000
KINDS = 16  # of one client at a time; what is more is counted as one
OTHERS = "more than are told apart"


class Denial(msgspec.Struct, frozen=True):
    """Who was denied what, and why; equal ones are the same denial."""

    client: str
    verb: str
    about: str
    reason: str


LIMIT = "limit"  # the verb of one who is at a limit: *about* is which, *reason* how much it is


class _Counted(msgspec.Struct):
    until_ns: int
    claimed: str
    carrier: str
    address: str
    times: int = 0  # not told yet


class DenialNote(msgspec.Struct, frozen=True):
    """A denial to record, with the newest of those that it stands for."""

    denial: Denial
    times: int
    claimed: str
    carrier: str
    address: str


class Denials:
    """Counts; holds no lock, its owner does."""

    def __init__(self) -> None:
        self._counted: dict[Denial, _Counted] = {}
        self._kinds: dict[str, int] = {}  # by client

    def note(
        self, denial: Denial, now_ns: int, claimed: str = "", carrier: str = "", address: str = ""
    ) -> DenialNote | None:
        """Count one; what is to be recorded at once comes back."""
        if denial not in self._counted and self._kinds.get(denial.client, 0) >= KINDS:
            denial = Denial(denial.client, denial.verb, "", OTHERS)
        known = self._counted.get(denial)
        if known is None:
            self._counted[denial] = _Counted(now_ns + WINDOW_NS, claimed, carrier, address)
            self._kinds[denial.client] = self._kinds.get(denial.client, 0) + 1
            return DenialNote(denial, 1, claimed, carrier, address)
        known.times += 1
        known.claimed, known.carrier, known.address = claimed, carrier, address
        return None

    def due(self, now_ns: int) -> list[DenialNote]:
        """What was counted in windows that are over."""
        told: list[DenialNote] = []
        for denial, known in list(self._counted.items()):
            if known.until_ns > now_ns:
                continue
            if known.times:
                told.append(
                    DenialNote(denial, known.times, known.claimed, known.carrier, known.address)
                )
                known.times, known.until_ns = 0, now_ns + WINDOW_NS
                continue
            del self._counted[denial]
            self._kinds[denial.client] -= 1
            if not self._kinds[denial.client]:
                del self._kinds[denial.client]
        return told

    def next_ns(self) -> int | None:
        """When `due` has something to look at next."""
        return min((c.until_ns for c in self._counted.values()), default=None)

    def rest(self) -> list[DenialNote]:
        """All that was counted and not told, at the end."""
        told = [
            DenialNote(denial, c.times, c.claimed, c.carrier, c.address)
            for denial, c in self._counted.items()
            if c.times
        ]
        self._counted.clear()
        self._kinds.clear()
        return told


def denial_event(told: DenialNote) -> Event:
    """What is recorded of a denial, or of a limit that was reached."""
    denial = told.denial
    if denial.verb == LIMIT:
        return _limited(denial, told.times)
    return ClientDenied(
        client=denial.client,
        verb=denial.verb,
        about=denial.about,
        reason=denial.reason,
        claimed=told.claimed,
        carrier=told.carrier,
        address=told.address,
        times=told.times,
    )


def _limited(denial: Denial, times: int) -> Event:
    limit = int(denial.reason) if denial.reason.isdecimal() else 0  # of several kinds in one
    what = denial.about or denial.reason
    return ClientLimited(client=denial.client, what=what, limit=limit, times=times)
