"""A log whose oldest records are in its archive, and one with the same records that has none."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from cortex.bus import (
    FORMAT,
    Batch,
    Client,
    Hub,
    LocalHub,
    Recorded,
    Row,
    SystemClock,
    decode,
    encode,
    system_entropy,
)
from cortex.bus.events import VOCABULARY, LogSegmentSealed
from cortex.runtime.log import EventLog, Sealer

STREAMS = 5  # of them the first has every second event, as a long execution would


def rows(log: EventLog, count: int) -> list[Row]:
    """The next *count* events, of several streams."""
    versions: dict[str, int] = {}
    made: list[Row] = []
    for position in range(log.head + 1, log.head + count + 1):
        stream = f"run/{0 if position % 2 else position % STREAMS}"
        version = versions.get(stream) or log.stream_version(stream)
        versions[stream] = version + 1
        record = Recorded(
            format=FORMAT,
            position=position,
            stream=stream,
            version=version + 1,
            id=position.to_bytes(16, "big"),
            time_ns=1_000 + position,
            topic="x.tests.done",
            schema=1,
            correlation=stream,
            causation=None,
            source="tests",
            key=None,
            subject=None,
            body=b"\x81\xa1n" + b"\xcd" + (position % 65_536).to_bytes(2, "big"),
        )
        made.append(Row(position, stream, version + 1, encode(record)))
    return made


def fill(log: EventLog, count: int) -> None:
    """Append *count* events."""
    log.write(Batch(rows=rows(log, count)))


def append(log: EventLog, stream: str) -> None:
    """Append one event of *stream*."""
    (row,) = rows(log, 1)
    version = log.stream_version(stream) + 1
    record = replace(decode(row.record), stream=stream, version=version)
    log.write(Batch(rows=[Row(row.position, stream, version, encode(record))]))


def seal(
    log: EventLog,
    through: int,
    pause: Callable[[float], bool] = lambda _: False,
    kind: type[Sealer] = Sealer,
) -> LogSegmentSealed | None:
    """Seal the next segment; the event comes from a hub that begins where the log ends now."""
    with closing(
        LocalHub(Hub(log, VOCABULARY, system_entropy), SystemClock(), begins=False)
    ) as hub:
        client = Client("tests", hub, log, VOCABULARY)
        return kind(log, client.publish, pause).seal(through, "tests")


def sealed_log(path: Path, count: int, *through: int) -> EventLog:
    """A log of *count* events and those of sealing, in segments that end at *through*."""
    log = EventLog.open(path)
    fill(log, count)
    for last in through:
        assert seal(log, last) is not None
    return log
