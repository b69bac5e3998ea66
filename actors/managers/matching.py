"""What is said of a trigger for which a process was chosen, or none."""

from collections.abc import Iterator

from cortex.bus.events import (
    ExecutionRequest,
    TriggerMatched,
    TriggerReceived,
    TriggerUnmatched,
)
from cortex.runtime.access import person_of
from cortex.runtime.kernel import Delivery, Output
from cortex.runtime.processes import LinkedProcess

from .choosing import Chosen, Refusal


def matched(
    event: TriggerReceived, chosen: Chosen | Refusal, delivery: Delivery, source: str
) -> Iterator[Output]:
    """Ask for the execution of the process that was *chosen*, or say why none was.

    *source* is who said that it happened: the execution is asked for in their name.
    """
    if isinstance(chosen, Refusal):
        yield not_matched(event, chosen.reason, chosen.candidates)
        return
    process = chosen.process
    execution_id = delivery.new_id()
    yield TriggerMatched(
        trigger_id=event.trigger_id,
        execution_id=execution_id,
        process=process.name,
        digest=process.digest,
        because=chosen.because,
        runners_up=chosen.runners_up,
    )
    yield ExecutionRequest(
        execution_id=execution_id,
        process=process.name,
        process_version=process.version,
        inputs=_offered(event, process),
        goal=event.goal,
        workspace=event.workspace,
        trigger=event.trigger_id,
        requested_by=person_of(source),
    )


def _offered(event: TriggerReceived, process: LinkedProcess) -> dict[str, object]:
    """A trigger offers inputs to whichever process is chosen; it takes what it declares.

    What its steps need and no source declares may stand among the fields as well.
    """
    bound = process.from_trigger or ()
    fields = {name: event.fields[name] for name in bound if name in event.fields}
    declared = {field.name for field in process.inputs}
    return fields | {name: value for name, value in event.inputs.items() if name in declared}


def not_matched(
    event: TriggerReceived, reason: str, candidates: tuple[str, ...] = ()
) -> TriggerUnmatched:
    """The last word on a trigger that nothing answers."""
    return TriggerUnmatched(trigger_id=event.trigger_id, reason=reason, candidates=candidates)
