"""The gate `tests_pass`: the newest run of tests passed, on the current files."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cortex.bus import Recorded, Vocabulary
from cortex.bus.events import GateEvaluate
from cortex.runtime.code.repair import (
    RepairError,
    RepairRecord,
    find_worktree,
    folder_of,
    owner_of,
    recorded_repair,
    tree_of,
)
from cortex.runtime.functions import GateStep, Verdict, gate
from cortex.runtime.kernel import Component, Home

SHOWN = 10  # failing tests that the evidence names
EXCERPT_CHARS = 2_000
REASONS = {
    "never": "no tests were run: put a step with `run_tests` before this one",
    "stale": "the code was written again after the tests: run them on what it is now",
    "running": "the tests did not end yet",
}
OLDER = "the tests ran before Cortex recorded what they ran on: run them again"
CHANGED = "the code was changed after the tests: run them on what it is now"


class TestsPass(Component):
    """Passes if the newest recorded test run passed on the files as they are now.

    It runs no tests itself. If a file has changed since that run, the tests must run again.
    """

    rests = True

    def __init__(
        self,
        history: Callable[[str], Iterator[Recorded]],
        vocabulary: Vocabulary,
        home: Home | None = None,
    ) -> None:
        self._history = history
        self._vocabulary = vocabulary
        self._home = home

    @gate("tests_pass")
    def evaluate(self, step: GateStep) -> Verdict:
        """Look at the newest run."""
        event = step.event
        records = self._history(f"execution/{event.execution_id}")
        record = recorded_repair(records, self._vocabulary)
        evidence = _evidence(record)
        if record.tests == "green":
            stale = self._stale(event, record)
            return Verdict.failed(stale, **evidence) if stale else Verdict.passed(**evidence)
        reason = _red(record) if record.tests == "red" else REASONS[record.tests]
        return Verdict.failed(reason, **evidence)

    def _stale(self, event: GateEvaluate, record: RepairRecord) -> str:
        """Why a green result does not apply to the current files; "" if it does."""
        changed = record.result.get("changed")
        if changed:
            return f"{changed[0]} was written while the tests ran: run them again"
        if not record.result.get("tree"):
            return OLDER
        place = Path(event.workspace or ".", record.checkout).absolute()
        try:
            tree = tree_of(self._root(event, place), self._home.path if self._home else None)
        except RepairError as error:
            return f"what the tests ran on cannot be compared: {error}"
        return "" if tree == record.result["tree"] else CHANGED

    def _root(self, event: GateEvaluate, place: Path) -> Path:
        """Where the tests ran: in the worktree, if there is one."""
        if self._home is None:
            return place
        folder = folder_of(self._home.path, owner_of(event))
        return folder if find_worktree(folder, event.timeout_s) is not None else place


def _red(record: RepairRecord) -> str:
    if record.error:
        return f"the tests of {record.step_id} did not pass: {record.error}"
    failing = record.result.get("failed") or ()
    if not failing and record.result.get("exit_code") == 0:  # they ended well, and tested nothing
        return f"no test was run by {record.step_id}: give its `command`, or see what it printed"
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
