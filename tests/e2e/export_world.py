"""A home with events and blobs, to export."""

from contextlib import closing
from pathlib import Path

from cortex.bus.events import KnowledgeRequested
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.log import EventLog, LogTree

LARGE = bytes(range(256)) * 10_000  # more than one line of an export holds


def records(home: Home) -> list[bytes]:
    """Every record of a home's log, after all of it was verified."""
    with closing(EventLog.open(home.log_path, readonly=True)) as log:
        head = log.verify()
        return [bytes(data) for data in log.read(0, head + 1, 1 << 40)]


def root(home: Home) -> bytes:
    """The root of the tree over a home's log."""
    with (
        closing(EventLog.open(home.log_path, readonly=True)) as log,
        LogTree(log, log.state().head) as tree,
    ):
        return tree.root()


def filled(folder: Path, events: int = 50) -> Home:
    """A home in *folder* whose events name blobs; one is large, and one names another."""
    home = Home.create(folder / ".cortex")
    with Runtime(home, components=[]) as runtime:
        client = runtime.client("test")
        inner = runtime.blobs.put(b"within")
        blobs = [runtime.blobs.put(b""), runtime.blobs.put(f'["{inner}"]'.encode())]
        blobs.append(runtime.blobs.put(LARGE))
        for number in range(events):
            if number % 3 == 0:
                blobs.insert(0, runtime.blobs.put(b"found %d" % number))
            client.publish(
                KnowledgeRequested(
                    execution_id=f"e{number % 7}", step_id="s", turn=0, call_id="",
                    query='what "is" \u00e9\n\u2028', found=blobs[-(number % 3 and number % 4)],
                )
            )  # fmt: skip
    return home
