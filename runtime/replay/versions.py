"""Replays a home, or an execution, also with another version of its process."""

from collections import Counter
from pathlib import Path

from cortex.bus.events import ExecutionRequest, ExecutionStarted, TriggerReceived
from cortex.runtime.executions import ENGINE, MANAGER, checked_inputs, other_decider
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, Home
from cortex.runtime.processes import LinkedProcess, forked, offered_inputs
from cortex.runtime.projections import STREAM

from .other_process import OtherProcess
from .process_file import process_in_file, ran_process
from .prompts import Prompts
from .questions import ANSWERS
from .replay import (
    UNANSWERED,
    DeciderRow,
    Replayed,
    divergence_of,
    replay_execution,
    replay_home,
)


def replayed(home: Home, execution: str = "", process: Path | None = None) -> Replayed:
    """Decide again what was decided in *home*, or in one *execution* of it.

    Args:
        home: It is only read; nothing of it runs.
        execution: An id, or its beginning, if that is unique; "" for the whole log.
        process: A file with another version of the process that *execution* ran.

    Raises:
        ConfigError: config.toml is wrong.
        CortexError: The log cannot be read, has no such execution, or *process* does not fit.
        ValueError: A *process* without an *execution*.
    """
    if process is not None and not execution:
        raise ValueError("process= needs an execution: the one to replay with that file")
    config = Config.shown(home)
    with History.open(home) as history:
        if not execution:
            return replay_home(history, config)
        execution_id = history.execution_id(execution)
        if process is None:
            return replay_execution(history, execution_id, config)
        return replay_file(history, execution_id, config, process)


def replay_file(history: History, execution_id: str, config: Config, path: Path) -> Replayed:
    """As `replay_process`, with the version of the process that is in the file at *path*.

    Raises:
        NotFoundError: There is no such file.
        RejectedError: It has errors; one may be that nothing serves an action or a gate.
        RefusedError: It holds another process, or the execution ran none.
        CortexError: The log or a blob cannot be read.
    """
    process = process_in_file(history, execution_id, path)
    return replay_process(history, execution_id, config, process)


def replay_process(
    history: History, execution_id: str, config: Config, process: LinkedProcess
) -> Replayed:
    """Run the recorded facts of an execution through *process*, and report what differs.

    No model is asked, no gate, no handler, and nothing happens in the world.

    Raises:
        RefusedError: The execution ran no process.
        CortexError: The log or a blob cannot be read.
    """
    began = ran_process(history, execution_id)
    records = history.stream(STREAM + execution_id)
    inputs, wrong = checked_inputs(process.inputs, inputs_given(history, execution_id, process))
    if began.fork_of and began.variation is None:
        process = forked(process, began.fork_of)
    other = OtherProcess(history, config)
    root, ended = None, "failed"
    if wrong:
        started = next(r for r in records if r.topic == ExecutionStarted.topic_name())
        other.refuse(started, f"the inputs of {process.name} are wrong: {'; '.join(wrong)}")
    else:
        root = other.run(execution_id, process, inputs)
        ended = UNANSWERED if root.blocked else root.state.status
    first = other.first
    return Replayed(
        execution=execution_id,
        executions=max(1, other.executions),
        events=other.events,
        through=max(record.position for record in records),
        deciders=(DeciderRow(ENGINE, other.events, other.same),),
        answered=dict(Counter(ANSWERS[each] for each in other.answered)),
        divergence=divergence_of(history, first, Prompts(history)) if first is not None else None,
        pending=other.pending,
        notes=tuple(filter(None, [other_decider(began.decider)])),
        process=f"{process.name} {process.version}",
        unanswered=tuple(other.unanswered),
        no_longer=root.no_longer if root is not None else (),
        ended=ended,
        ended_then=history.execution(execution_id).status,
    )


def inputs_given(history: History, execution_id: str, process: LinkedProcess) -> dict[str, object]:
    """The inputs that an execution was given, of which *process* would get those that it takes.

    Raises:
        RefusedError: The execution ran no process.
    """
    began = ran_process(history, execution_id)
    for record in history.stream(STREAM + execution_id):
        event = history.event(record)
        if began.fork_of and isinstance(event, ExecutionStarted):
            return dict(event.inputs)  # a fork is requested without any
        if began.fork_of or not isinstance(event, ExecutionRequest):
            continue
        for received in history.stream(f"trigger/{began.trigger}") if began.trigger else ():
            trigger = history.event(received)
            if isinstance(trigger, TriggerReceived) and record.source == MANAGER:
                return offered_inputs(process, trigger.fields, trigger.inputs)
        return dict(event.inputs)
    return dict(began.inputs)
