"""How many functions, in how many files, does an event pass from publish to handled and answered?

One event, published by a client, handled by a component, whose answer the client gets: with the
hub in the same process, and over ipc, where the client has the hub's process at the other end (both
ends are counted, in one process). Each function counts once, however often it is called; functions
of libraries do not count. These are counts, not times: one run says all.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from measure import heading, keep

sys.path.insert(0, str(Path(__file__).parents[1] / "dev"))
from call_trace import Trace
from cortex.bus import Client, Event, HubServer, connect
from cortex.runtime.kernel import Component, Config, Delivery, Home, Runtime, on

RESULT = Path(__file__).parent / "results" / "count_path.txt"
GOALS = {"in process": (60, 12), "over ipc": (100, 20)}
SETTLED_S = 1.5  # after which all work of the start is done


Way = Callable[[Runtime, Path], AbstractContextManager[Client]]


class Asked(Event, frozen=True, kw_only=True, tag="x.count.asked"):
    """Something that is answered."""


class Said(Event, frozen=True, kw_only=True, tag="x.count.said"):
    """The answer."""


class Answers(Component):
    """Answers each."""

    @on(Asked)
    def answer(self, _: Asked, __: Delivery) -> Iterator[Event]:
        """Say one thing."""
        yield Said()


@contextmanager
def here(runtime: Runtime, _: Path) -> Iterator[Client]:
    """A client in the process of the hub."""
    yield runtime.client("count")


@contextmanager
def by_ipc(runtime: Runtime, folder: Path) -> Iterator[Client]:
    """A client at the other end of a socket."""
    server = HubServer(runtime.hub, runtime.log)
    try:
        url = server.listen(f"ipc://{folder}/s")
        with connect(url, name="count", vocabulary=runtime.vocabulary) as client:
            yield client
    finally:
        server.close()


def passed(way: Way) -> Trace:
    """What one event passes."""
    trace = Trace()
    with tempfile.TemporaryDirectory() as folder:
        home = Home.create(Path(folder) / ".cortex")
        with (
            trace.installed(),
            Runtime(home, components=[Answers], config=Config()) as runtime,
            way(runtime, Path(folder)) as client,
        ):
            feed = client.follow((Said.topic_name(), None))
            client.publish(Asked())
            feed.next(10.0)
            time.sleep(SETTLED_S)
            with trace.recording():
                client.publish(Asked())
                feed.next(10.0)
    return trace


def lines() -> Iterator[str]:
    ways: dict[str, Way] = {"in process": here, "over ipc": by_ipc}
    for name, way in ways.items():
        trace = passed(way)
        functions, files = GOALS[name]
        yield (
            f"{name:12} {len(trace.calls):4} functions in {len(trace.files):3} files "
            f"(goal <= {functions} in {files})"
        )
        yield from (
            f"    {file:40} {sum(call.file == file for call in trace.calls):3}"
            for file in trace.files
        )


if __name__ == "__main__":
    keep([heading(1), *lines()], RESULT)
