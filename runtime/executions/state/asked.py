"""Whose answer counts: only that of the component that got the request.

A request names the component that serves it, as announced at that moment, and the client that
announced it. The hub authenticates the `source` of an answer, so answers of others change nothing,
whatever topics they were granted. Some answers may come from only one component. Requests in older
logs name no component: then any answer counts, as it did in those versions.

A field of an event that names a person has no effect unless the engine or the process manager
published the event: these two act for the client that asked them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from msgspec.structs import replace

from cortex.bus import Event, Recorded, Vocabulary, as_map, root_of
from cortex.bus.events import (
    ContextCompile,
    ContextCompiled,
    ContextRefused,
    EffectIntended,
    EffectUnknown,
    ExecutionRequest,
    ExecutionStarted,
    GateEvaluate,
    GateEvaluated,
    KnowledgeRequest,
    KnowledgeRequested,
    MemoryRequest,
    MemoryRequested,
    ModelDelta,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepFanned,
    StepItemChanged,
    StepProgress,
    StepProposed,
    StepReopened,
    StepSettled,
    StepSkipped,
    StepUnclaimed,
    ToolCall,
    ToolDenied,
    ToolFailed,
    ToolReturned,
)
from cortex.runtime.access import person_of
from cortex.runtime.models import PERSON

from .state import Execution, Ignored

Kinds: TypeAlias = frozenset[type[Event]]
Names: TypeAlias = tuple[str, ...]  # any of these may answer; if empty, anybody may
Serving = Callable[[str, str], tuple[str, str]]  # (kind, name) to its component and its client

ENGINE = "ProcessExecutionEngine"  # the `source` of the engine's events
MANAGER = "ProcessManager"
PEOPLE = "HumanProvider"  # the component of the provider whose models are people
_HAND_ON = frozenset((ENGINE, MANAGER))
_STOPS = frozenset(
    f"execution.{how}" for how in ("cancelled", "completed", "failed", "halted")
)  # a pause lets open requests finish
GATE: Final = "gate"
RECORDS: Final = "RecordedCallAccessor"  # answers known calls of forks and what-ifs
COMPILER: Final = ("CompilationEngine",)
STORE: Final = ("KnowledgeStoreAccessor",)
MEMORY: Final = ("MemoryAccessor",)
HUB: Final = ("hub",)
STEP_ANSWERS: Final[Kinds] = frozenset((StepCompleted, StepFailed))
MODEL_ANSWERS: Final[Kinds] = frozenset((ModelResponded, ModelFailed))
TOOL_ANSWERS: Final[Kinds] = frozenset((ToolReturned, ToolFailed, ToolDenied))
EFFECTS: Final[Kinds] = frozenset((EffectIntended, EffectUnknown))
_FIXED: Mapping[type[Event], Names] = {
    ContextCompiled: COMPILER,
    ContextRefused: COMPILER,
    KnowledgeRequested: STORE,
    MemoryRequested: MEMORY,
    StepUnclaimed: HUB,
}
ANSWERS: Final[Kinds] = frozenset(
    (GateEvaluated, *_FIXED, *STEP_ANSWERS, *MODEL_ANSWERS, *TOOL_ANSWERS, *EFFECTS)
)
# With what is shown of an answer as it comes.
_READ: Final[Kinds] = ANSWERS | {ModelDelta, StepProgress}
_ENGINES: Final[Kinds] = frozenset(  # the fate of a step: only the engine publishes these
    (
        *(StepDelegated, StepFanned, StepItemChanged, StepProposed),
        *(StepReopened, StepSettled, StepSkipped),
    )
)
_SERVED: Mapping[type[Event], tuple[str, str]] = {  # kind and field of what a request asks for
    GateEvaluate: (GATE, "gate"),
    StepExecute: ("action", "action"),
    ModelInvoke: ("model", "model"),
    ToolCall: ("tool", "tool"),
}
CALLS: Final[Kinds] = frozenset(_SERVED)  # what is asked of components that announce it
_TAKERS: Mapping[type[Event], Names] = {
    ContextCompile: COMPILER,
    ExecutionRequest: (MANAGER,),
    KnowledgeRequest: STORE,
    MemoryRequest: MEMORY,
}


def nobody(_kind: str, _name: str) -> tuple[str, str]:
    """Where nothing is announced."""
    return "", ""


def addressed(request: Event, serves: Serving) -> Event:
    """*request* with its serving component filled in; unchanged if none is announced.

    A gate decides for people, so an announcement never replaces the gate that was linked.
    """
    served = _SERVED.get(type(request))
    if served is None:
        return request
    kind, field = served
    asked: Any = request
    component, host = serves(kind, getattr(asked, field))
    if not component or (kind == GATE and host):
        return request
    if component == asked.component and (kind == GATE or host == asked.host):
        return request
    named: Event
    if kind == GATE or host == asked.host:
        named = replace(asked, component=component)
    else:
        named = replace(asked, component=component, host=host)
    return named


def names_of(request: Any) -> Names:
    """Who may answer *request*."""
    if not request.component:
        return ()
    host: str = getattr(request, "host", "")
    return (request.component, host) if host else (request.component,)


def takers_of(request: Event) -> Names:
    """Who may give *request* up: the component that had to answer it."""
    return names_of(request) if type(request) in _SERVED else _TAKERS.get(type(request), ())


def asked_for(state: Execution, event: Any) -> Names:
    """Who was asked for the answer *event*, as of *state*."""
    kind = type(event)
    fixed = _FIXED.get(kind)
    if fixed is not None:
        return fixed
    if kind in TOOL_ANSWERS or (kind in EFFECTS and event.kind == "tool"):
        return state.callees.get(event.call_id, ())
    if state.adhoc:  # the state does not hold who was asked: see `AskedSoFar`
        return (event.component,) if kind in EFFECTS else ()
    if kind in MODEL_ANSWERS and state.compiled is not None and state.compiled.provider == PERSON:
        if state.asked == (RECORDS,):
            return state.asked
        return (PEOPLE,)  # only their provider speaks for people: it names who answered
    return state.asked


def ignored_as(event: Any, source: str) -> Ignored:
    """The key under which an answer by *source*, who was not asked, is remembered."""
    attempt: int = getattr(event, "attempt", 1)
    return root_of(source), event.topic_name(), event.step_id, attempt


def speaks_for(source: str, names: Names) -> bool:
    """Whether *source* is one of *names*, or a part of one."""
    return not names or source in names or root_of(source) in names


class AskedSoFar:
    """The requests so far in the stream of one execution, and whom each asked.

    For readers of the stream alone. In an execution of a process only the engine asks; in ad-hoc
    work anybody may.
    """

    def __init__(self) -> None:
        self._names: dict[tuple[Any, ...], Names] = {}
        self._led = False

    def counts(self, event: Any, source: str) -> bool:
        """Add the next event of the stream; return whether it counts.

        A request counts from anybody who may ask, an answer from the asked, the fate of a step from
        the engine; everything else counts.
        """
        kind = type(event)
        if kind in _ENGINES:
            return source == ENGINE
        if kind is ExecutionStarted:
            self._led = self._led or bool(event.process or event.linked)
        if kind in _SERVED:
            asks = source == ENGINE or not self._led
            if asks:
                self._names[question_of(event)] = names_of(event)
            if asks and kind is StepExecute:
                self._names[_progress(event)] = names_of(event)
            return asks
        if kind not in _READ or source == ENGINE:
            return True
        fixed = _FIXED.get(kind)
        if fixed is not None and not (kind is KnowledgeRequested and event.call_id):
            return speaks_for(source, fixed) or not self._led
        names = self._names.get(question_of(event))
        return not self._led if names is None else speaks_for(source, names)


def counted(
    records: Iterable[Recorded], vocabulary: Vocabulary, kinds: Iterable[type[Event]] = ()
) -> Iterator[tuple[Recorded, Event]]:
    """The events of one execution's stream, without answers of those that were not asked.

    Args:
        records: All of the stream, from its beginning.
        vocabulary: Reads them.
        kinds: Those that are wanted; all that the vocabulary knows where none is given.
    """
    wanted = {kind.topic_name() for kind in kinds}
    needed = wanted | _ASKING
    asked = AskedSoFar()
    for record in records:
        if record.topic in needed if wanted else record.topic in vocabulary:
            event = vocabulary.read(record)
            if asked.counts(event, record.source) and (not wanted or record.topic in wanted):
                yield record, event


def question_of(event: Any) -> tuple[Any, ...]:
    """What makes a request and its answer belong together."""
    if isinstance(event, GateEvaluate | GateEvaluated):
        return "gate", event.step_id, event.index, event.attempt
    if isinstance(event, ModelInvoke | ModelResponded | ModelFailed | ModelDelta):
        return "model", event.step_id, event.attempt, event.turn, event.call
    if isinstance(event, StepProgress):
        return _progress(event)
    call_id = getattr(event, "call_id", "")
    if call_id:
        return "tool", call_id
    return "step", event.step_id, event.attempt


def _progress(event: StepExecute | StepProgress) -> tuple[Any, ...]:
    """The event that reports the progress of a step, in any attempt."""
    return "progress", event.step_id


_ASKING = frozenset((ExecutionStarted.topic_name(), *(kind.topic_name() for kind in _SERVED)))


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
