"""How fast is the bus in one process: publish to handled, publish to acknowledged, ask to reply?

* *flow*: a producer publishes typed events in batches of 100, each batch durable when `publish`
  comes back, while a component decodes and handles every one. The peer is AutoGen core
  (`SingleThreadedAgentRuntime`, in memory): `publish_message` of the same typed data until it is
  idle. The bare limit writes rows of the same size in the same batches with ``sqlite3``.
* *single*: one typed event at a time, each acknowledged before the next; the bare limit likewise.
* *ask*: one component asks another, past the log: one that `answers_at_once`, and one that is asked
  by its mailbox. The peer is AutoGen's `send_message`; the bare limit is ``ask`` of a pykka actor.
* *durable ask*: the same by two events in the log, request and reply, each on disk before it is
  seen.
"""

import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import peers
import pykka
from measure import (
    Figures,
    Ratios,
    Run,
    arguments,
    heading,
    in_turn,
    keep,
    peer,
    percentiles,
    quickly,
    ratio,
    report,
    run,
)

from cortex.bus import Event, Query
from cortex.runtime.kernel import Component, Config, Delivery, Home, Runtime, on

RESULT = Path(__file__).parent / "results" / "bench_bus.txt"
MODES = ("normal", "full")
BATCH = 100
COUNTS = {"flow": 60_000, "single": 2_000, "ask": 20_000, "mailbox": 20_000, "durable": 1_500}
PEER_EVENTS, PEER_ASKS = 5_000, 5_000
GOALS = {"flow": 50_000, "ask": 20_000, "ask_p50_us": 60}
SUMMARY = "148 passed in 12.3 s"


class Tested(Event, frozen=True, kw_only=True, tag="x.bench.tested"):
    """Tests were run."""

    belongs = ("execution", "execution_id")

    execution_id: str
    number: int
    passed: bool
    summary: str


class Begin(Event, frozen=True, kw_only=True, tag="x.bench.begin"):
    """Ask the asking component to begin."""

    asks: int


class Ended(Event, frozen=True, kw_only=True, tag="x.bench.ended"):
    """The asking component is done."""

    took_s: float
    each_s: list[float]


class Ping(Query, frozen=True, kw_only=True, tag="x.bench.ping"):
    """A question."""

    number: int


class Pong(Event, frozen=True, kw_only=True, tag="x.bench.pong"):
    """Its answer."""

    number: int


class PingAsked(Event, frozen=True, kw_only=True, tag="x.bench.ping_asked"):
    """The question, in the log."""

    number: int


class PongGiven(Event, frozen=True, kw_only=True, tag="x.bench.pong_given"):
    """Its answer, in the log."""

    number: int


class Counting(Component):
    """Handles every event, in order."""

    handled = 0
    awaited = 0
    reached = threading.Event()

    @on(Tested)
    def count(self, event: Tested, _: Delivery) -> None:
        """Count."""
        Counting.handled += event.passed
        if Counting.handled == Counting.awaited:
            Counting.reached.set()


class Answering(Component):
    """Answers by its mailbox, or by the log."""

    @on(Ping)
    def answer(self, query: Ping, _: Delivery) -> Iterator[Event]:
        """Answer."""
        yield Pong(number=query.number)

    @on(PingAsked)
    def give(self, event: PingAsked, _: Delivery) -> Iterator[Event]:
        """Answer by the log."""
        yield PongGiven(number=event.number)


class AnsweringAtOnce(Answering):
    """Answers in the asker's thread while it is idle."""

    answers_at_once = True


class Asking(Component):
    """Asks another component, many times in a row."""

    def __init__(self, ask: Any) -> None:
        self._ask = ask

    @on(Begin)
    def begin(self, event: Begin, _: Delivery) -> Iterator[Event]:
        """Ask."""
        each_s: list[float] = []
        started = time.perf_counter()
        for number in range(event.asks):
            began = time.perf_counter()
            self._ask(Ping(number=number))
            each_s.append(time.perf_counter() - began)
        yield Ended(took_s=time.perf_counter() - started, each_s=each_s[-10_000:])


def opened(mode: str, folder: str, *components: type[Component]) -> Runtime:
    """A runtime of these components on a home of its own."""
    config = Config(durability="full" if mode == "full" else "normal")
    return Runtime(Home.create(Path(folder) / ".cortex"), components=components, config=config)


