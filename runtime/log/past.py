"""A log as it was at a moment, for reading: it ends there, whatever came after."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from cortex.bus import Batch, Log, State, decode

from .errors import LogAccessError

PAGE = 1_024  # events of a stream


class PastLog:
    """The first events of a log, which can only be read."""

    def __init__(self, log: Log, through: int) -> None:
        """Show the events of *log* up to position *through*."""
        self._log, self._through = log, through

    def state(self) -> State:
        """Head and time as they were; who had read what then is not known."""
        last = self.read(self._through - 1, 1, 1) if self._through else ()
        time_ns = decode(last[0]).time_ns if last else 0
        return replace(
            self._log.state(),
            head=min(self._through, self._log.state().head),
            time_ns=time_ns,
            standings=[],
            work=[],
            deadlines=[],
            receipts=[],
        )

    def write(self, batch: Batch) -> None:  # noqa: ARG002  # the protocol's
        """Raises LogAccessError: the past does not change."""
        raise LogAccessError("the past of a log", "it can only be read")

    def read(self, after: int, limit: int, limit_bytes: int) -> Sequence[bytes]:
        """As the log does, up to the last event."""
        left = min(limit, self._through - after)
        return self._log.read(after, left, limit_bytes) if left > 0 else ()

    def read_stream(self, stream: str, after: int, limit: int) -> Sequence[bytes]:
        """As the log does, up to the last event."""
        page = self._log.read_stream(stream, after, limit)
        if not page or decode(page[-1]).position <= self._through:
            return page
        return [data for data in page if decode(data).position <= self._through]

    def stream_version(self, stream: str) -> int:
        """The version of *stream* at the last event; 0 if it had none."""
        version = 0
        while page := self.read_stream(stream, version, PAGE):
            version = decode(page[-1]).version
        return version

    def stream_versions(self, streams: Sequence[str]) -> Mapping[str, int]:
        """The same of each of *streams*."""
        return {stream: self.stream_version(stream) for stream in streams}

    def leaf_hashes(self, first: int, last: int) -> bytes:
        """As the log does."""
        return self._log.leaf_hashes(first, last)

    def close(self) -> None:
        """Release what the log holds."""
        self._log.close()
