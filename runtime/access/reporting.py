"""The events by which denials, limits and comings and goings are recorded."""

from cortex.bus import Event
from cortex.bus.events import ClientConnected, ClientDenied, ClientLeft, ClientLimited

from .denials import LIMIT, Denial, DenialNote
from .presence import LEFT, PresenceNote


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


def presence_event(told: PresenceNote) -> Event:
    """What is recorded of a client that came or left."""
    who = {"client": told.client, "carrier": told.peer.carrier, "address": told.peer.address}
    if told.how == LEFT:
        return ClientLeft(**who, reason=told.reason, times=told.times)
    return ClientConnected(**who, certificate=told.peer.certificate, times=told.times)
