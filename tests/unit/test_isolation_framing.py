"""Frames between a process and its child arrive whole, in order, and within their bound."""

import os
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from msgspec import Struct, msgpack

from cortex.runtime.isolation import PipeFrameError

framing: Any = import_module("cortex.runtime.isolation.framing")


class Word(Struct):
    text: str


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_frames_arrive_in_whatever_pieces_they_come(pipe: tuple[int, int]) -> None:
    reader = framing.FrameReader(pipe[0])
    data = b"".join(framing.frame_of(Word(text)) for text in ("a", "", "ccc"))

    found = []
    for n in range(len(data)):
        os.write(pipe[1], data[n : n + 1])
        found += reader.arrived()

    assert [msgpack.decode(each, type=Word).text for each in found] == ["a", "", "ccc"]


def test_the_end_of_a_pipe_comes_after_all_frames() -> None:
    ours, theirs = os.pipe()
    reader = framing.FrameReader(ours)
    os.write(theirs, framing.frame_of(Word("a")) + framing.frame_of(Word("b")) + b"\0\0")
    os.close(theirs)

    received = [reader.receive() for _ in range(3)]
    os.close(ours)

    assert [msgpack.decode(each, type=Word).text for each in received[:2]] == ["a", "b"]
    assert received[2] is None


def test_a_frame_over_the_bound_is_refused_before_it_is_read(pipe: tuple[int, int]) -> None:
    reader = framing.FrameReader(pipe[0], limit_bytes=100)
    os.write(pipe[1], (101).to_bytes(4, "big"))

    with pytest.raises(PipeFrameError, match="101 bytes is longer than 100"):
        reader.arrived()
