"""How an execution goes, step by step, while it runs."""

import time
from collections.abc import Iterator

import msgspec

from cortex.bus import Client, Event, Recorded
from cortex.bus.events import (
    ContextCompile,
    ContextRefused,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionPaused,
    ExecutionResumed,
    GateEvaluated,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepProgress,
    StepSkipped,
    StepUnclaimed,
)

from ..errors import UnwritableError
from ..reading import duration
from ..screen import Screen
from .ailments import Ailments

WAIT_S = 0.5  # Ctrl-C is heard at least this often
FAMILIES = ("execution.*", "step.*", "gate.*", "context.*")
Stop = ExecutionCompleted | ExecutionFailed | ExecutionCancelled | ExecutionHalted | ExecutionPaused
_STOPS = (
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionCancelled,
    ExecutionHalted,
    ExecutionPaused,
)


class Stopped(msgspec.Struct, frozen=True):
    """An execution came to a stop; it may be a child of the one that is followed."""

    event: Stop
    position: int


class Progress:
    """Follows one execution and its children, and says on standard error what it sees."""

    def __init__(
        self, client: Client, screen: Screen | None, execution_id: str, ailments: Ailments
    ) -> None:
        self.execution_id = execution_id
        self._client = client
        self._screen = screen
        self._ailments = ailments
        self._followed = {execution_id: ""}  # ids, and how far their lines are set in
        self._asked_ns: dict[tuple[str, str, int], int] = {}

    def until_stopped(self, after: int, patience_s: float | None = None) -> Stopped | None:
        """Follow from position *after* until it stops; None when *patience_s* is over before.

        Raises:
            UnwritableError: Nothing can be recorded any more.
        """
        feed = self._client.follow(*((family, None) for family in FAMILIES), after=after)
        try:
            deadline = None if patience_s is None else time.monotonic() + patience_s
            while deadline is None or time.monotonic() < deadline:
                records = feed.next(WAIT_S)
                for stopped in self._stops(records):
                    return stopped
                self._check(records)
            return None
        finally:
            feed.close()

    def _check(self, records: list[Recorded]) -> None:
        if any(record.position for record in records):
            self._ailments.clear()
        elif problem := self._ailments.lasting():
            raise UnwritableError(self.execution_id, problem)

    def _stops(self, records: list[Recorded]) -> Iterator[Stopped]:
        for record in records:
            if record.correlation not in self._followed:
                continue
            event = self._client.vocabulary.read(record)
            if isinstance(event, StepDelegated):
                margin = self._followed[record.correlation] + "  "
                self._followed.setdefault(event.child, margin)
            self._tell(record, event)
            if not isinstance(event, _STOPS):
                continue
            own = event.execution_id == self.execution_id
            # A child that ends is its parent's business; one that waits needs a person.
            if own or isinstance(event, ExecutionPaused):
                yield Stopped(event, record.position)

    def _tell(self, record: Recorded, event: Event) -> None:
        if self._screen is None:
            return
        margin = self._followed[record.correlation or self.execution_id]
        lead, line, style = self._line(record, event)
        if lead:
            self._screen.note(line, style, lead=f"{margin}{lead:<9}" if line else f"{margin}{lead}")

    def _line(self, record: Recorded, event: Event) -> tuple[str, str, str]:
        """The leading word of a line, the rest of it, and how the word is styled."""
        match event:
            case ContextCompile() | StepExecute() | StepDelegated():
                where = event.execution_id, event.step_id, event.attempt
                self._asked_ns.setdefault(where, record.time_ns)
            case StepProgress():
                return "at work", f"{event.step_id}: {event.note}", "dim"
            case StepCompleted():
                told = f": {event.summary}" if event.summary else ""
                return "done", f"{event.step_id}{self._took(record, event)}{told}", "green"
            case StepFailed():
                return "failed", f"{event.step_id}: {event.error}", "red"
            case StepSkipped():
                return "skipped", f"{event.step_id}: {event.reason}", "dim"
            case StepUnclaimed():
                return "waiting", f"{event.step_id}: nobody carries out {event.action}", "yellow"
            case GateEvaluated() if event.outcome == "failed":
                return "gate", f"{event.gate} failed: {event.reason}", "red"
            case GateEvaluated() if event.outcome == "passed":
                return "gate", f"{event.gate} passed", "green"
            case ContextRefused():
                return "refused", f"{event.step_id}: {event.reason}", "red"
            case ExecutionResumed():
                return "resumed", "", ""
        return "", "", ""

    def _took(self, record: Recorded, event: StepCompleted) -> str:
        asked_ns = self._asked_ns.get((event.execution_id, event.step_id, event.attempt))
        return f" ({duration((record.time_ns - asked_ns) / 1e9)})" if asked_ns else ""
