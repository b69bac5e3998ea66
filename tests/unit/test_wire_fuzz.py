"""Frames that fit the protocol nearly, or not at all, crash nothing and leak nothing.

3,000 seeded ones in every run; ``CORTEX_FUZZ_FRAMES=1000000`` for as many as one likes, whose
figures are in benchmarks/results/fuzz_wire.txt.
"""

import os
import random
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.bus import (
    Client,
    Hub,
    HubServer,
    LocalHub,
    Open,
    Peer,
    SystemClock,
    connect,
    system_entropy,
)
from cortex.runtime.log import EventLog, MemoryBlobs

from .bus_world import WORDS, PlanWritten

FRAMES = int(os.environ.get("CORTEX_FUZZ_FRAMES", "3000"))
SEED = int(os.environ.get("CORTEX_FUZZ_SEED", "20261122"))
A_LIFE = 2_000  # frames one hub takes before its memory is looked at and a new log is begun
LONG_S = 120.0
GREETING = b"\0SP\0\x00\x30\0\0"
DRAFT = [
    "plan.write",
    1,
    "plan/p",
    "p",
    msgspec.msgpack.encode({"topic": "plan.write", "plan": "p"}),
]
GOOD: tuple[list[Any], ...] = (
    ["publish", [DRAFT], 0, [], []],
    ["publish", [], 7, [["wake", 1 << 62, DRAFT]], ["wake"]],
    ["subscribe", "fuzz/s", "ordered", [["*", None]], "now", True],
    ["subscribe", "fuzz/w", "work", [["plan.write", None]], "now", True],
    ["subscribe", "fuzz/f", "ordered", [["plan.*", None]], "now", False],
    ["unsubscribe", "fuzz/s"],
    ["fetch", "fuzz/s", 0, 256, 1 << 20, 0, 0.0],
    ["commit", "fuzz/s", 0, 1, [DRAFT], [], []],
    ["attempt", "fuzz/s"],
    ["claim", "fuzz/w", 3, 1_000_000],
    ["renew", "fuzz/w", 1, 1, 1_000],
    ["finish", "fuzz/w", 1, 1, [DRAFT], [], []],
    ["release", "fuzz/w", 1, 1, 1_000],
    ["head"],
    ["last_number"],
    ["watch", ["fuzz/s"]],
    ["unwatch", ["fuzz/s"]],
    ["await", 0.0],
    ["serve", ["x.fuzz.ask"]],
    ["unserve", ["x.fuzz.ask"]],
    ["listen", 0.0],
    ["ask", "x.fuzz.ask", b"\x80", 0.0],
    ["reply", 1, "x.fuzz.answer", b"\x80", None],
    ["read", 0, 10, 1_000],
    ["read_stream", "plan/p", 0, 10],
    ["leaf_hashes", 1, 2],
    ["stream_version", "plan/p"],
    ["put_blob", "0" * 64, 3, 0, b"abc"],
    ["get_blob", "0" * 64, 0, 100],
    ["hello", [2], "", "again"],
)
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1 << 31, 1 << 62, (1 << 64) - 1, -(1 << 63), 1.5, float("nan"), float("inf"),
    "", "x" * 300, "\x00", "fuzz/../..", b"", b"\xff" * 9, [], [[]], {}, {"a": 1}, ["publish"],
)  # fmt: skip


def payload(chance: random.Random) -> bytes:
    """A frame's content: right, with something odd in it, or broken."""
    requests = [_copy(chance.choice(GOOD)) for _ in range(chance.randrange(1, 4))]
    number = chance.choice((0, 0, 5 << 32 | chance.randrange(9), -1, 1 << 63))
    frame: Any = [number, chance.random() < 0.2, [["", requests]]]
    for _ in range(chance.choice((0, 1, 1, 3))):
        frame = _bent(chance, frame)
    data = bytearray(msgspec.msgpack.encode(frame))
    if chance.random() < 0.2 and data:
        for _ in range(chance.randrange(1, 5)):
            data[chance.randrange(len(data))] = chance.randrange(256)
    if chance.random() < 0.05:
        data = data[: chance.randrange(len(data) + 1)]
    if chance.random() < 0.02:
        data = bytearray(b"\x91" * 5_000)  # arrays in arrays in arrays
    return bytes(data)


def _copy(value: Any) -> Any:
    return [_copy(v) for v in value] if isinstance(value, list) else value


def _bent(chance: random.Random, value: Any) -> Any:
    """*value* with one thing somewhere inside replaced, dropped or doubled."""
    if not isinstance(value, list) or not value or chance.random() < 0.1:
        return chance.choice(ODD)
    at = chance.randrange(len(value))
    match chance.randrange(8):
        case 0:
            return value[:at] + value[at + 1 :]
        case 1:
            return [*value, chance.choice(ODD)]
        case _:
            return [*value[:at], _bent(chance, value[at]), *value[at + 1 :]]


