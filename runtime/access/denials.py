"""Counts denials and reached limits, so that a million of them do not fill the log.

The first of its kind is recorded at once; equal ones within the next second are counted,
and recorded together after it. Only so many kinds per client are kept separate at a time.
"""

from collections.abc import Iterable

import msgspec

from cortex.bus import Event
from cortex.bus.events import ClientDenied, ClientLimited

from .windows import Windows

WINDOW_NS = 1_000_000_000
OTHERS = "more than are told apart"


class Denial(msgspec.Struct, frozen=True):
    """Who was denied what, and why; equal ones are the same denial."""

    client: str
    verb: str
    about: str
    reason: str


LIMIT = "limit"  # the verb of one who is at a limit: *about* is which, *reason* how much it is


class _Counted(msgspec.Struct):
    claimed: str = ""
    carrier: str = ""
    address: str = ""
    times: int | None = None  # not recorded yet; None before the first record


class DenialNote(msgspec.Struct, frozen=True):
    """A denial to record, with the newest of the denials that it counts."""

    denial: Denial
    times: int
    claimed: str
    carrier: str
    address: str


class Denials:
    """Counts; holds no lock, its owner does."""

    def __init__(self) -> None:
        self._windows: Windows[Denial, _Counted] = Windows(WINDOW_NS, _Counted)
        self.next_ns = self._windows.next_ns  # when `due` has something to look at next

    def note(
        self, denial: Denial, now_ns: int, claimed: str = "", carrier: str = "", address: str = ""
    ) -> DenialNote | None:
        """Count one; what is to be recorded at once comes back."""
        others = Denial(denial.client, denial.verb, "", OTHERS)
        denial, known = self._windows.of(denial.client, denial, others, now_ns)
        known.claimed, known.carrier, known.address = claimed, carrier, address
        if known.times is None:
            known.times = 0
            return DenialNote(denial, 1, claimed, carrier, address)
        known.times += 1
        return None

    def due(self, now_ns: int) -> list[DenialNote]:
        """What was counted in windows that are over."""
        return _told(self._windows.over(now_ns, lambda known: bool(known.times)))

    def rest(self) -> list[DenialNote]:
        """All counts that are not recorded yet, for the end."""
        return _told(self._windows.rest())


def _told(many: Iterable[tuple[Denial, _Counted]]) -> list[DenialNote]:
    told: list[DenialNote] = []
    for denial, known in many:
        if known.times:
            told.append(
                DenialNote(denial, known.times, known.claimed, known.carrier, known.address)
            )
            known.times = 0
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
