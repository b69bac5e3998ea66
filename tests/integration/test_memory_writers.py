"""Many write memory at once, and some are killed: nothing is lost, and nothing is there twice."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

from cortex.bus import Client
from cortex.bus.events import MemoryEdge, MemoryRecord, MemoryRecorded
from cortex.runtime.access import Terms, issue
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.memory import HomeMemory, MemoryView
from cortex.runtime.serving import Service, connected

from .test_memory import COMPONENTS

WRITERS = 8
# CORTEX_MEMORY_NODES=10000 writes as many as a home of two years has, CORTEX_MEMORY_REPORT names a
# file for the figures.
NODES = int(os.environ.get("CORTEX_MEMORY_NODES", "120"))
REPORT = os.environ.get("CORTEX_MEMORY_REPORT", "")
TOGETHER = 40
PATIENCE_S = 600.0
CHILD = """
import sys
from cortex.bus.events import MemoryEdge, MemoryRecord
from cortex.runtime.kernel import Home, Runtime
from pathlib import Path

with Runtime(Home(Path(sys.argv[1]))) as runtime:
    client = runtime.client("writer")
    for n in range(1_000_000):
        client.publish(
            *(
                MemoryRecord(
                    kind="observation",
                    content=f"reading {n}/{i}",
                    node_id=f"n{n:06}x{i}",
                    edges=(MemoryEdge("supersedes", f"n{n:06}x{i - 1}"),) if i else (),
                )
                for i in range(5)
            )
        )
        print(n, flush=True)
"""

WRITER = """
import sys
from cortex.bus import connect
from cortex.bus.events import MemoryEdge, MemoryRecord

url, token, writer, nodes, together = sys.argv[1], *sys.stdin.read().split()
nodes, together = int(nodes), int(together)
name = f"w{writer}n"
with connect(url, token=token, name=f"writer{writer}") as client:
    for start in range(0, nodes, together):
        client.publish(
            *(
                MemoryRecord(
                    kind="observation",
                    content=f"writer {writer} saw {n}",
                    node_id=f"{name}{n:05}",
                    edges=(MemoryEdge("refines", f"{name}{n - 1:05}"),) if n else (),
                    update=False,
                )
                for n in range(start, min(start + together, nodes))
            )
        )
"""

FLOOD = """
import sys
from cortex.bus.events import MemoryEdge, MemoryRecord
from cortex.runtime.kernel import Home, Runtime
from pathlib import Path

with Runtime(Home(Path(sys.argv[1]))) as runtime:
    client = runtime.client("writer")
    feed = client.follow(("memory.recorded", None))
    for start in range(0, int(sys.argv[2]), 200):
        client.publish(
            *(
                MemoryRecord(
                    kind="observation",
                    content=f"reading {n}",
                    node_id=f"n{n:06}",
                    edges=(MemoryEdge("refines", f"n{n - 1:06}"),) if n else (),
                    update=False,
                )
                for n in range(start, start + 200)
            )
        )
    done = 0
    while True:
        done += len(feed.next(60.0))
        print(done, flush=True)
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / ".cortex")


def node_id(writer: int, n: int) -> str:
    return f"w{writer}n{n:05}"


def written(writer: int, n: int) -> MemoryRecord:
    edges = (MemoryEdge("refines", node_id(writer, n - 1)),) if n else ()
    return MemoryRecord(
        kind="observation",
        content=f"writer {writer} saw {n}",
        node_id=node_id(writer, n),
        edges=edges,
        update=False,
    )


def write(runtime: Runtime, writer: int) -> None:
    client = runtime.client(f"writer{writer}")
    for start in range(0, NODES, TOGETHER):
        numbers = range(start, min(start + TOGETHER, NODES))
        client.publish(*(written(writer, n) for n in numbers))


def recorded(client: Client) -> Counter[str]:
    """How often each node was recorded."""
    events = (client.vocabulary.read(r) for r in client.read() if r.topic == "memory.recorded")
    return Counter(each.node_id for each in events if isinstance(each, MemoryRecorded))


