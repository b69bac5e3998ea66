"""How fast is the bus between processes: batches, single events, questions, many clients, catch-up?

The hub runs in a process of its own, on a log on disk; events are typed, some 240 bytes each.

* *flow*: two producers publish batches of 256, one subscriber decodes every event; nothing may be
  lost. The same over ipc and over TLS.
* *single*: one event at a time, acknowledged before the next.
* *ask*: a question to a component of another process, from one asker and from four.
* *fan-out*: a hundred connected clients, one event to all; from before the publish to each.
* *catch-up*: a subscriber a long way behind, while others publish and see single events.
* *clients*: single events from 1, 2, 5, 10, 50 and 100 clients at once.
* *idle*: threads and memory of a hub that a hundred clients are connected to.

Beside it in the same run: a bare Unix socket, nng's REQ/REP one event a frame (durable nowhere),
and nng's PUB/SUB with what it loses.
"""

import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

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
    report,
    run,
)
from wire_children import TESTED, Sum, joined, stamped, tested

CHILDREN = Path(__file__).parent / "wire_children.py"
RESULT = Path(__file__).parent / "results" / "bench_wire.txt"
FLOW, SINGLES, ASKS, SHOTS = 120_000, 3_000, 4_000, 60
BEHIND = int(os.environ.get("CORTEX_BENCH_BEHIND", "300000"))
CLIENTS = (1, 2, 5, 10, 50, 100)
LONG_S = 120.0
IDLE_S = 15.0
GOALS = {
    "flow/ipc": ">= 80,000/s",
    "ask/4": ">= 4,000/s",
    "clients/100": "p99 < 30 ms",
    "idle": "<= 20 threads, <= 40 MB",
    "fan-out": "p99 < 50 ms",
    "catch-up": ">= 150,000/s, others' p99 < 5 ms",
}


@contextmanager
def hub(carrier: str = "ipc", behind: int = 0) -> Iterator[str]:
    with child("serve", carrier, str(behind)) as serving:
        yield said(serving)


@contextmanager
def child(*words: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(CHILDREN), *words]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            if process.stdin:
                process.stdin.close()
            process.wait(LONG_S)


def said(process: subprocess.Popen[str]) -> str:
    """The next line of a child's output."""
    line = process.stdout.readline().strip() if process.stdout else ""
    if not line:
        sys.exit("a child process ended early")
    return line


def tell(process: subprocess.Popen[str], line: str) -> None:
    """Say something to a child."""
    if process.stdin:
        process.stdin.write(line + "\n")
        process.stdin.flush()


def flow(carrier: str) -> Figures:
    """Events a second from two producers to one subscriber that has them all."""
    each = FLOW // 2
    with (
        hub(carrier) as url,
        child("produce", url, str(each)) as one,
        child("produce", url, str(each)) as two,
        child("subscribe", url, str(2 * each)) as subscriber,
    ):
        for ready in (one, two, subscriber):
            said(ready)
        began = time.perf_counter()
        for producer in (one, two):
            tell(producer, "go")
        ended = float(said(subscriber))
        for producer in (one, two):
            said(producer)
        return {"rate": 2 * each / (ended - began)}


def single(carrier: str) -> Figures:
    """One event at a time."""
    with hub(carrier) as url, joined(url, "single") as client:
        return _timed(lambda n: client.publish(tested(n)), SINGLES)


