"""What an execution is about: items of a step and branches, in the words that lines begin with."""

from typing import Protocol

from cortex.bus.events import GateEvaluated, StepDelegated, StepFanned, StepItemChanged
from cortex.runtime.kernel import many

from .wording import FinishedLine, one_line

FEW = 16  # items of a step up to which the progress of each is shown
_OVER = frozenset(("completed", "failed", "skipped"))  # statuses of an item
_STOPPED = ("paused", "halted", "failed", "skipped")


class OfStep(Protocol):
    """An event about a step."""

    @property
    def execution_id(self) -> str:
        """The execution."""
        ...

    @property
    def step_id(self) -> str:
        """Its step."""
        ...


class ItemLabels:
    """Remembers which execution carries out which item, and how many items are over."""

    def __init__(self) -> None:
        self._fans: dict[tuple[str, str], tuple[int, int]] = {}  # items of a step, and those done
        self._parts: dict[str, str] = {}  # the step that the execution of an item carries out
        self._within: dict[str, str] = {}  # the item that an execution is about, "review 3"
        self._branches: dict[tuple[str, str], tuple[str, ...]] = {}  # of a step

    def is_many(self, execution_id: str, step_id: str) -> bool:
        """Whether a step has too many items to show the progress of each."""
        return self._fans.get((execution_id, step_id), (0, 0))[0] > FEW

    def delegated(self, event: StepDelegated) -> None:
        """Note what the child of a step is about."""
        inside = self._within.get(event.execution_id, "")
        if event.item:
            branches = self._branches.get((event.execution_id, event.step_id), ())
            known = event.item <= len(branches)
            self._parts[event.child] = branches[event.item - 1] if known else event.step_id
            own = self._parts[event.child] if known else f"{event.step_id} {event.item}"
            inside = f"{own} of {inside}" if inside else own
        if inside:
            self._within[event.child] = inside

    def step(self, event: OfStep) -> str:
        """The step of *event*, with the item that it is about where it is about one."""
        inside = self._within.get(event.execution_id)
        if inside is None:
            return event.step_id
        if event.step_id == self._parts.get(event.execution_id):
            return inside
        return f"{event.step_id} of {inside}"

    def gate(self, event: GateEvaluated) -> str:
        """The gate of *event*, likewise."""
        inside = self._within.get(event.execution_id)
        return f"{event.gate} of {inside}" if inside else event.gate

    def fanned(self, event: StepFanned) -> FinishedLine:
        """The line about a step that works on several items."""
        where = event.execution_id, event.step_id
        self._fans[where] = event.items, 0
        self._branches[where] = event.branches
        noun = ("branch", "branches") if event.branches else ("item", "items")
        number = many(event.items, *noun)
        said = f"{event.step_id}: {number}, {event.at_once} at once"
        return FinishedLine("items", said, "cyan")

    def changed(self, event: StepItemChanged, *, is_told: bool) -> FinishedLine | None:
        """The line about an item that stopped, or about how many are over, if there is any.

        Args:
            event: What changed.
            is_told: Whether its reason was shown already.
        """
        where = event.execution_id, event.step_id
        items, done = self._fans.get(where, (0, 0))
        told = self._stopped(event) if event.status in _STOPPED and not is_told else None
        if event.status not in _OVER:
            return told
        done += 1
        self._fans[where] = items, done
        if told is None and items > FEW and done % max(1, items // 10) == 0:
            said = f"{event.step_id}: {done:,} of {items:,} items are over"
            return FinishedLine("items", said, "cyan")
        return told

    def _stopped(self, event: StepItemChanged) -> FinishedLine:
        branches = self._branches.get((event.execution_id, event.step_id), ())
        known = 0 < event.item <= len(branches)
        name = f"branch {branches[event.item - 1]}" if known else f"item {event.item}"
        why = one_line(event.question or event.reason)
        style = "dim" if event.status == "skipped" else "yellow"
        return FinishedLine(event.status, f"{event.step_id}: {name}: {why}", style)