def settled(client: Client) -> None:
    """Wait until every request is answered."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        topics = Counter(record.topic for record in client.read())
        if topics["memory.recorded"] + topics["memory.refused"] >= topics["memory.record"]:
            return
        client.follow(after=client.head).next(0.2)
    raise AssertionError("requests are left")


def everything(view: MemoryView) -> object:
    ids = view.touched(0)
    return view.nodes(ids), view.states(ids), view.edges(ids)


@pytest.mark.timeout(PATIENCE_S)
def test_eight_writers_lose_nothing_and_write_nothing_twice(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        threads = [
            threading.Thread(target=write, args=(runtime, writer)) for writer in range(WRITERS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        settled(runtime.client("waiting"))
        times = recorded(runtime.client("reader"))
    nothing_is_lost(home, times)


@pytest.mark.timeout(PATIENCE_S)
def test_eight_programs_on_one_socket_lose_nothing_and_write_nothing_twice(home: Home) -> None:
    home.require_trust()
    with Service(home, components=COMPONENTS) as service, connected(home) as owner:
        began_s = time.monotonic()
        programs = [program(service.note.url, owner, writer) for writer in range(WRITERS)]
        assert [each.wait() for each in programs] == [0] * WRITERS
        settled(owner)
        took_s = time.monotonic() - began_s
        times = recorded(owner)
    nothing_is_lost(home, times)
    if REPORT:
        with Path(REPORT).open("a") as report:
            report.write(
                f"{WRITERS} programs on one socket, {NODES:,} nodes each, {took_s:.0f} s: "
                f"{len(times):,} nodes, none lost, none twice, {WRITERS * (NODES - 1):,} edges "
                "intact\n"
            )


def program(url: str, owner: Client, writer: int) -> "subprocess.Popen[str]":
    """A program that writes as a client of its own."""
    free = {"requests_per_s": 0, "bytes_per_s": 0}
    token = issue(owner, f"writer{writer}", Terms(publish=("memory.record",), limits=free))
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", WRITER, url], stdin=subprocess.PIPE, text=True
    )
    assert child.stdin is not None
    child.stdin.write(f"{token} {writer} {NODES} {TOGETHER}")
    child.stdin.close()
    return child


def nothing_is_lost(home: Home, times: Counter[str]) -> None:
    """All nodes are there once, with their edges."""
    wanted = {node_id(writer, n) for writer in range(WRITERS) for n in range(NODES)}
    assert times.keys() == wanted
    assert set(times.values()) == {1}
    with HomeMemory.open(home) as memory:
        assert memory.view.count() == WRITERS * NODES
        edges = {(e.node_id, e.to) for e in memory.view.edges(sorted(wanted))}
    assert edges == {
        (node_id(writer, n), node_id(writer, n - 1))
        for writer in range(WRITERS)
        for n in range(1, NODES)
    }


@pytest.mark.parametrize("after", [2, 11, 40])
def test_a_killed_writer_leaves_what_was_acknowledged_once(home: Home, after: int) -> None:
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", CHILD, str(home.path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    acknowledged = -1
    for line in child.stdout:
        acknowledged = int(line)
        if acknowledged >= after:
            break
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()

    with Runtime(home, components=COMPONENTS) as runtime:
        settled(runtime.client("waiting"))
        times = recorded(runtime.client("reader"))

    assert set(times.values()) == {1}
    assert {f"n{n:06}x{i}" for n in range(acknowledged + 1) for i in range(5)} <= times.keys()
    with HomeMemory.open(home) as memory:
        before = everything(memory.view)
        ids = memory.view.touched(0)
        current = [each for each in ids if memory.view.states([each])[each].current]
    assert all(each.endswith("x4") for each in current)
    for path in home.path.glob("memory.db*"):
        path.unlink()
    (home.path / "snapshots.db").unlink()
    with HomeMemory.open(home) as memory:
        assert everything(memory.view) == before


@pytest.mark.parametrize("after", [1, 700, 1_800])
def test_a_kill_with_many_requests_ahead_loses_and_repeats_none(home: Home, after: int) -> None:
    """What was decided stands in the log behind the requests that are still to be decided."""
    flood = 3_000
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", FLOOD, str(home.path), str(flood)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    for line in child.stdout:
        if int(line) >= after:
            break
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()

    with Runtime(home, components=COMPONENTS) as runtime:
        client = runtime.client("reader")
        settled(client)
        times = recorded(client)
        refused = [each for each in client.read() if each.topic == "memory.refused"]

    assert not refused
    assert times.keys() == {f"n{n:06}" for n in range(flood)}
    assert set(times.values()) == {1}
