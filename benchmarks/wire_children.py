"""What the processes do that the benchmark of the wire starts: a hub, and those that talk to it.

Each says "ready" on its standard output, waits for a line where it is to begin with others, and
says at the end what it measured.
"""

import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from cortex.bus import (
    Client,
    Draft,
    Event,
    Hub,
    HubServer,
    LocalHub,
    Publish,
    Query,
    ServerTls,
    SystemClock,
    connect,
    system_entropy,
)
from cortex.bus.events import VOCABULARY
from cortex.runtime.access import hub_certificate
from cortex.runtime.log import EventLog

BATCH = 256


class Tested(Event, frozen=True, kw_only=True, tag="x.wire.tested"):
    """Tests were run."""

    belongs = ("execution", "execution_id")

    execution_id: str
    number: int
    passed: bool
    sent_ns: int = 0
    summary: str = (
        "148 passed, 2 skipped in 12.3 s; coverage 91 %; slowest: test_catch_up (3.1 s), "
        "test_fan_out (2.2 s), test_ask (1.4 s)"
    )


class Sum(Query, frozen=True, kw_only=True, tag="x.wire.sum"):
    """A question."""

    numbers: tuple[int, ...]


class Total(Query, frozen=True, kw_only=True, tag="x.wire.total"):
    """Its answer."""

    total: int


WORDS = VOCABULARY.extended((Tested, Sum, Total))
TESTED = ("x.wire.tested", None)


def serve(carrier: str, behind: int) -> None:
    """The hub's process: says where it listens, ends with its standard input."""
    sys.setswitchinterval(0.0005)  # as a runtime sets it
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o700)
        log = EventLog.open(Path(folder) / "log.db")
        hub = LocalHub(Hub(log, WORDS, system_entropy), SystemClock())
        for first in range(0, behind, 1_000):
            drafts = [Draft.of(tested(n)) for n in range(first, first + 1_000)]
            hub.submit("before", (Publish(tuple(drafts)),))
        server = HubServer(hub, log)
        if carrier == "tls":
            keys = Path(folder) / "keys"
            keys.mkdir(mode=0o700)
            shown = hub_certificate(keys)
            url = server.listen("tls+tcp://127.0.0.1:0", tls=ServerTls(Path(shown.path)))
            url += f"#{shown.sha256}"
        else:
            url = server.listen(f"ipc://{folder}/bus.sock")
        print(url, flush=True)
        sys.stdin.read()
        server.close()
        hub.close()
        log.close()


def tested(number: int) -> Tested:
    return Tested(execution_id=f"k3f9q2m7{number % 64:02}", number=number, passed=True)


def joined(url: str, name: str) -> Client:
    return connect(url, name=name, vocabulary=WORDS)


def produce(url: str, count: int) -> None:
    with joined(url, f"producer-{os.getpid()}") as client:
        batches = [
            [tested(n) for n in range(first, min(first + BATCH, count))]
            for first in range(0, count, BATCH)
        ]
        print("ready", flush=True)
        sys.stdin.readline()
        for batch in batches:
            client.publish(*batch)
        print("done", flush=True)


def subscribe(url: str, count: int) -> None:
    with joined(url, "subscriber") as client:
        feed = client.follow(TESTED, after=0)
        print("ready", flush=True)
        got = 0
        while got < count:
            for record in feed.next(30.0):
                event = client.vocabulary.read(record)
                got += isinstance(event, Tested)
        print(time.perf_counter(), flush=True)


def answer(url: str) -> None:
    with joined(url, "answerer") as client:
        client.hub.answer(Sum, lambda q, _: Total(total=sum(getattr(q, "numbers", ()))))
        print("ready", flush=True)
        sys.stdin.read()


def ask_many(url: str, count: int) -> None:
    with joined(url, f"asker-{os.getpid()}") as client:
        client.ask(Sum(numbers=(1, 2)))
        print("ready", flush=True)
        sys.stdin.readline()
        for n in range(count):
            client.ask(Sum(numbers=(n, 1)))
        print(time.perf_counter(), flush=True)


def follow_many(url: str, clients: int, shots: int) -> None:
    took_s: list[float] = []

    def follow(number: int) -> None:
        with joined(url, f"follower-{os.getpid()}-{number}") as client:
            feed = client.follow(TESTED)
            ready.release()
            got = 0
            while got < shots:
                for record in feed.next(30.0):
                    now_ns = time.perf_counter_ns()
                    event = client.vocabulary.read(record)
                    if isinstance(event, Tested):
                        took_s.append((now_ns - event.sent_ns) / 1e9)
                        got += 1

    ready = threading.Semaphore(0)
    threads = [threading.Thread(target=follow, args=(n,)) for n in range(clients)]
    for thread in threads:
        thread.start()
    for _ in threads:
        ready.acquire()
    print("ready", flush=True)
    for thread in threads:
        thread.join()
    print(" ".join(f"{t:.6f}" for t in took_s), flush=True)


def stamped(number: int) -> Tested:
    return Tested(execution_id="fan", number=number, passed=True, sent_ns=time.perf_counter_ns())


def publish_many(url: str, clients: int, count: int) -> None:
    took_s: list[float] = []

    def publish(number: int) -> None:
        with joined(url, f"one-{os.getpid()}-{number}") as client:
            ready.release()
            go.wait()
            for n in range(count):
                began = time.perf_counter()
                client.publish(tested(n))
                took_s.append(time.perf_counter() - began)

    ready, go = threading.Semaphore(0), threading.Event()
    threads = [threading.Thread(target=publish, args=(n,)) for n in range(clients)]
    for thread in threads:
        thread.start()
    for _ in threads:
        ready.acquire()
    print("ready", flush=True)
    sys.stdin.readline()
    go.set()
    for thread in threads:
        thread.join()
    print(" ".join(f"{t:.6f}" for t in took_s), flush=True)


def echo_socket(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print("ready", flush=True)
        sock, _ = listener.accept()
        while sock.recv(4_096):
            sock.sendall(b"ok")


def echo_nng(url: str) -> None:
    import pynng

    with pynng.Rep0(listen=url, recv_timeout=2_000) as rep:
        print("ready", flush=True)
        try:
            while True:
                rep.recv()
                rep.send(b"ok")
        except pynng.Timeout:
            return


def hear_nng(url: str) -> None:
    import pynng

    heard = 0
    with pynng.Sub0(recv_timeout=1_500, topics=b"") as sub:
        sub.dial(url, block=True)
        time.sleep(0.2)  # nng does not say when a subscription has reached the publisher
        print("ready", flush=True)
        try:
            while True:
                sub.recv()
                heard += 1
        except pynng.Timeout:
            print(heard, flush=True)


CHILDREN: dict[str, Callable[..., None]] = {
    "serve": lambda carrier, behind: serve(carrier, int(behind)),
    "produce": lambda url, count: produce(url, int(count)),
    "subscribe": lambda url, count: subscribe(url, int(count)),
    "answer": answer,
    "ask_many": lambda url, count: ask_many(url, int(count)),
    "follow_many": lambda url, clients, shots: follow_many(url, int(clients), int(shots)),
    "publish_many": lambda url, clients, count: publish_many(url, int(clients), int(count)),
    "echo_socket": echo_socket,
    "echo_nng": echo_nng,
    "hear_nng": hear_nng,
}


if __name__ == "__main__":
    CHILDREN[sys.argv[1]](*sys.argv[2:])
