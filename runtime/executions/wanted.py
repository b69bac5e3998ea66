"""Whether the answer of a handler, a model, a tool or a gate is still wanted."""

from collections.abc import Iterable

from cortex.bus import Recorded, as_map
from cortex.bus.events import GateEvaluate, ModelInvoke, StepExecute, ToolCall

from .speakers import ENGINE

_STOPS = frozenset(
    f"execution.{how}" for how in ("cancelled", "completed", "failed", "halted")
)  # a pause lets what was asked come to its end


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
