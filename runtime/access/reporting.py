"""The events by which denials, limits and comings and goings are recorded."""

from cortex.bus import Event
from cortex.bus.events import ClientConnected, ClientLeft

from .presence import LEFT, PresenceNote


def presence_event(told: PresenceNote) -> Event:
    """What is recorded of a client that came or left."""
    who = {"client": told.client, "carrier": told.peer.carrier, "address": told.peer.address}
    if told.how == LEFT:
        return ClientLeft(**who, reason=told.reason, times=told.times)
    return ClientConnected(**who, certificate=told.peer.certificate, times=told.times)