def frame(chance: random.Random) -> bytes:
    """A frame with a head that fits it, mostly."""
    body = payload(chance)
    number = (1 << 31) | chance.randrange(1 << 31)
    length, mark = len(body) + 4, 1
    match chance.randrange(200):
        case 0:
            length = chance.choice((0, 3, 1 << 22, 1 << 40, (1 << 64) - 1))
        case 1:
            mark = chance.randrange(256)
        case 2:
            number = chance.randrange(1 << 31)
    return struct.pack(">BQI", mark, length, number) + body


class Ends(Open):
    """Notes why connections ended."""

    def __init__(self) -> None:
        self.reasons: set[str] = set()

    def left(self, client: str, peer: Peer, reason: str) -> None:
        self.reasons.add(reason)


class Target:
    """A hub, and one client that is not to notice anything."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o700)
        self.path, self.ends = f"{folder}/bus.sock", Ends()
        self.log = EventLog.open(folder / "log.db")
        self.hub = LocalHub(Hub(self.log, WORDS, system_entropy), SystemClock())
        self.server = HubServer(self.hub, self.log, MemoryBlobs(), self.ends)
        self.server.listen(f"ipc://{self.path}")
        self.innocent: Client = connect(f"ipc://{self.path}", name="innocent", vocabulary=WORDS)
        self.sock: socket.socket | None = None

    def throw(self, data: bytes) -> None:
        """Send *data* by a connection that was let in, and read what comes."""
        sock = self.sock or self._let_in()
        try:
            sock.sendall(data)
            if not sock.recv(1 << 20):
                raise ConnectionError
            self._rest(sock)
        except (ConnectionError, TimeoutError):
            sock.close()
            self.sock = None

    def _let_in(self) -> socket.socket:
        self.sock = sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(0.02)  # a frame whose head promises more than it has gets no answer
        sock.connect(self.path)
        hello = msgspec.msgpack.encode([0, False, [["", [["hello", [2], "", "fuzz"]]]]])
        sock.settimeout(LONG_S)
        sock.sendall(GREETING + struct.pack(">BQI", 1, len(hello) + 4, 1 << 31) + hello)
        got = b""
        while len(got) < 8 + 13:
            got += sock.recv(4_096)
        sock.settimeout(0.02)
        return sock

    def _rest(self, sock: socket.socket) -> None:
        """What else is there of an answer; one that is torn here only ends the connection."""
        sock.setblocking(False)
        try:
            while sock.recv(1 << 20):
                pass
        except BlockingIOError:
            pass
        finally:
            sock.settimeout(0.02)

    def close(self) -> None:
        if self.sock is not None:
            self.sock.close()
        self.innocent.close()
        self.server.close()
        self.hub.close()
        self.log.close()


@pytest.fixture
def target(tmp_path: Path) -> Iterator[Target]:
    made = Target(tmp_path)
    yield made
    made.close()


def test_no_frame_crashes_leaks_or_disturbs(target: Target, tmp_path: Path) -> None:
    chance, began = random.Random(SEED), time.monotonic()
    threads, memory = threading.active_count(), [_resident_kib()]
    for count in range(1, FRAMES + 1):
        target.throw(frame(chance))
        if count % 500 == 0:  # the neighbour is served all the while
            assert target.innocent.publish(PlanWritten(plan="p"))
        if count % A_LIFE == 0 and count < FRAMES:
            _expect_words(target)
            target.close()
            (tmp_path / str(count)).mkdir(mode=0o700)
            target.__init__(tmp_path / str(count))  # type: ignore[misc]
            memory.append(_resident_kib())
    target.innocent.publish(PlanWritten(plan="p"))

    _expect_words(target)
    until_s = time.monotonic() + LONG_S
    while threading.active_count() > threads + 2 and time.monotonic() < until_s:
        threading.Event().wait(0.01)
    assert threading.active_count() <= threads + 2
    settled = memory[len(memory) // 2 :]
    assert settled[-1] - settled[0] < 32 * 1024, "memory grows"
    if FRAMES > 100_000:
        _keep(time.monotonic() - began, settled)


def _expect_words(target: Target) -> None:
    """No connection ended by an exception that nobody had thought of."""
    unexpected = [r for r in target.ends.reasons if re.match(r"\w+(Error|Exception): ", r)]
    assert not unexpected


def _resident_kib() -> int:
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    return int(status.read_text().partition("VmRSS:")[2].split()[0])


def _keep(took_s: float, memory: list[int]) -> None:
    result = Path(__file__).parents[2] / "benchmarks" / "results" / "fuzz_wire.txt"
    result.write_text(
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores: {FRAMES:,} frames, seed {SEED}, in "
        f"{took_s:,.0f} s ({FRAMES / took_s:,.0f}/s); nothing crashed, no thread and no connection "
        f"was left, another client was served all the while; resident memory "
        f"{min(memory) / 1024:.0f} to {max(memory) / 1024:.0f} MB\n"
    )
