"""The gate `tests_pass`: the newest run of tests, after the newest change, was green."""

from collections.abc import Callable, Iterator
from typing import Any

from cortex.bus import Recorded, Vocabulary
from cortex.bus.events import GateEvaluate, GateEvaluated
from cortex.runtime.kernel import Component, Delivery, Serves, on

from ..handlers.repair import RepairRecord, recorded_repair
from .verdict import failed, passed

SHOWN = 10  # failing tests that the evidence names
EXCERPT_CHARS = 2_000
REASONS = {
    "never": "no tests were run: put a step with `run_tests` before this one",
    "stale": "the code was written again after the tests: run them on what it is now",
    "running": "the tests did not end yet",
}


class TestsPass(Component):
    """Goes by what this execution recorded; it runs nothing itself."""

    workers = 1
    serves = (Serves("gate", "tests_pass", traits={"read_only": True}),)

    def __init__(
        self, history: Callable[[str], Iterator[Recorded]], vocabulary: Vocabulary
    ) -> None:
        self._history = history
        self._vocabulary = vocabulary

    @on(GateEvaluate, where={"gate": "tests_pass"})
    def evaluate(self, event: GateEvaluate, delivery: Delivery) -> Iterator[GateEvaluated]:
        """Look at the newest run."""
        records = self._history(f"execution/{event.execution_id}")
        record = recorded_repair(records, self._vocabulary)
        evidence = _evidence(record)
        if record.tests == "green":
            yield passed(event, **evidence)
        elif record.tests == "red":
            yield failed(event, _red(record), **evidence)
        else:
            yield failed(event, REASONS[record.tests], **evidence)


def _red(record: RepairRecord) -> str:
    if record.error:
        return f"the tests of {record.step_id} did not pass: {record.error}"
    failing = record.result.get("failed") or ()
    if not failing:
        return f"the tests of {record.step_id} ended with {record.result.get('exit_code')}"
    more = f" and {len(failing) - 1} more" if len(failing) > 1 else ""
    return f"the tests of {record.step_id} are red: {failing[0]}{more}"


def _evidence(record: RepairRecord) -> dict[str, Any]:
    found: dict[str, Any] = {"step": record.step_id} if record.step_id else {}
    for name in ("command", "exit_code", "output"):
        if name in record.result:
            found[name] = record.result[name]
    if record.tests == "red" and record.result:
        found["failed"] = list(record.result.get("failed") or ())[:SHOWN]
        found["excerpt"] = str(record.result.get("excerpt", ""))[:EXCERPT_CHARS]
    if record.error:
        found["error"] = record.error
    return found
