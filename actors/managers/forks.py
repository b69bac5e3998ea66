"""Forks: a new execution of the same process, whose first steps take the outcomes of another."""

from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from cortex.bus import CortexError, Recorded, Vocabulary
from cortex.bus.events import (
    ExecutionRequest,
    ExecutionStarted,
    StepCompleted,
    StepFailed,
    StepInherited,
    StepSettled,
    StepSkipped,
    Variation,
)
from cortex.runtime.access import OWNER, person_of
from cortex.runtime.executions import (
    DECIDER,
    Execution,
    checked_inputs,
    fold,
    not_to_fork,
    steps_before,
    too_large,
)
from cortex.runtime.kernel import Delivery
from cortex.runtime.log import Blobs
from cortex.runtime.processes import LinkedProcess

from .choosing import Refusal

_OUTCOMES = frozenset(
    kind.topic_name()
    for kind in (StepCompleted, StepFailed, StepInherited, StepSettled, StepSkipped)
)
_READ = msgspec.json.Decoder(LinkedProcess).decode

Begun = tuple[StepInherited | ExecutionStarted, ...]


class Forks:
    """Begins forks, from the log as it was when they were requested."""

    def __init__(
        self,
        history: Callable[[str], Iterator[Recorded]],
        vocabulary: Vocabulary,
        blobs: Blobs,
    ) -> None:
        self._history, self._vocabulary, self._blobs = history, vocabulary, blobs

    def begun(self, event: ExecutionRequest, delivery: Delivery) -> Begun | Refusal:
        """The outcomes that the fork takes over and its start, or why it cannot begin."""
        stream, variation = f"execution/{event.fork_of}", event.variation
        through = delivery.position - 1
        if variation is not None:
            through = min(variation.through or through, through)
            position = min(variation.position, through)
            variation = replace(variation, through=through, position=position)
            through = position or through
        records = [each for each in self._history(stream) if each.position <= through]
        state = fold(event.fork_of, records, self._vocabulary, before=through + 1)
        if state.started is None:
            return Refusal(f"there is no execution {event.fork_of[:40]!r} that began")
        problem = (
            _not_allowed(event, delivery.source)
            or _mismatch(event, state.started)
            or self._exposed(event, records[0].subject)
        )
        if problem:
            return Refusal(problem)
        started = _started(event, state.started, variation)
        process = self._process(started)
        if isinstance(process, Refusal):
            return process
        if problem := not_to_fork(state, process, event.from_step):
            return Refusal(problem)
        if variation is not None and variation.linked:
            started, wrong = _with_inputs(started, event, process)
            if wrong:
                return Refusal(f"the inputs of {process.name} are wrong: {'; '.join(wrong)}")
        begun: Begun = (*self._inherited(event, state, process, records), started)
        return next((Refusal(p) for p in map(too_large, begun) if p), begun)

    def _process(self, started: ExecutionStarted) -> LinkedProcess | Refusal:
        """The version of the process that the fork runs."""
        if not (started.process and started.linked):
            reason = "ran no process: only a process can be forked"
            return Refusal(f"execution {started.fork_of} {reason}")
        try:
            process = _READ(self._blobs.get(started.linked))
        except (CortexError, msgspec.DecodeError) as error:
            return Refusal(f"the process of execution {started.fork_of} cannot be read: {error}")
        if process.name != started.process:
            return Refusal(f"execution {started.fork_of} ran {started.process}, not {process.name}")
        return process

    def _exposed(self, event: ExecutionRequest, subject: str | None) -> str:
        """What a fork takes over is encrypted for *subject*, as it is in the execution."""
        own = next(iter(self._history(f"execution/{event.execution_id}")), None)
        if subject is None or (own is not None and own.subject == subject):
            return ""
        return f"execution {event.fork_of} is about a subject: a fork of it is about the same one"

    def _inherited(
        self,
        event: ExecutionRequest,
        state: Execution,
        process: LinkedProcess,
        records: list[Recorded],
    ) -> Iterator[StepInherited]:
        told: dict[str, int] = {}  # the newest position that tells the outcome of each step
        for record in records:
            if record.topic in _OUTCOMES:
                outcome = self._vocabulary.read(record)
                told[getattr(outcome, "step_id", "")] = record.position
        for step_id in steps_before(process, event.from_step):
            if step_id in state.statuses:
                yield StepInherited(
                    execution_id=event.execution_id,
                    step_id=step_id,
                    status=state.statuses[step_id],
                    result=state.results.get(step_id, {}),
                    fork_of=event.fork_of,
                    position=told.get(step_id, 0),
                )


def _mismatch(event: ExecutionRequest, began: ExecutionStarted) -> str:
    """A grant is for a process and for folders: the request says which, so both must be true."""
    if event.process != began.process:
        return f"execution {event.fork_of} ran {began.process}, not {event.process[:40]!r}"
    if event.workspace != began.workspace:
        return f"execution {event.fork_of} worked in {began.workspace!r}: a fork works there, too"
    return ""


def _not_allowed(event: ExecutionRequest, source: str) -> str:
    """Why *source* may not ask for that; "" if it may. Who may run a process may fork it."""
    variation = event.variation
    if variation is None or person_of(source) == OWNER:
        return ""
    if variation.what_if or variation.linked or variation.allow:
        return f"only the owner of the home may ask for a what-if, and {source} is not"
    return ""


def _started(
    event: ExecutionRequest, began: ExecutionStarted, variation: Variation | None
) -> ExecutionStarted:
    """The fork begins with the version and the inputs of the execution that *began*."""
    other = variation.linked if variation is not None else ""
    return replace(
        began,
        execution_id=event.execution_id,
        linked=other or began.linked,
        trigger=event.trigger,
        parent="",
        parent_step="",
        breakpoints=event.breakpoints,
        max_cost=began.max_cost if event.max_cost is None else event.max_cost,
        decider=DECIDER,
        fork_of=event.fork_of,
        from_step=event.from_step,
        variation=variation,
    )


def _with_inputs(
    started: ExecutionStarted, event: ExecutionRequest, process: LinkedProcess
) -> tuple[ExecutionStarted, list[str]]:
    """*started*, with another version of its process, and what is wrong with its inputs."""
    inputs, wrong = checked_inputs(process.inputs, event.inputs)
    version, digest = process.version, process.digest
    return replace(started, process_version=version, digest=digest, inputs=inputs), list(wrong)
