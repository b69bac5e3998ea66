"""What does it cost to run a component in a process of its own?

One component answers each event with another: on a thread of the hub's process, in the process
that ``cpu = True`` starts for it (events go over a pipe, in pages), and in a worker, which is a
client of the hub on its socket. *Start* is the time until its first answer, with the process; *one*
from a publish until its answer is read; *stream* is events a second of so many published in
hundreds. The peer is `multiprocessing`, which pickles into a pipe; the bare limit is msgpack over a
pipe. Neither of them records anything.
"""

import argparse
import contextlib
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
from answering import Apart, Asked, Here, Told
from measure import (
    Figures,
    Ratios,
    Run,
    arguments,
    heading,
    in_turn,
    keep,
    percentiles,
    quickly,
    ratio,
)

from cortex.bus import Client, Feed
from cortex.runtime.kernel import Component, Home
from cortex.runtime.serving import Service, connect, hosted, hub_of

RESULT = Path(__file__).parent / "results" / "bench_hosts.txt"
ONES, STREAM, BATCH = 300, 10_000, 100
WAIT_S = 30.0


HOSTS: dict[str, type[Component] | None] = {"thread": Here, "cpu": Apart, "worker": None}


def until(feed: Feed, answers: int) -> None:
    """Read so many answers."""
    while answers > 0:
        records = feed.next(WAIT_S)
        if not records:
            sys.exit(f"{answers} answers did not come")
        answers -= len(records)


def asked(client: Client) -> Figures:
    """The figures of a component that answers on this hub."""
    feed = client.follow((Told.topic_name(), None), after=client.head)
    began = time.perf_counter()
    client.publish(Asked(number=-1))
    until(feed, 1)
    start_s = time.perf_counter() - began
    took_s = []
    for number in range(ONES):
        began = time.perf_counter()
        client.publish(Asked(number=number))
        until(feed, 1)
        took_s.append(time.perf_counter() - began)
    began = time.perf_counter()
    for first in range(0, STREAM, BATCH):
        client.publish(*(Asked(number=number) for number in range(first, first + BATCH)))
    until(feed, STREAM)
    rate = STREAM / (time.perf_counter() - began)
    feed.close()
    return {"start_s": start_s, "rate": rate, **percentiles(took_s)}


def ours(host: str) -> Figures:
    """A component on this kind of host."""
    with tempfile.TemporaryDirectory(prefix="cortex-hosts-") as folder:
        home = Home.create(Path(folder) / ".cortex")
        component = HOSTS[host]
        with contextlib.ExitStack() as opened:
            opened.enter_context(Service(home, components=[component] if component else []))
            client = opened.enter_context(connect(home, name="bench", events=(Asked, Told)))
            began = time.perf_counter()
            if component is None:
                opened.enter_context(worker(home))
            before_s = time.perf_counter() - began
            figures = asked(client)
            return {**figures, "start_s": figures["start_s"] + before_s}


@contextlib.contextmanager
def worker(home: Home) -> Iterator[None]:
    """A worker in a process of its own."""
    command = [sys.executable, __file__, "--host", str(home.path)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert child.stdout
        child.stdout.readline()
        yield
    finally:
        child.communicate()


def host(path: str) -> None:
    """Be the worker: until the end of the standard input."""
    with hosted([Here], hub_of(Home(Path(path))), name="worker"):
        print("ready", flush=True)
        sys.stdin.read()


def echo(there: Connection) -> None:
    """Answer what comes over a pipe of `multiprocessing`."""
    with contextlib.suppress(EOFError):
        while True:
            there.send(there.recv())


def pickled() -> Figures:
    """Questions and answers through `multiprocessing`."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    began = time.perf_counter()
    child = context.Process(target=echo, args=(there,), daemon=True)
    child.start()
    there.close()

    def exchange(numbers: list[int]) -> None:
        here.send([{"number": number} for number in numbers])
        here.recv()

    figures = exchanged(exchange, began)
    here.close()
    child.join()
    return figures


BARE = """
import sys
read, write = sys.stdin.buffer, sys.stdout.buffer
while size := read.read(4):
    data = read.read(int.from_bytes(size))
    write.write(size + data)
    write.flush()
"""


def bare() -> Figures:
    """The same in frames of msgpack over a pipe, which the child does not even decode."""
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-I", "-c", BARE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin
    assert child.stdout
    write, read = child.stdin, child.stdout

    def exchange(numbers: list[int]) -> None:
        data = msgspec.msgpack.encode([{"number": number} for number in numbers])
        write.write(len(data).to_bytes(4) + data)
        write.flush()
        msgspec.msgpack.decode(read.read(int.from_bytes(read.read(4))))

    figures = exchanged(exchange, began)
    child.communicate()
    return figures


def exchanged(exchange: Callable[[list[int]], None], began: float) -> Figures:
    """The figures of a child that was started at *began*."""
    exchange([-1])
    start_s = time.perf_counter() - began
    took_s = []
    for number in range(ONES):
        one = time.perf_counter()
        exchange([number])
        took_s.append(time.perf_counter() - one)
    began = time.perf_counter()
    for first in range(0, STREAM, BATCH):
        exchange(list(range(first, first + BATCH)))
    return {
        "start_s": start_s,
        "rate": STREAM / (time.perf_counter() - began),
        **percentiles(took_s),
    }


def lines(rounds: int, found: dict[str, Figures]) -> Iterator[str]:
    """The table."""
    yield heading(rounds)
    for name, figures in found.items():
        per_s = f"{figures['rate']:,.0f}/s = {figures['rate'] / found['bare']['rate']:.3f} x bare"
        yield (
            f"{name}: start {figures['start_s'] * 1e3:.0f} ms; one {figures['p50_us']:,.0f} us, "
            f"p99 {figures['p99_us']:,.0f} us; stream {per_s}"
        )
    if {"cpu", "worker"} <= found.keys():
        cpu, other = found["cpu"], found["worker"]
        yield (
            f"cpu against worker: one {cpu['p50_us'] / other['p50_us']:.2f} x as long, "
            f"stream {cpu['rate'] / other['rate']:.2f} x as many"
        )


def measured() -> dict[str, Run]:
    """What is measured in turn."""
    hosts: dict[str, Run] = {name: partial(ours, name) for name in HOSTS}
    return {**hosts, "multiprocessing": pickled, "bare": bare}


def main() -> None:
    """Measure, keep the table."""
    parser = arguments(__doc__)
    parser.add_argument("--host", default="", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.host:
        host(given.host)
        return
    keep(lines(given.rounds, in_turn(given.rounds, measured())), RESULT)


def quick() -> Ratios:
    """Events that a component in its own process answers, to pages over a bare pipe."""
    return {"cpu stream": ratio(lambda: ours("cpu")["rate"], lambda: bare()["rate"])}


if __name__ == "__main__":
    quickly(quick)
    main()
