"""What the prompt before had in front, so that the next one of the step begins with it."""

from collections.abc import Iterable

import msgspec

from cortex.bus import Event
from cortex.bus.events import ContextCompile, ContextCompiled
from cortex.runtime.context import Manifest, Prefix
from cortex.runtime.log import BlobError, Blobs

OF_PREFIXES = (ContextCompiled,)


def prefix_before(
    events: Iterable[Event], asked: ContextCompile, model: str, blobs: Blobs
) -> Prefix:
    """Of the turn before *asked*, or of the first prompt of the attempt before.

    Nothing where there is none, or where another *model* read it, whose cache is another.
    """
    before = (asked.attempt, asked.turn - 1) if asked.turn else (asked.attempt - 1, 0)
    found = Prefix()
    for event in events:
        if not isinstance(event, ContextCompiled) or event.step_id != asked.step_id:
            continue
        if (event.attempt, event.turn) == before:
            found = _prefix(event, blobs) if event.model == model else Prefix()
    return found


def _prefix(event: ContextCompiled, blobs: Blobs) -> Prefix:
    try:
        return msgspec.json.decode(blobs.get(event.manifest), type=Manifest).prefix
    except (BlobError, msgspec.DecodeError):
        return Prefix()  # not kept any more: the next prompt is the first of its kind
