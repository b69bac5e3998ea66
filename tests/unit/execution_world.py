"""A log, a clock and handlers in memory, around the real engine: what its tests play on."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from cortex.actors.engines import ProcessExecutionEngine
from cortex.bus import FORMAT, Draft, Effect, Event, Recorded
from cortex.bus.events import (
    VOCABULARY,
    ComponentAnnounced,
    ComponentFailed,
    ContextCompile,
    ContextCompiled,
    ContextEdit,
    ContextRefused,
    EffectIntended,
    EffectSettle,
    EffectUnknown,
    ExecutionEdit,
    ExecutionRequest,
    ExecutionResume,
    ExecutionStarted,
    GateEvaluate,
    GateEvaluated,
    KnowledgeRequest,
    KnowledgeRequested,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepExecute,
    StepFailed,
    StepSettle,
    StepUnclaimed,
    ToolCall,
    ToolDenied,
    ToolFailed,
    ToolListed,
    ToolReturned,
)
from cortex.runtime.executions import DECIDER, Execution, fold, takers_of
from cortex.runtime.kernel import Component, Delivery, Forget, Later, routes_of
from cortex.runtime.log import MemoryBlobs
from cortex.runtime.processes import (
    Expression,
    LinkedAction,
    LinkedChild,
    LinkedGate,
    LinkedProcess,
    LinkedStep,
    MapOf,
    Origin,
    Template,
)

SECOND_NS = 1_000_000_000
# What people say of an execution that they have looked at.
DECIDED = ExecutionEdit | ExecutionResume | EffectSettle | ContextEdit | StepSettle
ORIGIN = Origin(process="p")


def constant(value: Any) -> Any:
    return msgspec.convert({"type": "constant", "value": value}, Template)


def text(*parts: Any) -> Any:
    return msgspec.convert({"type": "text", "parts": msgspec.to_builtins(parts)}, Template)


def compare(operator: str, left: Any, right: Any) -> Any:
    operands = msgspec.to_builtins({"left": left, "right": right})
    return msgspec.convert({"type": "compare", "operator": operator, **operands}, Expression)


def action_step(
    step_id: str,
    action: str = "work",
    *,
    asks_model: bool = False,
    answer: Any = UNSET,
    effect: Effect = "none",
    **more: Any,
) -> LinkedStep:
    asks_model = asks_model or answer is not UNSET or "tools" in more
    action_ = LinkedAction(
        name=action,
        component="Worker",
        effect=effect,
        asks_model=asks_model,
        answer=answer,
        spec="s",
    )
    return LinkedStep(id=step_id, action=action_, origin=ORIGIN, **more)


def child_step(step_id: str, process: str, **more: Any) -> LinkedStep:
    child = LinkedChild(process=process, digest="d")
    return LinkedStep(id=step_id, action=None, child=child, origin=ORIGIN, **more)


def gate(name: str, **parameters: Any) -> LinkedGate:
    given = MapOf(tuple((key, constant(value)) for key, value in sorted(parameters.items())))
    return LinkedGate(
        name=name, component="Gates", parameters=given, read_only=True, spec="s", origin=ORIGIN
    )


def process_of(*steps: LinkedStep, name: str = "p", **more: Any) -> LinkedProcess:
    return LinkedProcess(
        name=name,
        version=more.pop("version", 1),
        digest=f"digest of {name}",
        source_digest="s",
        chain=(name,),
        steps=steps,
        **more,
    )


def tool(name: str, pack: str = "files") -> ComponentAnnounced:
    """A tool that stands in the registry."""
    traits = {"provider": "tools", "pack": pack, "effect": "read"}
    return ComponentAnnounced(component="Tools", kind="tool", name=name, traits=traits)


def topics_of(component: Component) -> set[str]:
    """What it handles."""
    return {route.event.topic_name() for route in routes_of(type(component))}


def is_result(component: Component, record: Recorded) -> bool:
    """Whether its fold had *record* as soon as it said it."""
    return record.source == component.component_name() and record.topic in {
        each.topic_name() for each in component.folds_results
    }


class World:
    """Plays the hub; events are handled only when a test says so."""

    def __init__(self, *processes: LinkedProcess) -> None:
        self.records: list[Recorded] = []
        self.blobs = MemoryBlobs()
        self.deadlines: dict[str, tuple[int, Draft]] = {}
        self.now_ns = 1_700_000_000 * SECOND_NS
        self.processes = {process.name: process for process in processes}
        self.begin_requests = True  # False: a test plays the process manager itself
        self.decider = DECIDER  # that `execution.started` records
        self.attempt = 1  # how often the hub says that an event was handed out
        self._cursors: dict[str, int] = {}
        self._recalled: dict[str, int] = {}  # through where results are in the fold, by component
        self._answered: set[int] = set()
        self.engine = self.new_engine()

    def new_engine(self) -> ProcessExecutionEngine:
        return ProcessExecutionEngine(self.history, VOCABULARY, self.blobs)

    def restart(self) -> None:
        self.engine = self.new_engine()

    def history(self, stream: str) -> Iterator[Recorded]:
        return (record for record in self.records if record.stream == stream)

    def publish(self, *events: Event, source: str = "") -> None:
        """Append *events*, said by whom they are expected of; who resumes has seen all there is."""
        for event in events:
            if isinstance(event, DECIDED) and not event.seen:
                event = replace(event, seen=len(self.records))
            self.append(Draft.of(event), source or SPEAKERS.get(type(event), "somebody"))

    def append(self, draft: Draft, source: str) -> None:
        position = len(self.records) + 1
        version = 1 + sum(1 for _ in self.history(draft.stream))
        self.now_ns += 1_000
        self.records.append(
            Recorded(
                FORMAT, position, draft.stream, version, position.to_bytes(16, "big"),
                self.now_ns, draft.topic, draft.schema, draft.correlation, draft.causation,
                source, draft.key, draft.subject, draft.body,
            )
        )  # fmt: skip

    def start(self, process: str = "p", execution_id: str = "x", **more: Any) -> None:
        """Request an execution and begin it, as the process manager does."""
        self.publish(ExecutionRequest(execution_id=execution_id, process=process, **more))
        self.play()

    def begin(self, request: ExecutionRequest) -> None:
        """Answer a request with `execution.started`."""
        process = self.processes.get(request.process)
        linked = self.blobs.put(msgspec.json.encode(process)) if process else ""
        self.publish(
            ExecutionStarted(
                execution_id=request.execution_id,
                process=request.process,
                process_version=process.version if process else 0,
                digest=process.digest if process else "",
                linked=linked,
                inputs=request.inputs,
                goal=request.goal,
                workspace=request.workspace,
                trigger=request.trigger,
                parent=request.parent,
                parent_step=request.parent_step,
                breakpoints=request.breakpoints,
                max_cost=request.max_cost,
                decider=self.decider,
                fork_of=request.fork_of,
                variation=request.variation,
            ),
            source="ProcessManager",
        )

    def pump(self, component: Component | None = None, limit: int = 256) -> int:
        """Hand one page to *component* and commit all that it says; how many events it had."""
        component = component or self.engine
        name = component.component_name()
        page, said = self._handle(component, limit)
        self._cursors[name] = page[-1].position if page else len(self.records)
        self._commit(name, said)
        return len(page)

    def pump_without_commit(self) -> None:
        """Hand one page to the engine, and lose what it says."""
        self._handle(self.engine, 256)

    def recall(self, component: Component, after: int, through: int) -> None:
        """Let *component* recall what it handled after one position, through another.

        And all its results behind that which its fold had at once; they are not handled again.
        """
        name, topics = component.component_name(), topics_of(component)
        kept = self.records[through:] if component.folds_results else []
        results = [r for r in kept if is_result(component, r)]
        for r in (*self.records[after:through], *results):
            if r.topic in topics:
                delivery = Delivery(
                    r.position, r.time_ns, name, r.source, r.correlation, r.causation
                )
                component.recall(VOCABULARY.read(r), delivery)
        self._recalled[name] = len(self.records)

    def _handle(
        self, component: Component, limit: int
    ) -> tuple[list[Recorded], list[tuple[int, Any]]]:
        name = component.component_name()
        routes = {
            route.event.topic_name(): method for route, method in routes_of(type(component)).items()
        }
        after = self._cursors.get(name, 0)
        recalled = self._recalled.get(name, 0)
        page = [
            r
            for r in self.records[after:]
            if r.topic in routes and (r.position > recalled or not is_result(component, r))
        ][:limit]
        said: list[tuple[int, Any]] = []
        for record in page:
            event = VOCABULARY.read(record)
            delivery = Delivery(
                record.position,
                record.time_ns,
                name,
                record.source,
                record.correlation,
                record.causation,
                self.attempt,
            )
            outputs = getattr(component, routes[record.topic])(event, delivery) or ()
            said += [(record.position, output) for output in outputs]
        return page, said

    def _commit(self, name: str, said: Iterable[tuple[int, Any]]) -> None:
        for causation, output in said:
            if isinstance(output, Later):
                draft = Draft.of(output.event, causation=causation)
                self.deadlines[output.name] = (output.at_ns, draft)
            elif isinstance(output, Forget):
                self.deadlines.pop(output.name, None)
            else:
                self.append(Draft.of(output, causation=causation), name)

    def play(self, *components: Component) -> None:
        """Handle events until nothing new comes; requests for executions begin at once."""
        while sum(map(self.pump, (self.engine, *components))) or (
            not components and self._begin_all()
        ):
            pass

    def open_request(self, execution_id: str) -> ExecutionRequest:
        """The request for an execution, which a test is about to answer itself."""
        for position, request in self.open(ExecutionRequest):
            if request.execution_id == execution_id:
                self._answered.add(position)
                found: ExecutionRequest = request
                return found
        raise LookupError(execution_id)

    def _begin_all(self) -> bool:
        requests = self.open(ExecutionRequest) if self.begin_requests else []
        for position, request in requests:
            self._answered.add(position)
            self.begin(request)
        return bool(requests)

    def fire(self, source: str = "ProcessExecutionEngine") -> bool:
        """Let the next deadline come; False where there is none."""
        if not self.deadlines:
            return False
        name = min(self.deadlines, key=lambda each: (self.deadlines[each][0], each))
        at_ns, draft = self.deadlines.pop(name)
        self.now_ns = max(self.now_ns, at_ns)
        self.append(draft, source)
        return True

    def open(self, *kinds: type[Event]) -> list[tuple[int, Any]]:
        """Requests of *kinds* that were not answered by `answer`, with their positions."""
        topics = {kind.topic_name() for kind in kinds}
        return [
            (record.position, VOCABULARY.read(record))
            for record in self.records
            if record.topic in topics and record.position not in self._answered
        ]

    def answer(self, *kinds: type[Event], **fields: Any) -> None:
        """Answer the oldest open request of *kinds* as its handler does when all is well."""
        position, request = self.open(*(kinds or ASKED))[0]
        self.settle(position, answer_to(request, **fields))

    def settle(self, position: int, event: Event) -> None:
        """Answer the request at *position* by *event*, and let the engine go on."""
        self._answered.add(position)
        self.publish(event)
        self.play()

    def begin_one(self, n: int) -> None:
        """Begin one of the executions that were requested, without handling anything."""
        requests = self.open(ExecutionRequest)
        if requests:
            position, request = requests[n % len(requests)]
            self._answered.add(position)
            self.begin(request)

    def forget_request(self, position: int) -> None:
        """Count the request at *position* as answered."""
        self._answered.add(position)

    def answers(self) -> list[Event]:
        """What the handlers of all open requests would answer."""
        return [answer_to(request) for _, request in self.open(*ASKED)]

    def park(self, position: int, component: str = "") -> None:
        """Let *component*, or whoever was asked, give up the event at *position*."""
        self._answered.add(position)
        record = self.records[position - 1]
        component = component or (*takers_of(VOCABULARY.read(record)), "Worker")[0]
        failed = ComponentFailed(
            component=component, reason="it raised", position=position, about=record.topic
        )
        self.append(Draft.of(failed, correlation=record.correlation, causation=position), component)

    def park_one(self, n: int) -> None:
        """Let a worker give up one of the open requests."""
        asked = self.open(*ASKED)
        if asked:
            self.park(asked[n % len(asked)][0])

    def drain(self) -> None:
        """Handle, answer and wait until nothing more happens."""
        while True:
            self.play()
            asked = self.open(*ASKED)
            if asked:
                self.settle(asked[0][0], answer_to(asked[0][1]))
            elif not self.fire():
                return

    def answer_all(self) -> None:
        while self.open(*ASKED):
            self.answer()

    def said(self, *kinds: type[Event]) -> list[Any]:
        """Every event of *kinds* in the log, in order; of all kinds where none is given."""
        topics = {kind.topic_name() for kind in kinds}
        return [VOCABULARY.read(r) for r in self.records if not topics or r.topic in topics]

    def topics(self, execution_id: str = "x") -> list[str]:
        return [record.topic for record in self.history(f"execution/{execution_id}")]

    def state(self, execution_id: str = "x") -> Execution:
        return fold(execution_id, self.history(f"execution/{execution_id}"), VOCABULARY)


# Whose answer counts, by what it is.
SPEAKERS: dict[type[Event], str] = {
    GateEvaluated: "Gates",
    ContextCompiled: "CompilationEngine", ContextRefused: "CompilationEngine",
    KnowledgeRequested: "KnowledgeStoreAccessor", StepUnclaimed: "hub",
    StepCompleted: "Worker", StepFailed: "Worker",
    EffectIntended: "Worker", EffectUnknown: "Worker",
    ModelResponded: "Models", ModelFailed: "Models",
    ToolReturned: "Tools", ToolFailed: "Tools", ToolDenied: "Tools",
    ExecutionStarted: "ProcessManager", ToolListed: "Tools",
}  # fmt: skip

ASKED: tuple[type[Event], ...] = (
    GateEvaluate, KnowledgeRequest, ContextCompile, ModelInvoke, ToolCall, StepExecute,
)  # fmt: skip


def answer_to(request: Event, **given: Any) -> Event:
    """What a handler answers to *request* when all is well, but for what is *given*."""
    fields: dict[str, Any]
    match request:
        case GateEvaluate():
            fields = {"outcome": "passed", "gate": request.gate, "index": request.index, **given}
            return GateEvaluated(**_place(request), **fields)
        case KnowledgeRequest():
            fields = {"query": request.texts[0], "found": "passages", **given}
            return KnowledgeRequested(**_place(request), turn=0, call_id="", **fields)
        case ContextCompile():
            fields = {
                "prompt": f"prompt of {request.step_id}/{request.attempt}" + f"/{request.turn}"
                * bool(request.turn),
                "manifest": "m", "turn": request.turn,
                "model": "extractive", "tokens": 100, "sections": {"step": 100},
                "window": 24_000, "headroom": 900,
                **given,
            }  # fmt: skip
            return ContextCompiled(**_place(request), **fields)
        case ModelInvoke():
            data = {"data": {"why": "so"}} if request.answer_schema else {}
            fields = {
                "answer": {"text": "because", **data}, "output_tokens": 7,
                "cost": 0.25, "turn": request.turn, "call": request.call,
                **given,
            }  # fmt: skip
            return ModelResponded(
                **_place(request), model=request.model, prompt=request.prompt, **fields
            )
        case ToolCall():
            fields = {"tool": request.tool, "result": "blob", **given}
            turn, call_id = request.turn, request.call_id
            return ToolReturned(**_place(request), turn=turn, call_id=call_id, **fields)
        case StepExecute():
            return StepCompleted(**_place(request), **{"result": {"by": request.step_id}, **given})
    raise AssertionError(f"nobody answers {request}")


def question_of(request: Any) -> tuple[Any, ...]:
    """What makes *request* the same question as another."""
    fields = ("index", "turn", "call", "call_id")
    more = tuple(getattr(request, name, 0) for name in fields)
    return type(request), request.execution_id, request.step_id, request.attempt, *more


def _place(request: Any) -> dict[str, Any]:
    return {
        "execution_id": request.execution_id,
        "step_id": request.step_id,
        "attempt": request.attempt,
    }
