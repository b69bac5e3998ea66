"""A component called as a function: no runtime, no log, and the time that the test says."""

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from cortex.bus import Event
from cortex.bus.events import (
    EffectUnknown,
    GateEvaluate,
    GateEvaluated,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepExecute,
    StepFailed,
    ToolCall,
    ToolDenied,
    ToolFailed,
    ToolReturned,
)
from cortex.runtime.functions import ActionStep, EffectUnknownError, Step, StepError, Verdict
from cortex.runtime.kernel import (
    Component,
    Config,
    Delivery,
    Serves,
    component_of,
    construct,
    routes_of,
)
from cortex.runtime.log import Blobs, MemoryBlobs

Kind = TypeVar("Kind", bound=Event)
Called = Callable[..., Any] | type[Component] | Component
Given = Mapping[str, Any] | msgspec.Struct | None
EXECUTION, STEP = "e1", "s1"
NOON_NS = 1_700_000_000_000_000_000  # 14 November 2023, 22:13:20 UTC


class Stated(msgspec.Struct, frozen=True):
    """What a test says of the step that something is asked for."""

    workspace: Path | str = ""  # the folder that paths are relative to
    answer: Mapping[str, Any] = {}  # what a model answered, for an action that asks one
    goal: str = ""
    attempt: int = 1
    timeout_s: float = 60.0
    time_ns: int = NOON_NS  # when it was asked for
    begun: bool = False  # whether its effect was begun before
    ports: Mapping[str, Any] = {}  # by name, beside `blobs`, `config`, `home` and `settings`

    def delivery(self, component: str) -> Delivery:
        """What a handler may know beside its event."""
        return Delivery(
            1, self.time_ns, component, "test", EXECUTION, None, self.attempt, self.begun
        )


PLAIN = Stated()


def step(stated: Stated = PLAIN, **parameters: Any) -> Step:
    """A step, for a decorated function that the test calls itself."""
    return ActionStep(_execute("test", parameters, stated), stated.delivery("Test"))


def run_action(component: Called, parameters: Given = None, stated: Stated = PLAIN) -> Any:
    """The result of an action, as later steps see it; a plain value as it is.

    Args:
        component: A decorated function, a class, or an instance of one.
        parameters: What the `with:` of a step holds, or the Struct of it.
        stated: What else is known of the step.

    Raises:
        StepError: The step failed; or its effect is unknown, as `EffectUnknownError`.
    """
    made, serves = _made(component, "action", stated)
    event = _execute(serves.name, _plain(parameters), stated)
    events = _handled(made, event, stated, StepExecute, serves.name)
    failed = _one(events, StepFailed)
    if failed is not None:
        raise StepError(failed.error, retry=failed.retry, kind=failed.kind, excerpt=failed.excerpt)
    _refuse_unknown(events)
    done = _one(events, StepCompleted)
    if done is None:
        raise AssertionError(f"{serves.name} answered nothing")
    fields = serves.result.__struct_fields__ if serves.result is not None else ()
    return done.result["value"] if fields == ("value",) else done.result


def ask_gate(component: Called, parameters: Given = None, stated: Stated = PLAIN) -> Verdict:
    """What a gate says; as `run_action`."""
    made, serves = _made(component, "gate", stated)
    event = GateEvaluate(
        execution_id=EXECUTION,
        gate=serves.name,
        step_id=STEP,
        attempt=stated.attempt,
        parameters=_plain(parameters),
        workspace=str(stated.workspace),
        goal=stated.goal,
        timeout_s=stated.timeout_s,
    )
    events = _handled(made, event, stated, GateEvaluate, serves.name)
    said = _one(events, GateEvaluated)
    if said is None:
        raise AssertionError(f"{serves.name} answered nothing")
    return msgspec.convert(
        {"outcome": said.outcome, "reason": said.reason, "evidence": said.evidence}, Verdict
    )


def call_tool(
    component: Called, arguments: Given = None, stated: Stated = PLAIN, *, name: str = ""
) -> str:
    """The text that a tool gives; *name* says which, where a component has several.

    Raises:
        StepError: The tool failed, or may not be used like this.
    """
    made, serves = _made(component, "tool", stated, name)
    event = ToolCall(
        execution_id=EXECUTION,
        step_id=STEP,
        attempt=stated.attempt,
        turn=1,
        call_id="c1",
        tool=serves.name,
        provider=serves.traits["provider"],
        arguments=_plain(arguments),
        workspace=str(stated.workspace),
        timeout_s=stated.timeout_s,
    )
    events = _handled(made, event, stated, ToolCall, event.provider)
    denied, failed = _one(events, ToolDenied), _one(events, ToolFailed)
    if denied is not None:
        raise StepError(denied.reason, kind="denied", retry=False)
    if failed is not None:
        raise StepError(failed.error, kind=failed.kind)
    _refuse_unknown(events)
    given = _one(events, ToolReturned)
    if given is None:
        raise AssertionError(f"{serves.name} answered nothing")
    return _store(made, stated).get(given.result).decode()


