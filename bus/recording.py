"""How a draft becomes a record: with its place in the log, its time and its id."""

import struct

from .event import FORMAT, Draft, Recorded

_PACK = struct.Struct(">QQ").pack


def recorded(
    draft: Draft,
    source: str,
    position: int,
    version: int,
    time_ns: int,
    index: int,
    random: int,
) -> Recorded:
    """The record of *draft*.

    Its id is a UUIDv7 (RFC 9562 §5.7): 48 bits of milliseconds, a counter within the batch, then
    randomness.

    Args:
        draft: What is recorded.
        source: The client that said it.
        position: In the log; 0 for what is not kept.
        version: In its stream; 0 for what is not kept.
        time_ns: Wall clock.
        index: Its number in its batch, from 0.
        random: 62 bits that its batch was given.
    """
    return Recorded(
        FORMAT,
        position,
        draft.stream,
        version,
        _PACK(
            (time_ns // 1_000_000) << 16 | 0x7000 | index & 0xFFF,
            2 << 62 | random + index & 0x3FFF_FFFF_FFFF_FFFF,
        ),
        time_ns,
        draft.topic,
        draft.schema,
        draft.correlation,
        draft.causation,
        source,
        draft.key,
        draft.subject,
        draft.body,
    )
