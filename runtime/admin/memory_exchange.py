"""Export and import of memory: a file of what a home remembers, and the way back."""

import time
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from cortex.bus import Event
from cortex.bus.events import (
    MemoryLinked,
    MemoryPinned,
    MemoryRecorded,
    MemoryRefused,
)
from cortex.runtime.kernel import Home, RefusedError
from cortex.runtime.memory import (
    HomeMemory,
    Scope,
    exported,
    import_requests,
    lines_of,
    read_lines,
)
from cortex.runtime.sessions import BRIEF_S, Session
from cortex.runtime.subjects import SubjectKeys

TOGETHER = 250  # requests in one transaction
TOGETHER_BYTES = 2 << 20  # of them; a hub takes 4 MiB at once, and one request has far less
WAIT_S = 600.0


class ExportDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What an export has, and what it leaves out."""

    nodes: int
    edges: int
    left_out: int  # nodes of subjects, which a file would hold in clear
    derived: int  # nodes that rules derive from executions
    replaced: int  # nodes that something replaced which left memory
    pinned: int  # of the nodes
    position: int  # of the log


class ImportDocument(msgspec.Struct, frozen=True, kw_only=True):
    """What an import did."""

    recorded: int  # new nodes
    linked: int  # new edges
    known: int  # nodes that were there
    sources: int  # new further sources
    pinned: int  # nodes that are pinned now, and were not
    refused: list[str]  # one line each


def export_memory(
    home: Home, scopes: Sequence[str] = (), *, with_subjects: bool = False
) -> tuple[ExportDocument, Iterator[bytes]]:
    """What is in memory, as lines of a file.

    Args:
        home: Whose memory it is.
        scopes: Only of these; none for all.
        with_subjects: Personal data, too, which is in clear in the file.

    Raises:
        MemoryInvalidError: One of the scopes is none.
        MemoryStoreError: The store cannot be used.
    """
    wanted = {str(Scope.parse(scope)) for scope in scopes}
    with HomeMemory.open(home) as memory:
        view = memory.view
        found = exported(view, wanted, subject_names(home), with_subjects=with_subjects)
        document = ExportDocument(
            nodes=len(found.exchange.nodes),
            edges=len(found.exchange.edges),
            left_out=found.personal,
            derived=found.derived,
            replaced=found.replaced,
            pinned=sum(node.pinned for node in found.exchange.nodes),
            position=view.position,
        )
    return document, lines_of(found.exchange)


def import_memory(home: Home, lines: Iterable[bytes]) -> ImportDocument:
    """Take a file of memory into *home*: nodes keep their ids, and what is there stays.

    Raises:
        MemoryInvalidError: A line is wrong; nothing was taken in.
        MemoryStoreError: The store cannot be used.
        RefusedError: Memory did not answer in time; a second import goes on.
    """
    exchange = read_lines(lines)
    with HomeMemory.open(home) as memory:
        asked = import_requests(exchange, memory.view, subject_names(home), time.time_ns())
    with Session.open(home, patience_s=BRIEF_S) as session:
        # One after the other: each part is about what those before it made.
        recorded, refused = _published(session, asked.records)
        sources, of_sources = _published(session, asked.sources)
        linked, of_links = _published(session, asked.links)
        pinned, of_pins = _published(session, asked.pins)
    return ImportDocument(
        recorded=recorded,
        linked=linked,
        known=len(exchange.nodes) - len(asked.records),
        sources=sources,
        pinned=pinned,
        refused=[*refused, *of_sources, *of_links, *of_pins],
    )


def subject_names(home: Home) -> dict[str, str]:
    """The names of subjects, by the ids that the log has."""
    return {subject.id: subject.name for subject in SubjectKeys.of_home(home.path).all()}


def _published(session: Session, requests: Sequence[Event]) -> tuple[int, list[str]]:
    """Publish *requests*; how many became facts, and why others did not."""
    if not requests:
        return 0, []
    feed = session.client.follow(("memory.*", None))
    left: set[int] = set()
    done, refused = 0, list[str]()
    until = time.monotonic() + WAIT_S
    try:
        for part in _parts(requests):
            last = session.publish(*part)
            left.update(range(last - len(part) + 1, last + 1))
        while left and time.monotonic() < until:
            session.check()
            for record in feed.next(0.1):
                event = session.client.vocabulary.read(record)
                if record.causation not in left:
                    continue
                if isinstance(event, MemoryRefused):
                    refused.append(event.reason)
                elif isinstance(event, MemoryRecorded | MemoryLinked | MemoryPinned):
                    done += 1
                else:
                    continue
                left.discard(record.causation)
    finally:
        feed.close()
    if left:
        raise RefusedError(
            f"{len(left):,} requests were not answered within {WAIT_S:g} s: import it again, which "
            "takes nothing in twice"
        )
    return done, refused


def _parts(requests: Iterable[Event]) -> Iterator[list[Event]]:
    """*requests* in their order, as many together as one transaction may have."""
    part, size_bytes = list[Event](), 0
    for request in requests:
        more_bytes = len(msgspec.msgpack.encode(request))
        if part and (len(part) == TOGETHER or size_bytes + more_bytes > TOGETHER_BYTES):
            yield part
            part, size_bytes = [], 0
        part.append(request)
        size_bytes += more_bytes
    if part:
        yield part
