"""`@action`: a function that carries out a step."""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar, overload

import msgspec

from cortex.bus import Effect, Event
from cortex.bus.events import StepCompleted, StepExecute, StepFailed
from cortex.runtime.kernel import Begun, Component, Delivery, Home, Serves

from .errors import EffectUnknownError, StepError
from .making import Called, handler_of, routed, serving
from .parameters import encoded
from .signature import VALUE, Signature
from .step import ActionStep

QUOTED = "no model was asked: its words are quoted from the context"
SHOWN = 200  # characters of a plain value that serves as the summary

Owner = TypeVar("Owner", bound=Component)
Asked = TypeVar("Asked", bound=msgspec.Struct)
Function = TypeVar("Function", bound=Callable[..., Any])
Later = Coroutine[Any, Any, object]
Handler = Callable[[Owner, StepExecute, Delivery], Iterator[Event]]
AsyncHandler = Callable[[Owner, StepExecute, Delivery], AsyncIterator[Event]]


class ActionDecorator(Protocol):
    """What `action` gives: it makes a handler of a method, and leaves a function as it is."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # a coroutine is an object
        self, function: Callable[[Owner, Asked, ActionStep], Later]
    ) -> AsyncHandler[Owner]: ...
    @overload
    def __call__(
        self, function: Callable[[Owner, Asked, ActionStep], object]
    ) -> Handler[Owner]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]  # a coroutine is an object
        self, function: Callable[[Owner, ActionStep], Later]
    ) -> AsyncHandler[Owner]: ...
    @overload
    def __call__(self, function: Callable[[Owner, ActionStep], object]) -> Handler[Owner]: ...
    @overload
    def __call__(self, function: Function) -> Function: ...


def action(
    name: str,
    *,
    effect: Effect | None = None,
    asks_model: bool = False,
    needs: Mapping[str, str] | None = None,
    programs: Sequence[str] = (),
    answer: type[msgspec.Struct] | None = None,
    traits: Mapping[str, Any] | None = None,
    component: str = "",
    workers: int = 0,
    cpu: bool = False,
) -> ActionDecorator:
    """Have a function carry out the steps whose action is *name*.

    It takes its parameters, as one Struct or each by its name, and the step where it wants that;
    parameters after a `*` are ports, which the runtime gives by their names. What it returns is the
    result: a Struct, or anything else as the field `value`. What it expects to go wrong it raises
    as `StepError`; whatever else it raises counts as a defect, and is tried again.

    Args:
        name: Of the action, in processes and in events; it is on disk.
        effect: What it does to the world: "none", "read", "idempotent" (under `step.effect_key()`)
            or "once", which is what says nothing.
        asks_model: Whether a model is asked first; `step.answer` holds what it said.
        needs: What that model needs, as `{"reasoning": "medium"}`.
        programs: Parameters that say which program it starts or where it sends to.
        answer: What the model has to answer, as `step.answer["data"]`.
        traits: More that is announced of it.
        component: What its component is called in events; it is on disk. Unless set the action's
            name, as `CountWords` for "count_words".
        workers: How many steps are carried out at the same time; unless set, one.
        cpu: Whether it computes for long, so that it has a process of its own.

    Raises:
        ComponentInvalidError: The function cannot be an action; the line says why.
    """
    said: dict[str, Any] = {"asks_model": True} if asks_model else {}
    said |= {"needs": dict(needs)} if needs else {}
    said |= {"programs": list(programs)} if programs else {}
    said |= traits or {}

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = Signature.of(function, name)
        serves = Serves(
            "action", name, signature.parameters, signature.result, said, answer, effect
        )
        handler = routed(handler_of(_Actions(signature), function), StepExecute, name)
        of_class = {"component": component, "workers": workers, "cpu": cpu}
        return serving(function, signature, serves, "execute", handler, of_class)

    decorator: Any = mark
    made: ActionDecorator = decorator
    return made


class _Actions(msgspec.Struct, frozen=True):
    """Answers `step.execute` with `step.completed` or `step.failed`."""

    signature: Signature

    def ready(self, event: StepExecute, delivery: Delivery, home: Home | None) -> Called:
        step = ActionStep(event, delivery, home)
        return Called(self.signature, step, event.action, event.parameters)

    def ended(self, called: Called, value: Any) -> Sequence[Event]:
        step = called.step
        result = encoded({VALUE: value} if self.signature.wraps else value, lambda: step.root)
        summary = step.summary or (_short(value) if self.signature.wraps else "")
        if step.answer.get("extractive"):
            summary = f"{summary}; {QUOTED}"
        done = StepCompleted(
            execution_id=step.execution_id,
            step_id=step.step_id,
            attempt=step.attempt,
            result=result or {},
            summary=summary,
        )
        return (*step.published, done)

    def broke(self, called: Called, error: Exception) -> Sequence[Event] | None:
        step = called.step
        if isinstance(error, EffectUnknownError):
            begun = Begun.of(step.event, step.effect_key(), step.delivery.component)
            return (*step.published, begun.unknown(error.problem, step.time_ns))
        if not isinstance(error, StepError):
            return None
        failed = StepFailed(
            execution_id=step.execution_id,
            step_id=step.step_id,
            attempt=step.attempt,
            error=error.problem,
            kind=error.kind,
            retry=error.retry,
            excerpt=error.excerpt,
        )
        return (*step.published, failed)


def _short(value: object) -> str:
    return " ".join(str(value).split())[:SHOWN]