def flow(mode: str, count: int) -> Figures:
    """Typed events a second, from making them until the last one was handled."""
    with tempfile.TemporaryDirectory() as folder, opened(mode, folder, Counting) as runtime:
        client = runtime.client("bench")
        for warm in (True, False):
            events = BATCH * 20 if warm else count
            Counting.awaited = Counting.handled + events
            Counting.reached.clear()
            started = time.perf_counter()
            for first in range(0, events, BATCH):
                execution_id = f"{first // 1_000:x}"
                client.publish(
                    *[
                        Tested(
                            execution_id=execution_id, number=number, passed=True, summary=SUMMARY
                        )
                        for number in range(first, first + BATCH)
                    ]
                )
            published_s = time.perf_counter() - started
            if not Counting.reached.wait(60.0):
                sys.exit(f"{Counting.handled} of {Counting.awaited} events were handled")
            took_s = time.perf_counter() - started
    return {"flow": count / took_s, "published": count / published_s}


def single(mode: str, count: int) -> Figures:
    """Events a second one at a time, and how long each takes until it is on disk."""
    took_s: list[float] = []
    with tempfile.TemporaryDirectory() as folder, opened(mode, folder, Counting) as runtime:
        client = runtime.client("bench")
        for number in range(count):
            tested = Tested(execution_id="1", number=number, passed=True, summary=SUMMARY)
            began = time.perf_counter()
            client.publish(tested)
            took_s.append(time.perf_counter() - began)
    return {"single": count / sum(took_s), **percentiles(took_s)}


def ask(mode: str, count: int, answering: type[Component] = AnsweringAtOnce) -> Figures:
    """Questions a second from one component to another, past the log."""
    with (
        tempfile.TemporaryDirectory() as folder,
        opened(mode, folder, answering, Asking) as runtime,
    ):
        client = runtime.client("bench")
        feed = client.follow(("x.bench.ended", None))
        client.publish(Begin(asks=2_000), Begin(asks=count))
        ended: list[Ended] = []
        while len(ended) < 2:
            records = feed.next(60.0)
            if not records:
                sys.exit("the asking component never ended")
            ended += [msgspec.msgpack.decode(record.body, type=Ended) for record in records]
    return {"ask": count / ended[-1].took_s, **percentiles(ended[-1].each_s)}


def mailbox(mode: str, count: int) -> Figures:
    """Questions a second to a component that is asked by its mailbox."""
    return ask(mode, count, Answering)


def durable(mode: str, count: int) -> Figures:
    """Questions a second by two events in the log, seen from who asks."""
    took_s: list[float] = []
    with tempfile.TemporaryDirectory() as folder, opened(mode, folder, Answering) as runtime:
        client = runtime.client("bench")
        feed = client.follow(("x.bench.pong_given", None))
        for number in range(count):
            began = time.perf_counter()
            client.publish(PingAsked(number=number))
            if not feed.next(30.0):
                sys.exit(f"question {number} was not answered")
            took_s.append(time.perf_counter() - began)
    return {"ask": count / sum(took_s), **percentiles(took_s)}


def bare_rows(mode: str, count: int, batch: int) -> Figures:
    """Rows a second of one transaction a batch, with a record and its columns."""
    record, took_s = b"x" * 260, list[float]()  # as large as the records of `Tested` are
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "log.db", isolation_level=None)
        connection.execute("pragma journal_mode = wal")
        connection.execute(f"pragma synchronous = {mode}")
        connection.execute("pragma wal_autocheckpoint = 16000")
        connection.execute(
            "create table events (position integer primary key, stream text, version integer, "
            "record blob, unique (stream, version)) strict"
        )
        for first in range(0, count, batch):
            began = time.perf_counter()
            connection.execute("begin immediate")
            connection.executemany(
                "insert into events values (?, ?, ?, ?)",
                [
                    (position, f"execution/{first // 1_000:x}", position, record)
                    for position in range(first + 1, first + batch + 1)
                ],
            )
            connection.execute("commit")
            took_s.append(time.perf_counter() - began)
        connection.close()
    return {"rate": count / sum(took_s), **percentiles(took_s)}


def bare_ask(_: str, count: int) -> Figures:
    """Questions a second to a bare pykka actor."""

    class Answerer(pykka.ThreadingActor):
        def on_receive(self, message: Any) -> Any:
            return message

    sys.setswitchinterval(0.0005)  # as a runtime sets it
    actor, took_s = Answerer.start(), list[float]()
    for number in range(count):
        began = time.perf_counter()
        actor.ask(number)
        took_s.append(time.perf_counter() - began)
    actor.stop()
    return {"ask": count / sum(took_s), **percentiles(took_s)}


MEASURES = {
    "flow": flow,
    "single": single,
    "ask": ask,
    "mailbox": mailbox,
    "durable": durable,
    "bare-flow": lambda mode, count: bare_rows(mode, count, BATCH),
    "bare-single": lambda mode, count: bare_rows(mode, count, 1),
    "bare-ask": bare_ask,
}


def child(what: str, mode: str) -> Run:
    words = ("--child", what, mode, str(COUNTS[what.removeprefix("bare-")]))
    return lambda: run(sys.executable, __file__, *words)


