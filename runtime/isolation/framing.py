"""Frames on a pipe between a process and its child: four bytes of length, then msgpack."""

import os
from collections import deque

import msgspec

from cortex.bus import CortexError, with_fields

HEAD_BYTES = 4
PIECE_BYTES = 1 << 16  # at once, which is what a pipe holds


@with_fields
class PipeFrameError(CortexError):
    """The other end of a pipe announced a longer frame than it may send."""

    size_bytes: int
    limit_bytes: int

    says = "a frame of {size_bytes:,} bytes is longer than {limit_bytes:,}"


def frame_of(content: msgspec.Struct) -> bytes:
    """*content* as a frame."""
    data = msgspec.msgpack.encode(content)
    return len(data).to_bytes(HEAD_BYTES, "big") + data


class FrameReader:
    """Reads the frames that come through a pipe.

    Args:
        descriptor: The end that is read; its owner closes it.
        limit_bytes: Of one frame.
    """

    def __init__(self, descriptor: int, limit_bytes: int = 1 << 32) -> None:
        self._descriptor, self._limit = descriptor, limit_bytes
        self._rest = bytearray()
        self._whole: deque[bytes] = deque()
        self.ended = False  # nothing more comes

    def receive(self) -> bytes | None:
        """The next frame, which is waited for; None once there are no more."""
        while not self._whole:
            if self.ended:
                return None
            self._read()
        return self._whole.popleft()

    def arrived(self) -> list[bytes]:
        """The frames that one read completes; where nothing has come yet, that waits.

        Raises:
            PipeFrameError: One of them is longer than the limit.
        """
        self._read()
        whole, self._whole = self._whole, deque()
        return list(whole)

    def _read(self) -> None:
        data = os.read(self._descriptor, PIECE_BYTES)
        self.ended = not data
        rest = self._rest
        rest += data
        while len(rest) >= HEAD_BYTES:
            end = HEAD_BYTES + int.from_bytes(rest[:HEAD_BYTES], "big")
            if end - HEAD_BYTES > self._limit:
                raise PipeFrameError(end - HEAD_BYTES, self._limit)
            if len(rest) < end:
                return
            self._whole.append(bytes(rest[HEAD_BYTES:end]))
            del rest[:end]
