"""The log of a remote hub, for reading."""

from collections.abc import Mapping, Sequence

from ...errors import CortexError, LogError
from ...log import Batch, State
from ..frames import At, LeafHashes, Read, ReadStream, Records, StreamVersion
from .remote import RemoteHub


class RemoteLog:
    """The part of a hub's log that this client may read; only the hub writes it."""

    def __init__(self, hub: RemoteHub) -> None:
        self._hub = hub

    def state(self) -> State:
        """Refuse: only the hub has the state.

        Raises:
            LogError: Always.
        """
        raise LogError("the state of a log is read where the log is: on the hub's machine")

    def write(self, batch: Batch) -> None:  # noqa: ARG002  # of every log
        """Refuse: only the hub writes.

        Raises:
            LogError: Always.
        """
        raise LogError("the log belongs to its hub: publish instead")

    def read(self, after: int, limit: int, limit_bytes: int) -> Sequence[bytes]:
        """Records after position *after* that this client may read, in order."""
        while True:
            page = self._records(Read(after, limit, limit_bytes))
            if page.records or page.through <= after:
                return page.records
            after = page.through

    def read_stream(self, stream: str, after: int, limit: int) -> Sequence[bytes]:
        """Records of one stream after its version *after* that this client may read, in order.

        Fewer than *limit* are the last ones.
        """
        found: list[bytes] = []
        while len(found) < limit:
            page = self._records(ReadStream(stream, after, limit - len(found)))
            found += page.records
            if page.through <= after:
                break
            after = page.through
        return found

    def stream_version(self, stream: str) -> int:
        """The newest version of *stream*; 0 if it has none."""
        answer = self._hub.ask_one("", StreamVersion(stream))
        return answer.value if isinstance(answer, At) else 0

    def stream_versions(self, streams: Sequence[str]) -> Mapping[str, int]:
        """The same of each of *streams*; one request each, since only a hub asks for many."""
        return {stream: self.stream_version(stream) for stream in streams}

    def leaf_hashes(self, first: int, last: int) -> bytes:
        """RFC 6962 leaf hashes of positions *first* to *last*, both included, 32 bytes each."""
        found = bytearray()
        while first <= last:
            page = self._records(LeafHashes(first, last))
            found += b"".join(page.records)
            first = page.through + 1
        return bytes(found)

    def close(self) -> None:
        """Do nothing: it ends with the connection."""

    def _records(self, request: Read | ReadStream | LeafHashes) -> Records:
        answer = self._hub.ask_one("", request)
        if not isinstance(answer, Records):
            raise CortexError(f"a read was answered with {type(answer).__name__}")
        return answer
