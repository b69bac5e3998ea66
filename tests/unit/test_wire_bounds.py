"""What one client may hold of a hub, and for how long it may take to say something."""

import hashlib
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from cortex.bus import FrameError
from cortex.runtime.log import MemoryBlobs

WIRE: Any = {
    name.rpartition(".")[2]: import_module(f"cortex.bus.wire.{name}")
    for name in ("server.blobs", "frames")
}


class Program:
    """A client program, alone or with others of one client."""

    def __init__(self, client: str = "") -> None:
        self.whose = client or self


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now_ns = 1
        self.alarms: list[tuple[int, Callable[[], None]]] = []

    def desk(self) -> Any:
        def alarm(at_ns: int, wake: Callable[[], None]) -> None:
            self.alarms.append((at_ns, wake))

        return WIRE["blobs"].BlobDesk(MemoryBlobs(), lambda: self.now_ns, alarm)

    def run(self, seconds: float) -> None:
        self.now_ns += int(seconds * 1e9)
        due, self.alarms = self.alarms, []
        for at_ns, wake in due:
            if at_ns <= self.now_ns:
                wake()
            else:
                self.alarms.append((at_ns, wake))


def put(desk: Any, by: object, name: str, piece: bytes, size: int = 100, at: int = 0) -> None:
    desk.answer(
        by, WIRE["frames"].PutBlob(hashlib.sha256(name.encode()).hexdigest(), size, at, piece)
    )


def test_what_is_announced_takes_no_room_and_what_arrives_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cortex.bus.wire.server.blobs.UNDER_WAY_BYTES", 150)
    desk, one, other = Clock().desk(), Program(), Program()
    for each in ("a", "b", "c"):
        put(desk, one, each, b"")
    put(desk, one, "a", b"x" * 90)

    with pytest.raises(FrameError, match="again later"):
        put(desk, other, "d", b"x" * 90)

    put(desk, one, "a", b"x" * 80)  # from its beginning: the first try is dropped
    put(desk, other, "d", b"x" * 70)
    desk.leave(one)
    put(desk, other, "e", b"x" * 80)


def test_one_client_puts_so_many_at_once_and_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cortex.bus.wire.server.blobs.A_CLIENT_BYTES", 150)
    desk, one, other = Clock().desk(), Program(), Program()
    put(desk, one, "a", b"x" * 90)
    with pytest.raises(FrameError, match="again later"):
        put(desk, one, "b", b"x" * 90)
    put(desk, other, "b", b"x" * 90)
    for each in range(15):
        put(desk, one, str(each), b"")

    with pytest.raises(FrameError, match="16 blobs"):
        put(desk, one, "more", b"")

    desk.leave(one)
    put(desk, one, "more", b"")


def test_a_blob_that_was_put_gives_its_room_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cortex.bus.wire.server.blobs.A_CLIENT_BYTES", 100)
    desk, one, kept = Clock().desk(), Program(), b"x" * 100
    digest = hashlib.sha256(kept).hexdigest()

    for _ in range(3):
        desk.answer(one, WIRE["frames"].PutBlob(digest, 100, 0, kept[:60]))
        desk.answer(one, WIRE["frames"].PutBlob(digest, 100, 60, kept[60:]))


def test_what_stands_still_is_dropped_and_gives_its_room_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cortex.bus.wire.server.blobs.UNDER_WAY_BYTES", 150)
    clock = Clock()
    desk, still, slow, other = clock.desk(), Program(), Program(), Program()
    put(desk, still, "a", b"x" * 60)
    put(desk, slow, "b", b"x" * 60)
    with pytest.raises(FrameError, match="again later"):
        put(desk, other, "c", b"x" * 60)

    clock.run(40)
    put(desk, slow, "b", b"x", at=60)
    clock.run(40)

    put(desk, other, "c", b"x" * 60)
    put(desk, slow, "b", b"x", at=61)  # each piece gives it time anew
    with pytest.raises(FrameError, match="from its start"):
        put(desk, still, "a", b"x", at=60)
    clock.run(600)
    assert clock.alarms == []  # and nothing is looked at where nothing is under way


def test_the_programs_of_one_client_share_what_it_may_put() -> None:
    desk, programs = Clock().desk(), [Program("far") for _ in range(17)]
    for each, program in enumerate(programs[:16]):
        put(desk, program, str(each), b"x")

    with pytest.raises(FrameError, match="16 blobs"):
        put(desk, programs[16], "more", b"x")

    put(desk, Program("near"), "more", b"x")
    desk.leave(programs[0])
    put(desk, programs[16], "more", b"x")
