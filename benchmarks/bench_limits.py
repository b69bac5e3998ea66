"""What does a client that takes all it may cost the owner of the hub?

The hub runs in a process of its own, on a log on disk, with grants; the owner publishes single
events over ipc and waits for each.

* *alone*: nobody else is there.
* *greedy*: beside a client at all of its limits: as many subscriptions, filter pairs and deadlines
  as it may have, and four connections that publish, read and ask for what is refused, without end.
* *unlimited*: the same client, whose grant bounds neither its requests nor its bytes a second.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec
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

from cortex.bus import (
    Client,
    CortexError,
    Draft,
    Due,
    Event,
    Hub,
    HubServer,
    Limits,
    LocalHub,
    Publish,
    Subscribe,
    SystemClock,
    connect,
    system_entropy,
)
from cortex.bus.events import VOCABULARY
from cortex.runtime.access import HubAccess, Terms, issue
from cortex.runtime.log import BlobStore, EventLog

RESULT = Path(__file__).parent / "results" / "bench_limits.txt"
SINGLES, WARM_S, CONNECTIONS = 3_000, 4.0, 4
UNLIMITED = {"requests_per_s": 0, "bytes_per_s": 0}
GOAL = 1.2


class Said(Event, frozen=True, kw_only=True, tag="x.limits.said"):
    """Some 240 bytes."""

    number: int
    text: str = "148 passed, 2 skipped in 12.3 s; coverage 91 %; slowest: test_catch_up (3.1 s)" * 2


WORDS = VOCABULARY.extended((Said,))


def serve() -> None:
    """The hub's process: says how to reach it, ends with its standard input."""
    sys.setswitchinterval(0.0005)  # as a runtime sets it
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o700)
        log = EventLog.open(folder / "log.db")
        hub = LocalHub(Hub(log, WORDS, system_entropy), SystemClock())
        access = HubAccess(hub, log, WORDS, folder / "keys")
        server = HubServer(hub, log, BlobStore(folder / "blobs"), access)
        url = server.listen(f"ipc://{folder}/bus.sock")
        owner = Client("cli", hub, log, WORDS)
        greedy = Terms(publish=("x.*",), read=("x.*",), subscribe=("x.*",))
        unlimited = msgspec.structs.replace(greedy, limits=UNLIMITED)
        tokens = {
            "greedy": issue(owner, "greedy", greedy),
            "unlimited": issue(owner, "unlimited", unlimited),
            "owner": (folder / "keys" / "owner.token").read_text().strip(),
        }
        print(json.dumps({"url": url, **tokens}), flush=True)
        sys.stdin.read()
        server.close()
        access.close()
        hub.close()
        log.close()


def take(url: str, token: str, name: str) -> None:
    """The greedy client's process: takes all it may, until its standard input ends."""
    limits = Limits()
    with connect(url, token=token, vocabulary=WORDS) as client:
        pairs = limits.filters // limits.subscriptions - 1
        filters = (("x.*", None), *((f"x.limits.n{n}", None) for n in range(pairs)))
        for n in range(limits.subscriptions):
            with contextlib.suppress(CortexError):
                client.hub.ask_one(name, Subscribe(f"{name}/s{n}", "ordered", filters))
        due = [Due(f"d{n}", 1 << 62, Draft.of(Said(number=n))) for n in range(limits.deadlines)]
        with contextlib.suppress(CortexError):
            client.hub.ask_one(name, Publish((), due=tuple(due)))
    over = threading.Event()
    threads = [
        threading.Thread(target=_without_end, args=(url, token, f"{name}/{n}", over))
        for n in range(CONNECTIONS)
    ]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.read()
    over.set()
    for thread in threads:
        thread.join()


def _without_end(url: str, token: str, name: str, over: threading.Event) -> None:
    with connect(url, token=token, name=name, vocabulary=WORDS) as client:
        n = 0
        while not over.is_set():
            n += 1
            with contextlib.suppress(CortexError):
                client.publish(*(Said(number=n) for _ in range(8)))
            with contextlib.suppress(CortexError):
                client.log.read(0, 1_024, 1 << 20)
            with contextlib.suppress(CortexError):
                client.subscribe(f"{name}/more{n}", ("x.*", None))


def single(who: str) -> Figures:
    """The owner's single events, beside *who*."""
    with child("serve") as serving:
        said = json.loads(_line(serving))
        with contextlib.ExitStack() as beside:
            if who != "alone":
                _line(beside.enter_context(child("take", said["url"], said[who], who)))
                time.sleep(WARM_S)  # what may come at once has come
            took_s = []
            with connect(said["url"], token=said["owner"], vocabulary=WORDS) as owner:
                for n in range(SINGLES):
                    began = time.perf_counter()
                    owner.publish(Said(number=n))
                    took_s.append(time.perf_counter() - began)
    return {"rate": SINGLES / sum(took_s), **percentiles(took_s)}


@contextlib.contextmanager
def child(*words: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, __file__, *words]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            if process.stdin:
                process.stdin.close()
            process.wait(60)


def _line(process: subprocess.Popen[str]) -> str:
    line = process.stdout.readline().strip() if process.stdout else ""
    if not line:
        sys.exit("a child process ended early")
    return line


def lines(found: dict[str, Figures]) -> Iterator[str]:
    for name, figures in found.items():
        times = f"p50 {figures['p50_us']:,.0f} us, p99 {figures['p99_us']:,.0f} us"
        yield f"{name:10} {figures['rate']:9,.0f}/s, {times}"
    for name in ("greedy", "unlimited"):
        if name in found and "alone" in found:
            ratio = found[name]["p99_us"] / found["alone"]["p99_us"]
            goal = f" (goal < {GOAL:g})" if name == "greedy" else ""
            yield f"beside {name}, the owner's p99 is {ratio:.2f} x that of an owner alone{goal}"


def quick() -> Ratios:
    """The owner's publishes beside a client at its limits, to those of an owner alone."""
    found: float = ratio(
        lambda: 1 / single("greedy")["p50_us"], lambda: 1 / single("alone")["p50_us"]
    )
    return {"beside a greedy client": found}


def main() -> None:
    quickly(quick)
    match sys.argv[1:]:
        case ["serve"]:
            serve()
        case ["take", url, token, name]:
            take(url, token, name)
        case ["--measure", who]:
            report(single(who))
        case _:
            options = arguments(__doc__).parse_args()
            runs: dict[str, Run] = {
                who: partial(run, sys.executable, __file__, "--measure", who)
                for who in ("alone", "greedy", "unlimited")
                if options.only in who
            }
            found = in_turn(options.rounds, runs)
            keep([heading(options.rounds), *lines(found)], RESULT)


if __name__ == "__main__":
    main()
