"""The real execution engine and the real manager's part of it, with workers that do its steps."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from cortex.actors.engines import ProcessExecutionEngine
from cortex.bus import Event, Recorded, decode
from cortex.bus.events import (
    VOCABULARY,
    ExecutionCompleted,
    ExecutionRequest,
    ExecutionStarted,
    GateEvaluate,
    GateEvaluated,
    StepCompleted,
    StepExecute,
    StepWake,
)
from cortex.runtime.kernel import Component, Delivery, Output, on
from cortex.runtime.kernel.simulator import Role, Run, Scenario
from cortex.runtime.log import MemoryBlobs
from cortex.runtime.processes import (
    LinkedAction,
    LinkedGate,
    LinkedProcess,
    LinkedStep,
    MapOf,
    Origin,
    Retry,
)

from .toy import NEVER, examine

ORIGIN = Origin(process="p")
WORK = LinkedAction(name="work", component="Worker", effect="write", spec="s")
READY = LinkedGate(
    name="ready", component="Gatekeeper", parameters=MapOf(()), read_only=True, spec="s",
    origin=ORIGIN,
)  # fmt: skip
PROCESS = LinkedProcess(
    name="p",
    version=1,
    digest="digest of p",
    source_digest="s",
    chain=("p",),
    gates=(READY,),
    steps=(
        LinkedStep(id="one", action=WORK, origin=ORIGIN),
        LinkedStep(id="two", action=WORK, origin=ORIGIN, gates=(READY,)),
        # It may be late, and is tried until it is not.
        LinkedStep(
            id="three", action=WORK, origin=ORIGIN, timeout_s=5.0, retry=Retry(attempts=1_000)
        ),
    ),
)


class Beginner(Component):
    """Begins executions, as the process manager does once it has found the process."""

    start = "beginning"
    max_attempts = NEVER

    def __init__(self, blobs: MemoryBlobs) -> None:
        self._blobs = blobs

    @on(ExecutionRequest)
    def begin(self, event: ExecutionRequest, delivery: Delivery) -> Iterator[Output]:
        yield ExecutionStarted(
            execution_id=event.execution_id,
            process=event.process,
            process_version=1,
            digest=PROCESS.digest,
            linked=self._blobs.put(msgspec.json.encode(PROCESS)),
            inputs={},
            goal="",
            workspace="",
            trigger="",
        )


class Engine(ProcessExecutionEngine):
    """The real one, but that no number of crashes makes it give up on an event."""

    start = "beginning"
    max_attempts = NEVER

    @classmethod
    def component_name(cls) -> str:
        return "ProcessExecutionEngine"


class Gatekeeper(Component):
    workers = 1
    lease_s = 2.0
    max_attempts = NEVER

    @on(GateEvaluate)
    def evaluate(self, event: GateEvaluate, delivery: Delivery) -> Iterator[Output]:
        yield GateEvaluated(
            execution_id=event.execution_id,
            step_id=event.step_id,
            gate=event.gate,
            index=event.index,
            attempt=event.attempt,
            outcome="passed",
        )


class Worker(Component):
    workers = 2
    lease_s = 2.0
    max_attempts = NEVER

    @on(StepExecute)
    def work(self, event: StepExecute, delivery: Delivery) -> Iterator[Output]:
        yield StepCompleted(
            execution_id=event.execution_id, step_id=event.step_id, attempt=event.attempt
        )


def engine_of(run: Run, blobs: MemoryBlobs) -> Engine:
    def history(stream: str) -> Iterator[Recorded]:
        return iter([decode(data) for data in run.log.read_stream(stream, 0, 10_000)])

    return Engine(history, VOCABULARY, blobs)


def scripts() -> dict[str, Sequence[tuple[Event, ...]]]:
    return {
        "alice": [
            (ExecutionRequest(execution_id="a1", process="p"),),
            (ExecutionRequest(execution_id="a2", process="p"),),
        ],
        "bob": [(ExecutionRequest(execution_id="b1", process="p"),)],
    }


def finished(run: Run) -> None:
    """Every execution went through each step, asked for each try once, and completed once."""

    def count(kind: type[Event], *fields: str) -> Counter[Any]:
        return Counter(
            tuple(getattr(event, name) for name in fields) for _, event in run.events(kind)
        )

    ids = ["a1", "a2", "b1"]
    ended = count(ExecutionCompleted, "execution_id")
    assert ended == {(name,): 1 for name in ids}, f"completed: {ended}"
    started = count(ExecutionStarted, "execution_id")
    assert started == {(name,): 1 for name in ids}, f"started: {started}"
    asked = count(StepExecute, "execution_id", "step_id", "attempt")
    assert set(asked.values()) == {1}, f"asked twice: {asked}"
    assert {key[:2] for key in asked} == {(n, s) for n in ids for s in ("one", "two", "three")}
    done = count(StepCompleted, "execution_id", "step_id", "attempt")
    assert done == asked, f"asked for {asked}, done {done}"
    assert all(attempt == 1 for _, step, attempt in asked if step != "three")


def scenario() -> Scenario:
    """A new world each time: its blobs outlive every crash in it."""
    blobs = MemoryBlobs()
    return Scenario(
        VOCABULARY,
        (
            Role(lambda _: Beginner(blobs), Beginner, lambda _: ("execution.started",)),
            Role(
                lambda run: engine_of(run, blobs),
                Engine,
                None,
                deadlines=frozenset({StepWake.topic_name()}),
            ),
            Role(lambda _: Gatekeeper(), Gatekeeper, lambda _: ("gate.evaluated",)),
            Role(lambda _: Worker(), Worker, lambda _: ("step.completed",)),
        ),
        scripts(),
        finished,
        examine,
    )
