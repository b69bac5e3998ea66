"""`@gate`: a function that decides whether work may continue."""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeVar, overload

import msgspec

from cortex.bus import Event
from cortex.bus.events import GateEvaluate, GateEvaluated
from cortex.runtime.kernel import (
    Component,
    ComponentInvalidError,
    Delivery,
    Home,
    Serves,
)

from .errors import StepError
from .making import Called, handler_of, routed, serving
from .parameters import encoded
from .signature import Signature
from .step import GateStep

Owner = TypeVar("Owner", bound=Component)
Asked = TypeVar("Asked", bound=msgspec.Struct)


class Verdict(msgspec.Struct, frozen=True):
    """What a gate says: use `passed`, `failed` and `waiting`."""

    outcome: Literal["passed", "failed", "waiting"]
    reason: str = ""
    evidence: dict[str, Any] = {}

    @staticmethod
    def passed(**evidence: Any) -> "Verdict":
        """It passes, because of *evidence*."""
        return Verdict("passed", "", evidence)

    @staticmethod
    def failed(reason: str, **evidence: Any) -> "Verdict":
        """It does not pass; *reason* says what to do about it."""
        return Verdict("failed", reason, evidence)

    @staticmethod
    def waiting(question: str, **evidence: Any) -> "Verdict":
        """A person must answer *question* first."""
        return Verdict("waiting", question, evidence)


Function = TypeVar("Function", bound=Callable[..., Verdict | Coroutine[Any, Any, Verdict]])
Later = Coroutine[Any, Any, Verdict]
# What the function publishes beside the verdict comes before it.
Handler = Callable[[Owner, GateEvaluate, Delivery], Iterator[GateEvaluated]]
AsyncHandler = Callable[[Owner, GateEvaluate, Delivery], AsyncIterator[GateEvaluated]]


class GateDecorator(Protocol):
    """What `gate` gives: it makes a handler of a method, and leaves a function as it is."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # a method is a function, too
        self, function: Callable[[Owner, Asked, GateStep], Verdict]
    ) -> Handler[Owner]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]  # a method is a function, too
        self, function: Callable[[Owner, Asked, GateStep], Later]
    ) -> AsyncHandler[Owner]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]  # a method is a function, too
        self, function: Callable[[Owner, GateStep], Verdict]
    ) -> Handler[Owner]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]  # a method is a function, too
        self, function: Callable[[Owner, GateStep], Later]
    ) -> AsyncHandler[Owner]: ...
    @overload
    def __call__(self, function: Function) -> Function: ...


def gate(
    name: str,
    *,
    read_only: bool = True,
    traits: Mapping[str, Any] | None = None,
    component: str = "",
    workers: int = 0,
    cpu: bool = False,
) -> GateDecorator:
    """Have a function answer the gate *name*, with a `Verdict`.

    It takes what a function of `action` takes. A `StepError` that it raises is a gate that failed.

    Args:
        name: Of the gate, in processes and in events; it is on disk.
        read_only: Whether it changes nothing.
        traits: More that is announced of it.
        component: What its component is called in events, as for `action`.
        workers: How many questions are answered at the same time; unless set, one.
        cpu: Whether it computes for long, so that it has a process of its own.

    Raises:
        ComponentInvalidError: The function cannot be a gate; the line says why.
    """
    said = {"read_only": read_only, **(traits or {})}

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = Signature.of(function, name)
        if signature.result is not Verdict:
            raise ComponentInvalidError(name, "is a gate: it gives a Verdict, as `-> Verdict`")
        serves = Serves("gate", name, signature.parameters, traits=said)
        handler = routed(handler_of(_Gates(signature), function), GateEvaluate, name)
        of_class = {"component": component, "workers": workers, "cpu": cpu}
        return serving(function, signature, serves, "evaluate", handler, of_class)

    decorator: Any = mark
    made: GateDecorator = decorator
    return made


class _Gates(msgspec.Struct, frozen=True):
    """Answers `gate.evaluate` with `gate.evaluated`."""

    signature: Signature

    def ready(self, event: GateEvaluate, delivery: Delivery, home: Home | None) -> Called:
        step = GateStep(event, delivery, home)
        return Called(self.signature, step, event.gate, event.parameters)

    def ended(self, called: Called, value: Verdict) -> Sequence[Event]:
        step = called.step
        event = step.event
        evaluated = GateEvaluated(
            execution_id=event.execution_id,
            gate=event.gate,
            outcome=value.outcome,
            index=event.index,
            step_id=event.step_id,
            attempt=event.attempt,
            reason=value.reason,
            evidence=encoded(value.evidence, lambda: step.root),
        )
        return (*step.published, evaluated)

    def broke(self, called: Called, error: Exception) -> Sequence[Event] | None:
        if not isinstance(error, StepError):
            return None
        return self.ended(called, Verdict.failed(error.problem))
