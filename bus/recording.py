"""How a draft becomes a record: with its place in the log, its time and its id."""

import struct

from .event import FORMAT, Draft, Recorded

_PACK = struct.Struct(">QQ").pack


def recorded(
    draft: Draft, source: str, place: tuple[int, int], time_ns: int, index: int, random: int
) -> Recorded:
    """The record of *draft*.

    Args:
        draft: What is recorded.
        source: The client that said it.
        place: Its position and its version in its stream; zeros for what is not kept.
        time_ns: Wall clock.
        index: Its number in its batch, from 0.
        random: 62 bits that its batch was given.
    """
    position, version = place
    return Recorded(
        FORMAT,
        position,
        draft.stream,
        version,
        _uuid7(time_ns, index, random + index),
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


def _uuid7(time_ns: int, index: int, random: int) -> bytes:
    """RFC 9562 §5.7: 48 bits of milliseconds, then a counter within the batch, then randomness."""
    high = (time_ns // 1_000_000) << 16 | 0x7000 | index & 0xFFF
    return _PACK(high, 2 << 62 | random & 0x3FFF_FFFF_FFFF_FFFF)