def ask_model(component: Called, prompt: str, stated: Stated = PLAIN, *, model: str = "") -> str:
    """What a provider answers to *prompt*; *model* says for which, where it has several.

    Raises:
        StepError: The model did not answer.
    """
    made, serves = _made(component, "model", stated, model)
    event = ModelInvoke(
        execution_id=EXECUTION,
        step_id=STEP,
        attempt=stated.attempt,
        model=serves.name,
        provider=serves.traits["provider"],
        prompt=_store(made, stated).put(prompt.encode()),
        timeout_s=stated.timeout_s,
    )
    events = _handled(made, event, stated, ModelInvoke, event.provider)
    failed, said = _one(events, ModelFailed), _one(events, ModelResponded)
    if failed is not None:
        raise StepError(failed.error, kind=failed.kind, retry=failed.retry)
    if said is None:
        raise AssertionError(f"{serves.name} answered nothing")
    return str(said.answer["text"])


def _made(component: Called, kind: str, stated: Stated, name: str = "") -> tuple[Component, Serves]:
    """An instance, and what of that kind it serves."""
    config: Config = stated.ports.get("config") or Config()
    if isinstance(component, Component):
        made = component
    else:
        found = component_of(component)
        if found is None:
            raise TypeError(
                f"{component!r} is not a component: decorate it, or derive from Component"
            )
        ports: dict[str, Any] = {"blobs": _BLOBS, "config": config, "home": None, "settings": {}}
        made = construct(found, {**ports, **stated.ports})
    there = [s for s in type(made).announces(config) if s.kind == kind and name in ("", s.name)]
    if len(there) != 1:
        names = ", ".join(s.name for s in type(made).announces(config) if s.kind == kind) or "none"
        raise TypeError(f"{made.component_name()} serves {names}: name one {kind}")
    return made, there[0]


def _handled(
    made: Component, event: Event, stated: Stated, kind: type[Event], key: str
) -> list[Event]:
    """All that the handler of *event* gives."""
    routes = {(route.event, route.key): name for route, name in routes_of(type(made)).items()}
    handler = getattr(made, routes.get((kind, key)) or routes[kind, None])
    given = handler(event, stated.delivery(made.component_name()))
    if inspect.isasyncgen(given):
        return asyncio.run(_gathered(given))
    outputs: Iterable[Any] = given or ()
    return [each for each in outputs if isinstance(each, Event)]


async def _gathered(given: AsyncIterator[Any]) -> list[Event]:
    return [each async for each in given if isinstance(each, Event)]


def _store(made: Component, stated: Stated) -> Blobs:
    """Where *made* keeps large payloads."""
    found: Blobs = getattr(made, "blobs", None) or stated.ports.get("blobs") or _BLOBS
    return found


def _one(events: list[Event], kind: type[Kind]) -> Kind | None:
    return next((each for each in events if isinstance(each, kind)), None)


def _refuse_unknown(events: list[Event]) -> None:
    unknown = _one(events, EffectUnknown)
    if unknown is not None:
        raise EffectUnknownError(unknown.reason)


def _execute(action: str, parameters: dict[str, Any], stated: Stated) -> StepExecute:
    return StepExecute(
        execution_id=EXECUTION,
        step_id=STEP,
        action=action,
        attempt=stated.attempt,
        parameters=parameters,
        workspace=str(stated.workspace),
        goal=stated.goal,
        answer=dict(stated.answer),
        timeout_s=stated.timeout_s,
    )


def _plain(given: Given) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(given or {}, enc_hook=str)
    return plain


_BLOBS = MemoryBlobs()


class VirtualClock:
    """Stands still until `advance`; everything that a runtime times goes by it.

    Args:
        now_ns: Where it begins, UTC nanoseconds since 1970.
    """

    def __init__(self, now_ns: int = NOON_NS) -> None:
        self._now_ns, self._lock = now_ns, threading.Lock()

    def now_ns(self) -> int:
        """UTC nanoseconds since 1970."""
        return self._now_ns

    def monotonic_ns(self) -> int:
        """The same time: this clock only moves by letting time pass."""
        return self._now_ns

    def advance(self, seconds: float) -> None:
        """Let so much time pass."""
        with self._lock:
            self._now_ns += int(seconds * 1e9)
