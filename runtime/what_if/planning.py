"""Plans a what-if: it runs in memory, and answers each new prompt as the old one was answered."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

import msgspec
from msgspec.structs import replace

from cortex.bus import OWNER, Event, Recorded
from cortex.bus.events import (
    ContextCompiled,
    ExecutionStarted,
    GateEvaluate,
    KnowledgeRequest,
    KnowledgeRequested,
    MemoryRequest,
    MemoryRequested,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepExecute,
    ToolCall,
)
from cortex.runtime.context import prompt_text
from cortex.runtime.executions import (
    ANY,
    ENGINE,
    RECORDS,
    clipped,
    counted,
    family,
    fold,
    joined_path,
    repeated,
)
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, RefusedError
from cortex.runtime.log import Blobs
from cortex.runtime.projections import STREAM
from cortex.runtime.registry import STREAM as REGISTRY
from cortex.runtime.registry import registry_of

from .changes import WhatIf, with_request
from .plans import Plan, PlannedCall, PlannedPrompt
from .running import request_of
from .scratch import Scratch

ID: Final = "whatif"  # of the execution, in memory
STORE: Final = "KnowledgeStoreAccessor"
MEMORY: Final = "MemoryAccessor"
_KINDS: Final = {
    StepExecute: ("action", "action", "parameters"),
    ToolCall: ("tool", "tool", "arguments"),
    GateEvaluate: ("gate", "gate", "parameters"),
}
_ANSWERED: Final = {
    StepExecute: "step",
    ToolCall: "tool call",
    GateEvaluate: "gate",
    ModelInvoke: "prompt",
}
Answer: TypeAlias = ModelResponded | ModelFailed
Path: TypeAlias = tuple[str, ...]  # of an execution: what it and its parents carry out
Place: TypeAlias = tuple[Path, str, int, int]  # path, step, attempt and turn of a prompt
Prompt: TypeAlias = tuple[str, str, int, int]  # the same with the execution's id


def plan_of(history: History, config: Config, what_if: WhatIf, *, full: bool = False) -> Plan:
    """What *what_if* would send and do. Nothing is recorded or sent.

    Args:
        history: Of the home, open.
        config: Of the home.
        what_if: As it was prepared.
        full: Whether the plan has the texts of its prompts.

    Raises:
        RefusedError: It cannot run: nothing serves what it needs and the record does not answer.
        CortexError: The log or a blob cannot be read.
    """
    planned = _Planned(history, what_if)
    head = what_if.variation.through
    scratch = Scratch(history, config, head, planned.answers)
    linked = scratch.blobs.put(what_if.other) if what_if.other else ""
    # In the plan everything is agreed to: a call that is not on record ends it, and does nothing.
    every = with_request(what_if, prompts=(ANY,), allow=True, linked=linked)
    scratch.publish(request_of(every, iter((ID, "trigger")).__next__), OWNER)
    scratch.run()
    state = fold(ID, scratch.stream(STREAM + ID), history.vocabulary)
    if state.started is None:
        raise RefusedError(state.reason or "the what-if cannot begin")
    return Plan(
        execution=what_if.execution,
        process=f"{state.started.process} {state.started.process_version}",
        from_step=what_if.from_step,
        position=what_if.variation.position,
        changed=what_if.changed,
        prompts=tuple(_with_texts(planned.prompts, scratch.blobs) if full else planned.prompts),
        calls=tuple(planned.calls),
        answered=dict(planned.answered),
        ended=state.status,
        ended_then=history.execution(what_if.execution).status,
        through=head,
    )


def _with_texts(prompts: Iterable[PlannedPrompt], blobs: Blobs) -> Iterator[PlannedPrompt]:
    yield from (replace(each, text=prompt_text(blobs.get(each.prompt))) for each in prompts)


class _Planned:
    """What the what-if has asked so far."""

    def __init__(self, history: History, what_if: WhatIf) -> None:
        self.what_if = what_if
        self.prompts: list[PlannedPrompt] = []
        self.calls: list[PlannedCall] = []
        self.answered: Counter[str] = Counter()
        self._history = history
        self._paths: dict[str, Path] = {}  # by execution
        self._compiled: dict[Prompt, ContextCompiled] = {}
        self._then: dict[Place, tuple[Recorded, Answer]] = {}
        own = family(
            what_if.execution, what_if.variation.through, history.stream, history.vocabulary
        )
        for path, records in own:
            for record, event in counted(records, history.vocabulary):
                if isinstance(event, Answer):
                    self._then[path, event.step_id, event.attempt, event.turn] = record, event

    def answers(self, record: Recorded, event: Event) -> Iterator[tuple[str, Event]]:
        """What the record says to *event*, or what is assumed."""
        match event:
            case ExecutionStarted() if event.variation is not None:
                self._paths[event.execution_id] = event.variation.path
            case ContextCompiled():
                self._fits(event)
                place = event.execution_id, event.step_id, event.attempt, event.turn
                self._compiled[place] = event
            case KnowledgeRequest() if event.found:
                yield STORE, _found(event)
            case MemoryRequest() if event.found:
                yield MEMORY, _remembered(event)
            case KnowledgeRequest():
                self._stops("search", "find", event)
            case MemoryRequest():
                self._stops("search", "memory", event)
            case StepExecute() | ToolCall() | GateEvaluate() | ModelInvoke():
                if record.source == ENGINE:
                    yield from self._call(event)
            case _:
                pass

    def _call(
        self, event: StepExecute | ToolCall | GateEvaluate | ModelInvoke
    ) -> Iterator[tuple[str, Event]]:
        if event.recorded:
            self.answered[_ANSWERED[type(event)]] += 1
            answer = self._history.at(event.recorded)
            said = repeated(event, self._history.event(answer)) if answer is not None else None
            if said is not None:
                yield RECORDS, said
        elif isinstance(event, ModelInvoke):
            yield from self._sent(event)
        else:
            kind, name, given = _KINDS[type(event)]
            acts = isinstance(event, StepExecute | ToolCall) and event.anew
            asked = msgspec.json.encode(getattr(event, given)).decode() if acts else ""
            self._stops(kind, str(getattr(event, name)), event, given=clipped(asked))

    def _sent(self, event: ModelInvoke) -> Iterator[tuple[str, Event]]:
        """A prompt that is not on record: assume the answer that its place had."""
        path = self._paths.get(event.execution_id, ())
        record, then = self._then.get(
            (path, event.step_id, event.attempt, event.turn), (None, None)
        )
        place = event.execution_id, event.step_id, event.attempt, event.turn
        compiled = self._compiled.get(place)
        self.prompts.append(
            PlannedPrompt(
                step=event.step_id,
                attempt=event.attempt,
                turn=event.turn,
                within=joined_path(path),
                prompt=event.prompt,
                then=then.prompt if isinstance(then, ModelResponded) else "",
                model=event.model,
                model_then=then.model if then is not None else "",
                tokens=compiled.tokens if compiled is not None else 0,
                most=compiled.most if compiled is not None else None,
            )
        )
        said = repeated(event, then) if then is not None else None
        if said is None or record is None:
            self._stops("prompt", event.model, event)
            return
        changed = {"prompt": event.prompt} if isinstance(said, ModelResponded) else {}
        yield event.component or record.source, replace(said, model=event.model, **changed)

    def _stops(self, kind: str, name: str, event: Any, *, given: str = "") -> None:
        """Nobody knows what comes of that: the plan ends there."""
        self._served(kind, name, event)
        path = self._paths.get(event.execution_id, ())
        call = PlannedCall(
            kind=kind,
            name=name,
            step=event.step_id,
            within=joined_path(path),
            acts=bool(given),
            given=given,
        )
        if call not in self.calls:
            self.calls.append(call)

    def _served(self, kind: str, name: str, event: Any) -> None:
        if kind not in ("action", "gate"):
            return
        registry = registry_of(self._history.stream(REGISTRY), self._history.event)
        if registry.get(kind, name) is None:
            step = f"step {event.step_id}" if event.step_id else "the process"
            raise RefusedError(
                f"{step} needs the {kind} {name}, which the record does not answer and nothing "
                "serves: start what provides it, then try again; nothing was changed"
            )

    def _fits(self, event: ContextCompiled) -> None:
        """Refuse a model that was wanted and does not do what the step needs."""
        models = self.what_if.variation.models
        wanted = models.get(event.step_id, models.get("", ""))
        if wanted and event.model != wanted and not event.attempt > 1 and not event.turn:
            raise RefusedError(
                f"{wanted} is not fit for step {event.step_id}, which would ask {event.model}: "
                f"see `cortex model why`, or name a model that meets the needs of the step"
            )


def _remembered(event: MemoryRequest) -> MemoryRequested:
    return MemoryRequested(
        execution_id=event.execution_id,
        step_id=event.step_id,
        attempt=event.attempt,
        turn=0,
        call_id="",
        query="\n".join(event.texts),
        found=event.found,
    )


def _found(event: KnowledgeRequest) -> KnowledgeRequested:
    return KnowledgeRequested(
        execution_id=event.execution_id,
        step_id=event.step_id,
        attempt=event.attempt,
        turn=0,
        call_id="",
        query="\n".join(event.texts),
        found=event.found,
    )
