"""The event log in memory: for tests, for the simulator, and for data that need not last."""

from collections.abc import Callable, Mapping, Sequence

from cortex.bus import (
    Batch,
    Deadline,
    Epoch,
    Epochs,
    Receipt,
    Row,
    State,
    SubscriptionState,
    Work,
    decode,
)

from . import tiles
from .errors import RowRefusedError
from .opening import new_id


class MemoryLog:
    """The same contract as `EventLog`, in memory.

    `close` keeps everything, so that a simulated restart opens the same object again.
    """

    def __init__(self, new_epoch: Callable[[], int] = new_id) -> None:
        self._new_epoch = new_epoch
        self._epochs: Epochs = (Epoch(new_epoch(), 0),)
        self._unclean = False
        self._records: list[bytes] = []
        self._streams: dict[str, dict[int, int]] = {}  # stream to version to position
        self._leaves = bytearray()
        self._standings: dict[str, SubscriptionState] = {}
        self._work: dict[tuple[str, int], Work] = {}
        self._deadlines: dict[str, Deadline] = {}
        self._receipts: dict[str, Receipt] = {}

    def cut(self, saved: State) -> None:
        """Go back to *saved*, a result of `state`, as after a power loss."""
        for data in self._records[saved.head :]:
            record = decode(data)
            del self._streams[record.stream][record.version]
        del self._records[saved.head :]
        del self._leaves[saved.head * tiles.HASH_BYTES :]
        self._standings = {standing.name: standing for standing in saved.standings}
        self._work = {(work.subscription, work.position): work for work in saved.work}
        self._deadlines = {deadline.name: deadline for deadline in saved.deadlines}
        self._receipts = {receipt.client: receipt for receipt in saved.receipts}
        self._epochs = (*saved.epochs, Epoch(self._new_epoch(), saved.head))
        self._unclean = True

    def state(self) -> State:
        """Everything but the events themselves."""
        return State(
            head=len(self._records),
            time_ns=decode(self._records[-1]).time_ns if self._records else 0,
            standings=[self._standings[name] for name in sorted(self._standings)],
            work=[self._work[key] for key in sorted(self._work)],
            deadlines=[self._deadlines[name] for name in sorted(self._deadlines)],
            receipts=[self._receipts[client] for client in sorted(self._receipts)],
            epochs=self._epochs,
            unclean=self._unclean,
        )

    def write(self, batch: Batch) -> None:
        """Store *batch*, whole or not at all.

        Raises:
            RowRefusedError: The rows do not continue the log.
        """
        self._check(batch.rows)
        for row in batch.rows:
            self._records.append(row.record)
            self._leaves += tiles.leaf_hash(row.record)
            self._streams.setdefault(row.stream, {})[row.version] = row.position
        self._drop(batch.dropped)
        self._standings |= batch.standings
        self._work |= batch.work
        for key in batch.finished:
            self._work.pop(key, None)
        for name in batch.forgotten:
            self._deadlines.pop(name, None)
        self._deadlines |= batch.deadlines
        for client in batch.voided:
            self._receipts.pop(client, None)
        self._receipts |= batch.receipts

    def read(self, after: int, limit: int, limit_bytes: int) -> Sequence[bytes]:
        """Records after position *after*, in order: at most *limit*, about *limit_bytes* together.

        Returns at least one if there is one, however large.
        """
        page: list[bytes] = []
        size_bytes = 0
        for record in self._records[after : after + limit]:
            size_bytes += len(record)
            if size_bytes > limit_bytes and page:
                break
            page.append(record)
        return page

    def read_stream(self, stream: str, after: int, limit: int) -> Sequence[bytes]:
        """Records of one stream after its version *after*, in order, at most *limit*."""
        versions = self._streams.get(stream, {})
        chosen = sorted(version for version in versions if version > after)[:limit]
        return [self._records[versions[version] - 1] for version in chosen]

    def stream_version(self, stream: str) -> int:
        """The newest version of *stream*; 0 if it has none."""
        return max(self._streams.get(stream, ()), default=0)

    def stream_versions(self, streams: Sequence[str]) -> Mapping[str, int]:
        """The same of each of *streams*."""
        return {stream: self.stream_version(stream) for stream in streams}

    def leaf_hashes(self, first: int, last: int) -> bytes:
        """RFC 6962 leaf hashes of positions *first* to *last*, both included, 32 bytes each."""
        return bytes(self._leaves[(first - 1) * tiles.HASH_BYTES : last * tiles.HASH_BYTES])

    def close(self) -> None:
        """Keep everything: the next hub may open this object again."""

    def _check(self, rows: list[Row]) -> None:
        taken: set[tuple[str, int]] = set()
        following = len(self._records) + 1
        for position, row in enumerate(rows, following):
            if row.position != position:
                raise RowRefusedError(row.position, f"the log continues with {following}")
            name = (row.stream, row.version)
            if name in taken or row.version in self._streams.get(row.stream, ()):
                raise RowRefusedError(row.position, f"{row.stream} has a version {row.version}")
            taken.add(name)

    def _drop(self, names: list[str]) -> None:
        for name in names:
            self._standings.pop(name, None)
        for key in [key for key in self._work if key[0] in names]:
            del self._work[key]
