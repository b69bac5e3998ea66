"""Whose what lies at a hub is: read from the grants and announcements that are recorded."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import structlog

from cortex.bus import (
    CortexError,
    Draft,
    Log,
    Recorded,
    Vocabulary,
    decode,
    kept_draft,
    root_of,
)
from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn

from .grants import GRANTS, RESERVED, Grants

log = structlog.get_logger("cortex.access")

REGISTRY = "registry"
READ_PAGE = 256


class RecordedOwners:
    """The owners of one log; each hub of a home has them, served or not.

    Args:
        log: Where grants and announcements are.
        vocabulary: Reads them.
    """

    def __init__(self, log: Log, vocabulary: Vocabulary) -> None:
        self._log, self._vocabulary = log, vocabulary
        self._grants = Grants()
        self._reading = threading.Lock()

    def may(self, client: str, verb: str, topic: str, now_ns: int) -> bool:
        """Whether *client* may *verb* events of *topic* now, or is of the hub's own process.

        Raises:
            LogError: The grants cannot be read.
        """
        if root_of(client) in RESERVED:
            return True
        with self._reading:
            self._freshen()
            if not self._grants.knows(client):
                return True
            return self._grants.allows_left(client, verb, topic, now_ns)

    def left_by(self, client: str, pending: Sequence[Recorded]) -> list[Draft]:
        """The withdrawals of what *client*, or a part of it, announced last.

        *pending* are the events of the transaction under way, which no log has yet.

        What cannot be read is left to the next time that a hub opens the home.
        """
        try:
            return [
                Draft.of(ComponentWithdrawn(component=e.component, kind=e.kind, name=e.name))
                for e in announced_by(client, self._log, self._vocabulary, pending)
            ]
        except CortexError as error:
            log.warning("not_withdrawn", client=client, error=str(error))
            return []

    def _freshen(self) -> None:
        while page := self._log.read_stream(GRANTS, self._grants.version, READ_PAGE):
            for data in page:
                record = decode(data)
                if record.topic in self._vocabulary:  # others are no grants
                    self._grants.take(self._vocabulary.read(record))
                self._grants.version = record.version


def announced_by(
    client: str, log: Log, vocabulary: Vocabulary, pending: Sequence[Recorded] = ()
) -> list[ComponentAnnounced]:
    """What stands of what *client*, or a part of it ("client/..."), announced."""
    return [event for who, event in _announced(log, vocabulary, pending) if who == client]


def holders(log: Log, vocabulary: Vocabulary) -> set[str]:
    """Every client and component that has something at the hub of *log*."""
    state = log.state()
    return {
        *(root_of(standing.name) for standing in state.standings),
        *(root_of(kept_draft(deadline).owner) for deadline in state.deadlines),
        *(who for who, _ in _announced(log, vocabulary)),
    }


def _announced(
    log: Log, vocabulary: Vocabulary, pending: Sequence[Recorded] = ()
) -> Iterable[tuple[str, ComponentAnnounced]]:
    """Who announced what, as it stands."""
    standing: dict[tuple[str, str], tuple[str, ComponentAnnounced]] = {}
    for record in chain(_recorded(log), pending):
        if record.stream != REGISTRY or record.topic not in vocabulary:
            continue  # of no meaning here, whoever said it
        event = vocabulary.read(record)
        if isinstance(event, ComponentAnnounced):
            standing[event.kind, event.name] = root_of(record.source), event
        elif isinstance(event, ComponentWithdrawn):
            standing.pop((event.kind, event.name), None)
    return standing.values()


def _recorded(log: Log) -> Iterator[Recorded]:
    """What *log* has of the registry."""
    after = 0
    while page := log.read_stream(REGISTRY, after, READ_PAGE):
        for record in map(decode, page):
            after = record.version
            yield record
