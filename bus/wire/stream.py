"""Frames on a pipe, as nng's SP protocols write them, so that any nng client can dial a hub.

Each end begins with eight bytes that say it is REQ or REP. Every frame is its length, and before
that a byte 1 on ipc; the first four bytes of what follows number the request, the answer has the
same. A length over the bound is refused before a byte of memory is set aside for it.
"""

import struct
from collections.abc import Callable
from typing import Any

import msgspec

from ..errors import FrameError, FrameTooLargeError
from .pipe import Gone, Pipe

REQ, REP = 0x30, 0x31  # SP protocol numbers
FIRST_ID = 1 << 31  # SP request ids have the high bit set
BUFFER_BYTES = 1 << 16  # what most frames fit into
SHORT_S = 1.0  # how often whoever reads looks up where nothing comes


class Stream:
    """One connection's frames, in lock-step: whoever uses it asks and answers by turns."""

    def __init__(self, pipe: Pipe, *, marked: bool, limit_bytes: int) -> None:
        self.pipe = pipe
        self.limit_bytes = limit_bytes
        self._marked = marked  # on ipc each frame begins with a byte 1
        self._head = struct.Struct(">BQI" if marked else ">QI")
        self._buffer = memoryview(bytearray(BUFFER_BYTES))
        self._first: int = 0  # of what was read and not yet taken
        self._last: int = 0
        self.number = 0  # of the newest frame that came
        self.sent_bytes = 0
        self._encode = msgspec.msgpack.Encoder().encode_into

    def greet(self, own: int, other: int, until: Callable[[], bool]) -> None:
        """Exchange the eight bytes by which SP ends know each other.

        Raises:
            FrameError: The other end speaks something else.
            Gone: It went, or said nothing until *until* said that it was enough.
        """
        self.pipe.write(_greeting(own))
        self._have(8, until)
        theirs = bytes(self._buffer[self._first : self._first + 8])
        self._first += 8
        if theirs != _greeting(other):
            raise FrameError(f"it began with {theirs!r} and not as SP protocol {other:#x}")

    def receive(self, until: Callable[[], bool]) -> tuple[int, memoryview]:
        """The next frame: its number, and the rest.

        Args:
            until: Asked about once a second while nothing comes; where it says so, the wait ends.

        Raises:
            FrameTooLargeError: It is over the bound.
            FrameError: It is no frame.
            Gone: The other end went, or *until* ended the wait.
        """
        size = self._head.size
        self._have(size, until)
        head = self._head.unpack_from(self._buffer, self._first)
        length, number = head[-2], head[-1]
        if self._marked and head[0] != 1:
            raise FrameError(f"a frame begins with byte {head[0]}, not with 1")
        self.number = number if number & FIRST_ID else 0
        if length < 4 or not self.number:
            raise FrameError("a frame has no request number with its high bit set")
        if length - 4 > self.limit_bytes:
            raise FrameTooLargeError(length - 4, self.limit_bytes)
        self._first += size
        return number, self._body(length - 4, until)

    def more(self) -> bool:
        """Whether bytes of another frame are there already."""
        return self._last > self._first

    def send(self, number: int, payload: Any, *, soon: bool = False) -> None:
        """Write one frame; *soon* does not wait for the other end to take it."""
        frame = bytearray(self._head.size)
        self._encode(payload, frame, self._head.size)
        length = len(frame) - self._head.size + 4
        self.sent_bytes += length
        if self._marked:
            self._head.pack_into(frame, 0, 1, length, number)
        else:
            self._head.pack_into(frame, 0, length, number)
        if soon:
            self.pipe.write_soon(frame)
        else:
            self.pipe.write(frame)

    def _have(self, size: int, until: Callable[[], bool]) -> None:
        """Read until *size* bytes are in the buffer; it is never asked for more than fits."""
        while self._last - self._first < size:
            if self._first == self._last:
                self._first = self._last = 0
            elif self._first + size > len(self._buffer):
                kept = bytes(self._buffer[self._first : self._last])
                self._buffer[: len(kept)] = kept
                self._first, self._last = 0, len(kept)
            self._last += self._read(self._buffer[self._last :], until)

    def _body(self, size: int, until: Callable[[], bool]) -> memoryview:
        if size <= BUFFER_BYTES:
            self._have(size, until)
            body = self._buffer[self._first : self._first + size]
            self._first += size
            return body
        whole = memoryview(bytearray(size))  # bounded: `receive` has looked
        there = self._last - self._first
        whole[:there] = self._buffer[self._first : self._last]
        self._first = self._last = 0
        while there < size:
            there += self._read(whole[there:], until)
        return whole

    def _read(self, buffer: memoryview, until: Callable[[], bool]) -> int:
        while True:
            size = self.pipe.read_into(buffer)
            if not size and until():
                raise Gone("it said nothing in time")
            if size:
                return size


def _greeting(protocol: int) -> bytes:
    return b"\0SP\0" + struct.pack(">HH", protocol, 0)