def ask(askers: int) -> Figures:
    """Questions a second to another process."""
    with hub() as url, child("answer", url) as answering:
        said(answering)
        if askers == 1:
            with joined(url, "asker") as client:
                return _timed(lambda n: client.ask(Sum(numbers=(n, 1))), ASKS)
        asking = [child("ask_many", url, str(ASKS // 2)) for _ in range(askers)]
        opened = [a.__enter__() for a in asking]
        for process in opened:
            said(process)
        began = time.perf_counter()
        for process in opened:
            tell(process, "go")
        ended = max(float(said(process)) for process in opened)
        for context in asking:
            context.__exit__(None, None, None)
        return {"rate": askers * (ASKS // 2) / (ended - began)}


def fan_out(clients: int) -> Figures:
    """From before the publish to each of many clients."""
    with hub() as url, joined(url, "shooter") as client:
        following = [child("follow_many", url, str(clients // 4), str(SHOTS)) for _ in range(4)]
        opened = [f.__enter__() for f in following]
        for process in opened:
            said(process)
        for n in range(SHOTS):
            client.publish(stamped(n))
            time.sleep(0.05)  # a shot at a time, so that each is seen alone
        took_s = [float(t) for process in opened for t in said(process).split()]
        for context in following:
            context.__exit__(None, None, None)
        return percentiles(took_s)


def catch_up() -> Figures:
    """Events a second for a subscriber that is behind, and what others feel of it."""
    with hub("ipc", BEHIND) as url, joined(url, "other") as client:
        feed = client.follow(TESTED)
        began = time.perf_counter()
        took_s: list[float] = []
        with child("subscribe", url, str(BEHIND)) as behind:
            said(behind)
            began = time.perf_counter()
            over = threading.Event()
            ended: list[float] = []

            def wait() -> None:
                ended.append(float(said(behind)))
                over.set()

            threading.Thread(target=wait, daemon=True).start()
            n = 0
            while not over.is_set():
                event = stamped(n)
                client.publish(event)
                while not feed.next(30.0):
                    pass
                took_s.append((time.perf_counter_ns() - event.sent_ns) / 1e9)
                n += 1
                over.wait(0.002)
            over.wait(LONG_S)
        return {"rate": BEHIND / (ended[0] - began), **percentiles(took_s)}


def many(clients: int) -> Figures:
    """Single events from many clients at once, in four processes at most."""
    processes = min(4, clients)
    count = max(100, 3_000 // clients)
    shares = [clients // processes + (n < clients % processes) for n in range(processes)]
    with hub() as url:
        publishing = [child("publish_many", url, str(s), str(count)) for s in shares]
        opened = [p.__enter__() for p in publishing]
        for process in opened:
            said(process)
        began = time.perf_counter()
        for process in opened:
            tell(process, "go")
        took_s = [float(t) for process in opened for t in said(process).split()]
        rate = clients * count / (time.perf_counter() - began)
        for context in publishing:
            context.__exit__(None, None, None)
        return {"rate": rate, **percentiles(took_s)}


def idle(clients: int) -> Figures:
    """What a hub has for clients that do nothing."""
    with child("serve", "ipc", "0") as serving:
        url = said(serving)
        held = [joined(url, f"idle-{n}") for n in range(clients)]
        for client in held:
            client.publish(tested(0))
        time.sleep(IDLE_S)  # until threads that there need not be have ended
        status = Path(f"/proc/{serving.pid}/status").read_text()
        for client in held:
            client.close()
    found = {
        name: float(status.partition(f"{name}:")[2].split()[0]) for name in ("Threads", "VmRSS")
    }
    return {"threads": found["Threads"], "hub_mb": found["VmRSS"] / 1024}


def bare_socket() -> Figures:
    """The limit: an event there and a byte back, by a Unix socket."""
    with tempfile.TemporaryDirectory() as folder, child("echo_socket", f"{folder}/s") as echoing:
        said(echoing)
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(f"{folder}/s")
            frame = struct.pack(">I", 300) + b"x" * 300

            def once(_: int) -> None:
                sock.sendall(frame)
                sock.recv(16)

            return _timed(once, SINGLES)


def nng_request() -> Figures:
    """The peer: nng's REQ/REP, one event a frame."""
    import pynng

    with tempfile.TemporaryDirectory() as folder:
        url = f"ipc://{folder}/s"
        with child("echo_nng", url) as echoing, pynng.Req0() as req:
            said(echoing)
            req.dial(url, block=True)

            def once(_: int) -> None:
                req.send(b"x" * 300)
                req.recv()

            return _timed(once, SINGLES)


def nng_publish() -> Figures:
    """The peer: nng's PUB/SUB at full speed, and how much arrives."""
    import pynng

    with tempfile.TemporaryDirectory() as folder:
        url = f"ipc://{folder}/s"
        with pynng.Pub0(listen=url) as pub, child("hear_nng", url) as hearing:
            said(hearing)
            began = time.perf_counter()
            for _ in range(FLOW):
                pub.send(b"x" * 300)
            took_s = time.perf_counter() - began
            heard = int(said(hearing))
    return {"rate": FLOW / took_s, "lost": 1 - heard / FLOW}


def _timed(once: Callable[[int], object], count: int) -> Figures:
    took_s: list[float] = []
    for n in range(count):
        began = time.perf_counter()
        once(n)
        took_s.append(time.perf_counter() - began)
    return {"rate": count / sum(took_s), **percentiles(took_s)}


MEASURES: dict[str, Callable[[], Figures]] = {
    "flow/ipc": lambda: flow("ipc"),
    "flow/tls": lambda: flow("tls"),
    "single/ipc": lambda: single("ipc"),
    "single/tls": lambda: single("tls"),
    "ask/1": lambda: ask(1),
    "ask/4": lambda: ask(4),
    "fan-out": lambda: fan_out(100),
    "catch-up": catch_up,
    "idle": partial(idle, 100),
    "bare socket": bare_socket,
    "nng req/rep": nng_request,
    "nng pub/sub": nng_publish,
    **{f"clients/{n:02}": partial(many, n) for n in CLIENTS},
}


def lines(found: dict[str, Figures]) -> Iterator[str]:
    for name, figures in found.items():
        said_ = f"{figures['rate']:9,.0f}/s" if "rate" in figures else " " * 11
        if "p50_us" in figures:
            said_ += f", p50 {figures['p50_us']:,.0f} us, p99 {figures['p99_us']:,.0f} us"
        if "threads" in figures:
            said_ = f"{figures['threads']:9,.0f} threads, {figures['hub_mb']:.0f} MB"
        if "lost" in figures:
            said_ += f", {figures['lost']:.0%} lost"
        goal = f" (goal {GOALS[name]})" if name in GOALS else ""
        yield f"{name:12} {said_}{goal}"
    if "flow/ipc" in found and "flow/tls" in found:
        share = found["flow/tls"]["rate"] / found["flow/ipc"]["rate"]
        yield f"tls has {share:.0%} of ipc's batches (goal >= 65 %)"
    if "single/ipc" in found and "bare socket" in found:
        ours, bare = found["single/ipc"]["p50_us"], found["bare socket"]["p50_us"]
        yield f"a durable event costs {ours / bare:.1f} x a bare socket's round trip"
    for name, most in (("single/ipc", 1.7), ("ask/1", 2.6)):
        if name in found and "nng req/rep" in found:
            ours, peer = found[name]["p50_us"], found["nng req/rep"]["p50_us"]
            yield f"{name} takes {ours / peer:.1f} x a bare one of nng's (goal <= {most} x)"


def quick() -> Ratios:
    """Single events over ipc and TLS, to a bare round trip of nng."""

    def one(carrier: str) -> float:
        found: float = ratio(
            lambda: 1 / single(carrier)["p50_us"], lambda: 1 / nng_request()["p50_us"]
        )
        return found

    return {f"single/{carrier}": one(carrier) for carrier in ("ipc", "tls")}


def main() -> None:
    quickly(quick)
    if sys.argv[1:2] == ["--measure"]:
        report(MEASURES[sys.argv[2]]())
        return
    options = arguments(__doc__).parse_args()
    runs: dict[str, Run] = {
        name: partial(run, sys.executable, __file__, "--measure", name)
        for name in MEASURES
        if options.only in name
    }
    head = heading(options.rounds)
    found = in_turn(options.rounds, runs)
    keep([head, *lines(found)], RESULT)


if __name__ == "__main__":
    main()