def subjects(folder: Path) -> dict[str, Run]:
    """What is measured, by name."""
    runs: dict[str, Run] = {}
    autogen = peer(folder, "autogen", "autogen-core")
    if autogen is not None:
        runs["autogen"] = lambda: run(
            autogen, "-c", peers.AUTOGEN, str(PEER_EVENTS), str(PEER_ASKS)
        )
    for mode in MODES:
        for what in ("flow", "bare-flow", "single", "bare-single", "durable"):
            runs[f"{what}/{mode}"] = child(what, mode)
    for what in ("ask", "mailbox", "bare-ask"):
        runs[what] = child(what, "normal")
    return runs


def flow_lines(found: dict[str, Figures]) -> Iterator[str]:
    autogen = found.get("autogen")
    for mode in MODES:
        mine, bare = found.get(f"flow/{mode}"), found.get(f"bare-flow/{mode}")
        if mine and bare:
            goal = f" (goal >= {GOALS['flow']:,})" if mode == "normal" else ""
            yield (
                f"publish -> durable -> handled, batches of {BATCH}, {mode:6}: "
                f"{mine['flow']:,.0f} events/s{goal}, {mine['rss_mb']:.0f} MB"
            )
            yield beside("AutoGen publish, in memory", mine["flow"], autogen, "flow")
            yield beside("bare sqlite3, written only", mine["flow"], bare, "rate")
    for mode in MODES:
        mine, bare = found.get(f"single/{mode}"), found.get(f"bare-single/{mode}")
        if mine and bare:
            yield (
                f"publish -> acknowledged, one at a time, {mode:6}: {mine['single']:,.0f} "
                f"events/s, {latency(mine)}, {mine['rss_mb']:.0f} MB"
            )
            yield beside("bare sqlite3", mine["single"], bare, "rate")


def ask_lines(found: dict[str, Figures]) -> Iterator[str]:
    autogen, bare = found.get("autogen"), found.get("bare-ask")
    if mine := found.get("mailbox"):
        yield (
            f"ask -> reply between components, by the mailbox: {mine['ask']:,.0f}/s, "
            f"{latency(mine)}, {mine['rss_mb']:.0f} MB"
        )
        yield beside("AutoGen send_message", mine["ask"], autogen, "ask")
        yield beside("bare pykka ask", mine["ask"], bare, "ask")
    if mine := found.get("ask"):
        yield (
            f"answered on the asker's thread, no mailbox: {mine['ask']:,.0f}/s "
            f"(goal >= {GOALS['ask']:,}), {latency(mine)} (goal p50 < {GOALS['ask_p50_us']} us), "
            f"{mine['rss_mb']:.0f} MB"
        )
    for mode in MODES:
        if mine := found.get(f"durable/{mode}"):
            yield (
                f"durable ask -> reply, two events in the log, {mode:6}: {mine['ask']:,.0f}/s, "
                f"{latency(mine)}, {mine['rss_mb']:.0f} MB"
            )
            yield beside("AutoGen send_message, in memory", mine["ask"], autogen, "ask")


def beside(name: str, mine: float, other: Figures | None, figure: str) -> str:
    if other is None:
        return f"    {name:32} skipped: it is not installed"
    waited = f", {latency(other)}" if "p50_us" in other and figure != "flow" else ""
    return (
        f"    {name:32} {other[figure]:9,.0f}/s, ours {mine / other[figure]:6.2f} x{waited}, "
        f"{other['rss_mb']:.0f} MB"
    )


def latency(figures: Figures) -> str:
    return f"p50 {figures['p50_us']:,.0f} us, p99 {figures['p99_us']:,.0f} us"


def quick() -> Ratios:
    """Batches, single events and questions, to bare rows and a bare actor."""
    return {
        "flow": ratio(
            lambda: flow("normal", 6_000)["flow"],
            lambda: bare_rows("normal", 6_000, BATCH)["rate"],
        ),
        "single": ratio(
            lambda: 1 / single("normal", 800)["p50_us"],
            lambda: 1 / bare_rows("normal", 800, 1)["p50_us"],
        ),
        "ask": ratio(
            lambda: 1 / ask("normal", 4_000)["p50_us"], lambda: 1 / bare_ask("", 4_000)["p50_us"]
        ),
    }


def main() -> None:
    quickly(quick)
    if sys.argv[1:2] == ["--child"]:
        what, mode, count = sys.argv[2:]
        report(MEASURES[what](mode, int(count)))
        return
    options = arguments(__doc__).parse_args()
    runs = {n: r for n, r in subjects(options.peers).items() if options.only in n}
    head = heading(options.rounds)
    found = in_turn(options.rounds, runs)
    keep([head, *flow_lines(found), *ask_lines(found)], RESULT)


if __name__ == "__main__":
    main()
