"""Requests that wait: for the compiler, or for a process that lacks something."""

from collections.abc import Callable, Iterator

import msgspec

from cortex.bus import Recorded, Vocabulary
from cortex.bus.events import ExecutionDeferred, ExecutionRequest, ProcessSubmit, StepWake
from cortex.runtime.kernel import Forget, Later, Output
from cortex.runtime.processes import LinkedProcess

from .choosing import Refusal

WAKE = "request"  # the subject of a `step.wake` for a waiting request
UNLINKED = "unlinked"  # the same, after waiting too long for its process
COMPILE_S = 60.0  # how long to wait for an answer of the compiler
MOST = 1_000  # maximum of requests that wait for their process, or for the compiler
MOST_BYTES = 16 << 20  # of all of them together
BEGUN = frozenset(f"execution.{verb}" for verb in ("started", "failed", "cancelled"))


class WaitingSnapshot(msgspec.Struct, frozen=True):
    """The contents of a snapshot."""

    submitted: dict[int, int]
    held: dict[str, ExecutionRequest]
    deferred: dict[str, ExecutionRequest] = {}


class Waiting:
    """Submissions without an answer, and the requests after them; deferred requests.

    A deferred request waits from its `execution.deferred` until the log says that its execution was
    begun or abandoned. Both are committed with the wake that they answer, so that a kill in between
    leaves either the wake or its answer, and never both.
    """

    def __init__(
        self, history: Callable[[str], Iterator[Recorded]], vocabulary: Vocabulary
    ) -> None:
        self._history, self._vocabulary = history, vocabulary
        self._submitted: dict[int, int] = {}  # time in nanoseconds, by position
        self._held: dict[str, ExecutionRequest] = {}  # by execution
        self._held_sizes: dict[str, int] = {}  # of those in bytes
        self._deferred: dict[str, ExecutionRequest] = {}  # by execution
        self._sizes: dict[str, int] = {}  # of those in bytes
        self._measured: tuple[ExecutionRequest | None, int] = None, 0  # the newest, and its bytes

    def submit(self, event: ProcessSubmit, position: int, time_ns: int) -> None:
        """Sources were submitted."""
        if event.sources or event.removed:
            self._submitted[position] = time_ns

    def hold(self, event: ExecutionRequest, time_ns: int) -> Later | Refusal | None:
        """Hold *event* if a compilation is running; returns the deadline after which it begins.

        If too many wait already, returns why it is not held.
        """
        self._submitted = {
            position: at_ns
            for position, at_ns in self._submitted.items()
            if time_ns - at_ns < COMPILE_S * 1e9
        }
        if not self._submitted or event.execution_id in self._held:
            return None
        size, held_bytes = self._size(event), sum(self._held_sizes.values())
        if len(self._held) >= MOST or held_bytes + size > MOST_BYTES:
            return Refusal(
                f"{len(self._held):,} requests of {held_bytes:,} bytes wait for sources that "
                f"are being compiled, and {MOST:,} of {MOST_BYTES:,} may: ask again once those are"
            )
        self._held[event.execution_id] = event
        self._held_sizes[event.execution_id] = size
        return _wake(event.execution_id, time_ns + round(COMPILE_S * 1e9))

    def answered(self, position: int, time_ns: int) -> list[Later]:
        """The submission at *position* has an answer: wake what waited, if nothing else is open.

        The compiler commits all events about a submission together, and a deadline is due
        after committed events, so that every answer is known by then.
        """
        if self._submitted.pop(position, None) is None or self._submitted:
            return []
        return [_wake(execution_id, time_ns) for execution_id in self._held]

    def has_room(self, request: ExecutionRequest) -> bool:
        """Whether *request* may wait for its process: it waits already, or there is room for it."""
        if request.execution_id in self._deferred:
            return True
        if len(self._deferred) >= MOST:
            return False
        return sum(self._sizes.values()) + self._size(request) <= MOST_BYTES

    def defer(
        self,
        request: ExecutionRequest,
        process: str,
        missing: tuple[str, ...],
        time_ns: int,
        waits_s: float,
    ) -> Iterator[Output]:
        """Make *request* wait for the missing parts of *process*; reports that only once."""
        execution_id = request.execution_id
        if execution_id in self._deferred:
            return
        yield ExecutionDeferred(
            execution_id=execution_id, process=process, missing=missing, waits_s=waits_s
        )
        event = StepWake(execution_id=execution_id, step_id="", what=UNLINKED)
        yield Later(_unlinked(execution_id), time_ns + round(waits_s * 1e9), event)
        self._keep(request)

    def linked(self, process: LinkedProcess, time_ns: int) -> Iterator[Output]:
        """Wake requests that waited for *process*, after the events of its compilation."""
        names = {process.name, *dict(process.implements)}
        for execution_id, request in self._deferred.items():
            if request.process in names:
                yield _wake(execution_id, time_ns)

    def said(self, event: ExecutionDeferred, time_ns: int) -> Iterator[Output]:
        """Restore one that was deferred before this start, and wake it.

        Its process may have been linked between the request and its deferral.
        """
        if self.take_up(event):
            yield _wake(event.execution_id, time_ns)

    def take_up(self, event: ExecutionDeferred) -> bool:
        """Fold *event*; return whether it was new."""
        if event.execution_id in self._deferred:
            return False
        request = self._read(event.stream())
        if request is not None:
            self._keep(request)
        return request is not None

    def woken(self, event: StepWake) -> ExecutionRequest | None:
        """The request to begin now, unless the log has its outcome.

        A request that waited for the compiler is removed; a deferred one stays until `begun`.
        """
        held = self._held.pop(event.execution_id, None)
        if held is not None:
            del self._held_sizes[event.execution_id]
        if held is None and event.execution_id not in self._deferred:
            return None
        request = self._read(event.stream())
        if request is None and event.execution_id in self._deferred:
            self._let_go(event.execution_id)
        return request

    def begun(self, execution_id: str) -> Iterator[Output]:
        """Note that a request no longer waits."""
        if execution_id in self._deferred:
            yield Forget(_unlinked(execution_id))
            self._let_go(execution_id)

    def snapshot(self) -> bytes:
        """The state, for `restore`."""
        return msgspec.msgpack.encode(WaitingSnapshot(self._submitted, self._held, self._deferred))

    def restore(self, snapshot: bytes) -> None:
        """Restore the state from `snapshot`."""
        kept = msgspec.msgpack.decode(snapshot, type=WaitingSnapshot)
        self._submitted, self._held = dict(kept.submitted), dict(kept.held)
        self._held_sizes = {name: self._size(held) for name, held in self._held.items()}
        self._deferred, self._sizes = {}, {}
        for request in kept.deferred.values():
            self._keep(request)

    def _keep(self, request: ExecutionRequest) -> None:
        self._deferred[request.execution_id] = request
        self._sizes[request.execution_id] = self._size(request)

    def _size(self, request: ExecutionRequest) -> int:
        """Its size in bytes; repeated calls encode it only once."""
        if self._measured[0] is not request:
            self._measured = request, _size(request)
        return self._measured[1]

    def _let_go(self, execution_id: str) -> None:
        del self._deferred[execution_id], self._sizes[execution_id]

    def _read(self, stream: str) -> ExecutionRequest | None:
        """The request in *stream*; None if its execution began or was abandoned."""
        found: ExecutionRequest | None = None
        for record in self._history(stream):
            if record.topic in BEGUN:
                return None
            if found is None and record.topic == ExecutionRequest.topic_name():
                event = self._vocabulary.read(record)
                found = event if isinstance(event, ExecutionRequest) else None
        return found


def _size(request: ExecutionRequest) -> int:
    return len(msgspec.msgpack.encode(request))


def _unlinked(execution_id: str) -> str:
    return f"execution/{execution_id}/unlinked"


def _wake(execution_id: str, at_ns: int) -> Later:
    event = StepWake(execution_id=execution_id, step_id="", what=WAKE)
    return Later(f"execution/{execution_id}/request", at_ns, event)
