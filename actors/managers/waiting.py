"""Requests that wait for the compiler: what was submitted before them may be what they name."""

import msgspec

from cortex.bus.events import ExecutionRequest, ProcessSubmit, StepWake
from cortex.runtime.kernel import Later

WAKE = "request"  # what a `step.wake` is about that a request waits for
COMPILE_S = 60.0  # a compiler that says nothing for so long is not waited for


class Kept(msgspec.Struct, frozen=True):
    """What a snapshot holds."""

    submitted: dict[int, int]
    held: dict[str, ExecutionRequest]


class Waiting:
    """Submissions without an answer, and the requests that came after them."""

    def __init__(self) -> None:
        self._submitted: dict[int, int] = {}  # when, in nanoseconds, by position
        self._held: dict[str, ExecutionRequest] = {}  # by execution

    def submit(self, event: ProcessSubmit, position: int, time_ns: int) -> None:
        """Sources were submitted; where there are none, all are looked at once more."""
        self._submitted[position] = time_ns

    def hold(self, event: ExecutionRequest, time_ns: int) -> Later | None:
        """Keep *event* if something is being compiled; the deadline after which it is begun."""
        self._submitted = {
            position: at_ns
            for position, at_ns in self._submitted.items()
            if time_ns - at_ns < COMPILE_S * 1e9
        }
        if not self._submitted or event.execution_id in self._held:
            return None
        self._held[event.execution_id] = event
        return _wake(event.execution_id, time_ns + round(COMPILE_S * 1e9))

    def answered(self, position: int, time_ns: int) -> list[Later]:
        """The submission at *position* has an answer: wake what waited, if nothing else is open.

        The compiler commits all that it says about a submission together, and a deadline comes
        after what is committed, so that every answer is known when it does.
        """
        if self._submitted.pop(position, None) is None or self._submitted:
            return []
        return [_wake(execution_id, time_ns) for execution_id in self._held]

    def release(self, execution_id: str) -> ExecutionRequest | None:
        """The request that waited, once; None where none did."""
        return self._held.pop(execution_id, None)

    def snapshot(self) -> bytes:
        """All of it, for `restore`."""
        return msgspec.msgpack.encode(Kept(self._submitted, self._held))

    def restore(self, snapshot: bytes) -> None:
        """Take up what `snapshot` gave."""
        kept = msgspec.msgpack.decode(snapshot, type=Kept)
        self._submitted, self._held = dict(kept.submitted), dict(kept.held)


def _wake(execution_id: str, at_ns: int) -> Later:
    event = StepWake(execution_id=execution_id, step_id="", what=WAKE)
    return Later(f"execution/{execution_id}/request", at_ns, event)
