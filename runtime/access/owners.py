"""Which client owns which data at a hub, read from recorded grants and announcements."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from cortex.bus import (
    RESERVED,
    CortexError,
    Draft,
    Log,
    Logger,
    Recorded,
    Vocabulary,
    decode,
    kept_draft,
    root_of,
)
from cortex.runtime.registry import STREAM, Registration, registry_of

from .grants import READ_PAGE, Grants

log = Logger("cortex.access")


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

    def may(self, client: str, verb: str, topic: str, now_ns: int, key: str | None = None) -> bool:
        """Whether *client* may *verb* events of *topic* with *key* now.

        Or whether it is of the hub's own process.

        Raises:
            LogError: The grants cannot be read.
        """
        if root_of(client) in RESERVED:
            return True
        with self._reading:
            self._grants.follow(self._log, self._vocabulary)
            if not self._grants.knows(client):
                return True
            return self._grants.allows_left(client, verb, topic, now_ns, key)

    def left_by(self, client: str, pending: Sequence[Recorded]) -> list[Draft]:
        """The withdrawals of what *client*, or a part of it, announced last.

        *pending* are the events of the transaction under way, which no log has yet.

        What cannot be read is left to the next time that a hub opens the home.
        """
        try:
            return [
                Draft.of(each.withdrawal())
                for each in announced_by(client, self._log, self._vocabulary, pending)
            ]
        except CortexError as error:
            log.warning("not_withdrawn", client=client, error=str(error))
            return []


def announced_by(
    client: str, log: Log, vocabulary: Vocabulary, pending: Sequence[Recorded] = ()
) -> list[Registration]:
    """What *client*, or a part of it ("client/..."), announced and still serves."""
    return [each for each in _registered(log, vocabulary, pending) if each.by == client]


def holders(log: Log, vocabulary: Vocabulary) -> set[str]:
    """Every client and component that has something at the hub of *log*."""
    state = log.state()
    return {
        *(root_of(standing.name) for standing in state.standings),
        *(root_of(kept_draft(deadline).owner) for deadline in state.deadlines),
        *(each.by for each in _registered(log, vocabulary)),
    }


def _registered(
    log: Log, vocabulary: Vocabulary, pending: Sequence[Recorded] = ()
) -> Iterable[Registration]:
    newer = (each for each in pending if each.stream == STREAM)
    records = chain(_records(log), newer)
    return registry_of(records, vocabulary.read).registrations.values()


def _records(log: Log) -> Iterator[Recorded]:
    """What *log* has of the registry."""
    after = 0
    while page := log.read_stream(STREAM, after, READ_PAGE):
        for record in map(decode, page):
            after = record.version
            yield record
