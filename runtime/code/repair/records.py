"""The state of a repair, folded from its execution's events; pure."""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from cortex.bus import Event, Recorded, Vocabulary
from cortex.bus.events import StepCompleted, StepExecute, StepFailed
from cortex.runtime.executions import counted

WRITES, TESTS = "write_code", "run_tests"
KINDS = (StepCompleted, StepExecute, StepFailed)
TESTS_FAILED = "tests_failed"  # kind of failure of a step whose tests had to pass


class RepairRecord(msgspec.Struct, frozen=True):
    """How far a repair has come."""

    written: str = ""  # the summary of what was written last
    tests: Literal["never", "stale", "running", "red", "green"] = "never"
    step_id: str = ""  # that ran the tests
    result: dict[str, Any] = {}  # of the newest run that ended
    error: str = ""  # of a run that failed
    checkout: str = ""  # that the tests were run in, relative to the workspace


def recorded_repair(records: Iterable[Recorded], vocabulary: Vocabulary) -> RepairRecord:
    """Fold what was recorded of one execution, from its beginning; only what counts of it."""
    return repair_of(event for _, event in counted(records, vocabulary, KINDS))


def repair_of(events: Iterable[Event]) -> RepairRecord:
    """Fold the events of one execution, in order; others than those of its steps do not count."""
    record = RepairRecord()
    actions: dict[str, str] = {}
    for event in events:
        if isinstance(event, StepExecute):
            actions[event.step_id] = event.action
            record = _begun(record, event)
        elif isinstance(event, StepCompleted):
            record = _completed(record, event, actions.get(event.step_id, ""))
        elif isinstance(event, StepFailed) and actions.get(event.step_id) == TESTS:
            record = msgspec.structs.replace(
                record, tests="red", step_id=event.step_id, error=event.error, result={}
            )
    return record


def _begun(record: RepairRecord, event: StepExecute) -> RepairRecord:
    if event.action == WRITES:  # from here on the files may be others
        tests = record.tests if record.tests == "never" else "stale"
        return msgspec.structs.replace(record, tests=tests)
    if event.action == TESTS:
        checkout = event.parameters.get("checkout", "")
        return msgspec.structs.replace(
            record,
            tests="running",
            step_id=event.step_id,
            checkout=checkout if isinstance(checkout, str) else "",
        )
    return record


def _completed(record: RepairRecord, event: StepCompleted, action: str) -> RepairRecord:
    if action == WRITES:
        summary = event.result.get("summary", "")
        return msgspec.structs.replace(record, written=str(summary))
    if action == TESTS:
        return msgspec.structs.replace(
            record,
            tests="green" if event.result.get("passed") is True else "red",
            step_id=event.step_id,
            result=event.result,
            error="",
        )
    return record
