"""What a directive costs in a running home: CPU time from `directive.submit` to the fact."""

import statistics
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from cortex.bus import FORMAT, Batch, Client, Event, Feed, Recorded, Row, encode
from cortex.bus.events import DirectiveApplied, DirectiveSubmit
from cortex.runtime.directives import PolicySet
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.log import EventLog

REQUESTS = 1_000
MANY = 10_000  # policies that are there before
REQUEST = DirectiveSubmit(text="use item 1000")
FACT = DirectiveApplied(
    scope="user",
    branch="main",
    text="use item 1000",
    profile="dialogue",
    changes=(PolicySet(item="item 1000", rule="use"),),
    changed=True,
    digest="0" * 64,
    by="owner",
)


def in_a_home() -> list[str]:
    """Lines of a table: median and 99th percentile, beside two bare and durable appends."""
    with TemporaryDirectory(prefix="cortex-bench-") as folder:
        home = Home.create(Path(folder) / ".cortex")
        with Runtime(home) as runtime:
            client = runtime.client("cli")
            with closing(client.follow(("directive.*", None))) as feed:
                few = requests_us(client, feed, "item")
                policies = ",".join(f'"thing {number}":"use"' for number in range(MANY))
                state = f'{{"policies":{{{policies}}},"premise":null,"version":2}}'
                blob = runtime.blobs.put(state.encode())
                answered(client, feed, DirectiveSubmit(state_blob=blob))
                many = requests_us(client, feed, "further item")
    limit = appends_us()
    return [
        f"{'us to lay down in a home':34}{'p50':>11}{'p99':>12}{'':10}{'limit p50':>9}{'p99':>9}",
        line(f"beside 0 to {REQUESTS:,}", few, limit),
        line(f"beside {MANY:,}", many, limit),
    ]


def line(title: str, ours: Sequence[float], limit: Sequence[float]) -> str:
    return (
        f"{title:34}{statistics.median(ours):11,.0f}{p99(ours):12,.0f}{'':10}"
        f"{statistics.median(limit):9,.0f}{p99(limit):9,.0f}"
    )


def p99(took: Sequence[float]) -> float:
    return statistics.quantiles(took, n=100)[98]


def requests_us(client: Client, feed: Feed, item: str) -> list[float]:
    """Microseconds of CPU time of this process, with all its threads, for each new directive."""
    found = []
    for number in range(REQUESTS):
        began = time.process_time()
        fact = answered(client, feed, DirectiveSubmit(text=f"use {item} {number}"))
        found.append((time.process_time() - began) * 1e6)
        if not isinstance(fact, DirectiveApplied) or not fact.changed:
            raise SystemExit(f"not applied: {fact}")
    return found


def answered(client: Client, feed: Feed, request: DirectiveSubmit) -> Event:
    """The fact that answers *request*."""
    asked = client.publish(request)
    while True:
        for record in feed.next(1.0):
            if record.causation == asked:
                return client.vocabulary.read(record)


def appends_us() -> list[float]:
    """Microseconds of CPU time to append a request, then its fact, each durably, to a bare log."""
    found = []
    with TemporaryDirectory(prefix="cortex-bench-") as folder:
        log = EventLog.open(Path(folder) / "log.db")
        for number in range(REQUESTS):
            began = time.process_time()
            for position, event in ((2 * number + 1, REQUEST), (2 * number + 2, FACT)):
                record = encode(recorded(position, event))
                log.write(Batch(rows=[Row(position, event.stream(), position, record)]))
            found.append((time.process_time() - began) * 1e6)
        log.close()
    return found


def recorded(position: int, event: Event) -> Recorded:
    return Recorded(
        format=FORMAT,
        position=position,
        stream=event.stream(),
        version=position,
        id=position.to_bytes(16, "big"),
        time_ns=1_700_000_000_000_000_000 + position,
        topic=event.topic_name(),
        schema=1,
        correlation=None,
        causation=position - 1,
        source="cli",
        key=event.key(),
        subject=None,
        body=msgspec.msgpack.encode(event),
    )
