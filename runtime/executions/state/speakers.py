"""Who acts on an execution: names that the hub authenticated, and no others.

A field of an event that names a person has no effect unless the engine or the process manager
published the event: these two act for the client that asked them.
"""

from collections.abc import Iterable

from cortex.bus import Recorded, as_map
from cortex.bus.events import GateEvaluate, ModelInvoke, StepExecute, ToolCall
from cortex.runtime.access import person_of

ENGINE = "ProcessExecutionEngine"  # the `source` of the engine's events
MANAGER = "ProcessManager"
PEOPLE = "HumanProvider"  # the component of the provider whose models are people
_HAND_ON = frozenset((ENGINE, MANAGER))
_STOPS = frozenset(
    f"execution.{how}" for how in ("cancelled", "completed", "failed", "halted")
)  # a pause lets open requests finish


def asker(source: str, named: str) -> str:
    """Who asks, where *source* said an event that names somebody."""
    return named if named and source in _HAND_ON else person_of(source)


def is_wanted(
    asked: StepExecute | GateEvaluate | ModelInvoke | ToolCall,
    position: int,
    stream: Iterable[Recorded],
) -> bool:
    """Whether the execution still waits for the answer to *asked*.

    Args:
        asked: The request.
        position: Of the request.
        stream: All events of its execution.
    """
    for record in stream:
        if record.position <= position or record.source != ENGINE:
            continue
        if record.topic in _STOPS:
            return False
        if record.topic == "tool.failed" and isinstance(asked, ToolCall):
            told = as_map(record)  # by the engine: it waited long enough
            if (told.get("step_id"), told.get("call_id")) == (asked.step_id, asked.call_id):
                return False
        if record.topic == "step.failed" and not isinstance(asked, GateEvaluate):
            failed = as_map(record)  # by the engine: the attempt ran out of time
            if (failed.get("step_id"), failed.get("attempt", 1)) == (asked.step_id, asked.attempt):
                return False
    return True
