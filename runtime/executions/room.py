"""Whether an event fits: the hub refuses a body above its limit, and the whole page with it."""

import msgspec

from cortex.bus import Event

ROOM_BYTES = 240 * 1024  # a hub takes 256 KiB; what is derived from an event may be a bit larger
REASON_CHARACTERS = 2_000  # a reason is a line for people

_ENCODE = msgspec.msgpack.Encoder().encode


def too_large(event: Event) -> str | None:
    """What to say about *event* if it is too large for the log; None where it fits."""
    size = len(_ENCODE(event))
    if size <= ROOM_BYTES:
        return None
    return (
        f"{event.topic_name()} would have {size:,} bytes, and {ROOM_BYTES:,} fit: "
        "hand large values over as files or blobs, and carry single fields"
    )


def clipped(reason: str) -> str:
    """*reason*, cut where it is no line any more."""
    if len(reason) <= REASON_CHARACTERS:
        return reason
    return reason[: REASON_CHARACTERS - 1] + "…"
