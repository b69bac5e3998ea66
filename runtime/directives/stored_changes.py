"""The changes of a fact as a blob, where one event cannot hold them: the fact then names it.

So a large import, its undo and a large merge are one event as well: all of it is recorded, or
nothing. The blob is there before the event is.
"""

from collections.abc import Callable
from typing import Final

from msgspec import DecodeError, json, msgpack
from msgspec.structs import replace

from cortex.bus import BODY_BYTES, Event
from cortex.bus.events import (
    DirectiveApplied,
    DirectiveMerged,
    DirectiveRedone,
    DirectiveUndone,
)

from .change import Change
from .errors import ChangesLostError

Get = Callable[[str], bytes]
Put = Callable[[bytes], str]

_CHANGES: Final = json.Decoder(tuple[Change, ...])
_HOLDERS: Final = (DirectiveApplied, DirectiveMerged, DirectiveRedone, DirectiveUndone)


def size_bytes(fact: Event) -> int:
    """How long *fact* is as the body of an event, in bytes."""
    return len(msgpack.encode(fact))


def stored(fact: Event, put: Put) -> Event:
    """*fact*, with its changes in a blob if they are more than an event holds.

    Args:
        fact: Is given back as it is if it is short enough.
        put: Keeps bytes; the digest of the blob comes back.
    """
    if not isinstance(fact, _HOLDERS) or size_bytes(fact) <= BODY_BYTES:
        return fact
    digest = put(json.encode(fact.changes))
    return replace(fact, changes=(), changes_blob=digest, changes_stored=len(fact.changes))


def loaded(fact: Event, get: Get) -> Event:
    """*fact*, with the changes that its blob has.

    Raises:
        ChangesLostError: The blob holds something else.
        CortexError: The blob is missing or damaged.
    """
    if not isinstance(fact, _HOLDERS) or not fact.changes_blob:
        return fact
    try:
        changes = _CHANGES.decode(get(fact.changes_blob))
    except DecodeError as error:
        raise ChangesLostError(fact.changes_blob, str(error)) from None
    return replace(fact, changes=changes, changes_blob="", changes_stored=0)


def number_of_changes(fact: "DirectiveMerged | DirectiveRedone | DirectiveUndone") -> int:
    """How many changes *fact* has, wherever they are."""
    return fact.changes_stored or len(fact.changes)
