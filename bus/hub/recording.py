"""Turns a draft, if its names contain no secret, into a record with a place, a time and an id."""

import struct
from collections.abc import Callable, Sequence

import msgspec

from ..errors import EventInvalidError
from ..event import FORMAT, Draft, Recorded

NAMES = ("topic", "stream", "key", "correlation", "subject")

DRAWN, DRAWS = 8, 64  # random bytes for the ids of a transaction; transactions per draw

_ENCODE = msgspec.msgpack.Encoder().encode
_PACK = struct.Struct(">QQ").pack


class RandomIds:
    """Random numbers for ids, one for each transaction.

    Args:
        entropy: Gives so many random bytes.
    """

    def __init__(self, entropy: Callable[[int], bytes]) -> None:
        self._entropy, self._drawn = entropy, b""

    def next(self) -> int:
        """The next 62 bits."""
        # Drawn in bulk: each draw is a system call, which lets another thread run.
        if len(self._drawn) < DRAWN:
            self._drawn = self._entropy(DRAWN * DRAWS)
        random = int.from_bytes(self._drawn[:DRAWN], "big") >> 2
        self._drawn = self._drawn[DRAWN:]
        return random


def refuse_secret_names(
    drafts: Sequence[Draft], mask: Callable[[Sequence[Draft]], Sequence[Draft]]
) -> None:
    """Refuse *drafts* if *mask* would hide something in a name of one of them.

    Names are not masked, because an event with a changed name could not be found.

    Raises:
        EventInvalidError: A name contains a secret; the message says which, without the secret.
    """
    if not drafts:
        return
    names = {name: None for draft in drafts for what in NAMES if (name := getattr(draft, what))}
    if not _hides(mask, drafts[0], list(names)):
        return
    for draft in drafts:
        for what in NAMES:
            if (name := getattr(draft, what)) and _hides(mask, draft, [name]):
                topic = "x" if what == "topic" else draft.topic
                problem = f"its {what} holds a secret, and would be recorded in clear: leave it out"
                raise EventInvalidError(topic, problem)


def _hides(
    mask: Callable[[Sequence[Draft]], Sequence[Draft]], draft: Draft, names: list[str]
) -> bool:
    body = _ENCODE(names)
    return mask((msgspec.structs.replace(draft, body=body),))[0].body != body


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
        draft: What to record.
        source: The client that published it.
        position: In the log; 0 for an ephemeral event.
        version: In its stream; 0 for an ephemeral event.
        time_ns: Wall clock.
        index: Its number in its batch, from 0.
        random: 62 random bits of the batch.
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
