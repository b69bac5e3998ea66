"""The real execution engine and the real manager's part of it, with workers that do its steps."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from cortex.actors.engines import ProcessExecutionEngine
from cortex.bus import Event
from cortex.bus.events import (
    VOCABULARY,
    ComponentAnnounced,
    ContextCompile,
    ContextCompiled,
    ExecutionCompleted,
    ExecutionRequest,
    ExecutionStarted,
    GateEvaluate,
    GateEvaluated,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepExecute,
    StepFailed,
    StepWake,
    ToolCall,
    ToolDenied,
    ToolReturned,
)
from cortex.runtime.kernel import Component, Delivery, Output, on
from cortex.runtime.log import MemoryBlobs
from cortex.runtime.processes import (
    BackTo,
    LinkedAction,
    LinkedGate,
    LinkedProcess,
    LinkedStep,
    MapOf,
    Origin,
    Retry,
)

from .simulator import Role, Run, Scenario
from .toy import NEVER, examine

ORIGIN = Origin(process="p")
WORK = LinkedAction(name="work", component="Worker", effect="write", spec="s")
ASK = LinkedAction(name="work", component="Worker", effect="read", asks_model=True, spec="s")
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
        LinkedStep(id="think", action=ASK, origin=ORIGIN, tools=("look",)),
        LinkedStep(id="check", action=WORK, origin=ORIGIN, on_failure=BackTo("think")),
    ),
)
LOOK = ComponentAnnounced(
    component="Toolbox", kind="tool", name="look", traits={"provider": "Toolbox"}
)


class Beginner(Component):
    """Begins executions, as the process manager does once it has found the process."""

    start = "beginning"
    max_attempts = NEVER

    def __init__(self, blobs: MemoryBlobs, process: LinkedProcess = PROCESS) -> None:
        self._blobs, self._process = blobs, process

    @on(ExecutionRequest)
    def begin(self, event: ExecutionRequest, delivery: Delivery) -> Iterator[Output]:
        yield ExecutionStarted(
            execution_id=event.execution_id,
            process=event.process,
            process_version=1,
            digest=self._process.digest,
            linked=self._blobs.put(msgspec.json.encode(self._process)),
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
        place = _place(event)
        if goes_back(event):
            yield StepFailed(**place, error="not good enough")
        else:
            yield StepCompleted(**place)


class Compiler(Component):
    workers = 1
    lease_s = 2.0
    max_attempts = NEVER

    @classmethod
    def component_name(cls) -> str:
        return "CompilationEngine"  # nobody else's prompts count

    @on(ContextCompile)
    def compile(self, event: ContextCompile, delivery: Delivery) -> Iterator[Output]:
        yield ContextCompiled(
            **_place(event), turn=event.turn, prompt=f"{event.attempt}/{event.turn}", manifest="m",
            model="toy", provider="Thinker", tokens=10, sections={}, window=100, headroom=10,
        )  # fmt: skip


class Thinker(Component):
    """Is overloaded at first, then looks around, then answers."""

    workers = 2
    lease_s = 2.0
    max_attempts = NEVER

    @on(ModelInvoke)
    def think(self, event: ModelInvoke, delivery: Delivery) -> Iterator[Output]:
        place = {**_place(event), "turn": event.turn, "call": event.call, "model": event.model}
        if event.call == 1 and event.turn == 0:
            yield ModelFailed(**place, error="too many", kind="overloaded")
            return
        calls = [{"id": f"c{n}", "tool": "look", "arguments": {}} for n in range(2)]
        answer = {"text": "so", "calls": [] if event.turn else calls}
        yield ModelResponded(**place, prompt=event.prompt, answer=answer, cost=0.5)


class Toolbox(Component):
    workers = 2
    lease_s = 2.0
    max_attempts = NEVER

    @on(ToolCall)
    def use(self, event: ToolCall, delivery: Delivery) -> Iterator[Output]:
        place = {**_place(event), "turn": event.turn, "call_id": event.call_id}
        yield ToolReturned(**place, tool=event.tool, result="blob")


def goes_back(event: Event) -> bool:
    """Whether the worker finds what was thought not good enough: the first time."""
    return isinstance(event, StepExecute) and (event.step_id, event.attempt) == ("check", 1)


def _place(event: Any) -> dict[str, Any]:
    names = ("execution_id", "step_id", "attempt")
    return {name: getattr(event, name) for name in names}


def engine_of(run: Run, blobs: MemoryBlobs) -> Engine:
    return Engine(run.history, VOCABULARY, blobs)


def scripts() -> dict[str, Sequence[tuple[Event, ...]]]:
    return {
        "alice": [
            (LOOK,),
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
    steps = [step.id for step in PROCESS.steps]
    assert {key[:2] for key in asked} == {(n, s) for n in ids for s in steps}
    done = count(StepCompleted, "execution_id", "step_id", "attempt")
    refused = count(StepFailed, "execution_id", "step_id", "attempt")
    failed = {(name, "check", 1): 1 for name in ids}
    assert {key: n for key, n in refused.items() if key[1] == "check"} == failed
    assert done + Counter(failed) == asked, f"asked for {asked}, done {done}"
    tries = {step: 2 if step in ("think", "check") else 1 for step in steps}
    assert all(attempt <= tries[step] for _, step, attempt in asked if step != "three")
    thought(run, ids)


def thought(run: Run, ids: Sequence[str]) -> None:
    """Each prompt was compiled and sent as often as it had to be, and no tool was used twice."""
    turns = [(name, attempt, turn) for name in ids for attempt in (1, 2) for turn in (0, 1)]
    compiled = Counter(
        (e.execution_id, e.attempt, e.turn)
        for _, e in run.events(ContextCompile) if isinstance(e, ContextCompile)
    )  # fmt: skip
    assert compiled == dict.fromkeys(turns, 1), f"compiled: {compiled}"
    sent = Counter(
        (e.execution_id, e.attempt, e.turn, e.call)
        for _, e in run.events(ModelInvoke) if isinstance(e, ModelInvoke)
    )  # fmt: skip
    assert sent == {(*t, c): 1 for t in turns for c in ((1,) if t[2] else (1, 2))}, f"sent: {sent}"
    called = [e for _, e in run.events(ToolCall) if isinstance(e, ToolCall)]
    denied = [e for _, e in run.events(ToolDenied) if isinstance(e, ToolDenied)]
    calls = Counter([(e.execution_id, e.call_id) for e in called])
    calls.update((e.execution_id, e.call_id) for e in denied)
    assert len(calls) == 4 * len(ids), f"called: {calls}"
    assert set(calls.values()) == {1}, f"called twice: {calls}"
    cost = [e.cost for _, e in run.events(ExecutionCompleted) if isinstance(e, ExecutionCompleted)]
    assert cost == [2.0] * len(ids), f"cost: {cost}"


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
            Role(
                lambda _: Worker(),
                Worker,
                lambda event: ("step.failed" if goes_back(event) else "step.completed",),
            ),
            Role(lambda _: Compiler(), Compiler, lambda _: ("context.compiled",)),
            Role(lambda _: Thinker(), Thinker, None),
            Role(lambda _: Toolbox(), Toolbox, lambda _: ("tool.returned",)),
        ),
        scripts(),
        finished,
        examine,
    )
