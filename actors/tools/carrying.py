"""Runs the method for a model's call, and turns the result into an event.

Every call of a model ends in an observation: arguments that do not fit, a tool that raises, a
tool that never returns. A method runs in its own thread, so that one that hangs is abandoned
and does not block others.
"""

import asyncio
import contextvars
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import msgspec

from cortex.bus import CortexError, Event
from cortex.bus.events import ToolCall
from cortex.runtime.functions import (
    EffectUnknownError,
    Signature,
    StepError,
    ToolStep,
    converted,
)
from cortex.runtime.kernel import Component, Delivery, Serves
from cortex.runtime.log import Blobs
from cortex.runtime.processes import misfit
from cortex.runtime.secrets import MaskedTextError

from .answers import failed, late, returned, unknown

BEYOND_S = 2.5  # beyond a call's timeout, for a tool to report its own timeout
SIGNATURE = "cortex_signature"  # the mark of `@tool`
LATE = object()  # the result of a tool that was not done in time


class ToolReply(msgspec.Struct, frozen=True):
    """What a tool gives beside a plain text."""

    text: str  # all of it; the model sees what fits
    summary: str = ""  # one line for people
    events: tuple[Event, ...] = ()  # that are recorded with it


def carry_out(
    component: Component,
    event: ToolCall,
    delivery: Delivery,
    blobs: Blobs,
    method: Callable[..., Any] | None = None,
) -> Iterator[Event]:
    """Call the method of *component* with the name of the tool, or *method*.

    A decorated method takes its declared parameters; any other takes the arguments as the announced
    Struct, the call and the delivery. It returns a text, or `Told`. It raises `StepError`
    with a message for the model.
    """
    call = _ToolRequest(component, event, delivery, blobs)
    try:
        work = call.work(method)
        told = _in_time(work, event.timeout_s + BEYOND_S)
    except Exception as error:
        events = call.broke(error)
        if events is None:
            raise  # its progress is unknown
    else:
        events = call.ended(told)
    yield from events


async def carry_out_async(
    component: Component,
    event: ToolCall,
    delivery: Delivery,
    blobs: Blobs,
    method: Callable[..., Any],
) -> AsyncIterator[Event]:
    """As `carry_out`, for a *method* that is `async def`: it is cancelled when its time is over."""
    call = _ToolRequest(component, event, delivery, blobs)
    try:
        told = await asyncio.wait_for(call.work(method)(), event.timeout_s)
    except TimeoutError:
        events: Sequence[Event] | None = call.ended(LATE)
    except Exception as error:
        events = call.broke(error)
        if events is None:
            raise
    else:
        events = call.ended(told)
    for each in events or ():
        yield each


class _ToolRequest:
    """One call of a tool."""

    def __init__(
        self, component: Component, event: ToolCall, delivery: Delivery, blobs: Blobs
    ) -> None:
        named = ("tool", event.tool)
        self._component, self._event, self._delivery = component, event, delivery
        self._blobs = blobs
        self._serves = next((s for s in component.serves if (s.kind, s.name) == named), None)
        self._once = self._serves is not None and self._serves.declares() == "once"
        self._step = ToolStep(event, delivery, getattr(component, "home", None))

    def work(self, method: Callable[..., Any] | None) -> Callable[[], Any]:
        """The call to make.

        Raises:
            StepError: There is no such tool, or the arguments do not fit.
        """
        event, serves = self._event, self._serves
        if serves is None or serves.parameters is None:
            name = self._component.component_name()
            raise StepError(f"{name} has no tool {event.tool!r}: leave it out", kind="missing")
        try:
            asked = converted(
                event.arguments, serves.parameters, lambda: self._step.root, strict=False
            )
        except msgspec.ValidationError as error:
            raise StepError(_wrong(serves, event, error), kind="wrong_arguments") from None
        call: Callable[..., Any] = method or getattr(self._component, event.tool)
        signature: Signature | None = getattr(call, SIGNATURE, None)
        if signature is None:
            return lambda: call(asked, event, self._delivery)
        arguments = signature.arguments(asked, self._step)
        return lambda: call(**arguments)

    def ended(self, told: Any) -> Sequence[Event]:
        """The result of the tool; `LATE` if it timed out."""
        event, step = self._event, self._step
        if told is LATE and self._once:
            reason = f"it returned nothing within {event.timeout_s:g} s"
            return (unknown(event, self._delivery, reason),)
        if told is LATE:
            return (late(event),)
        if isinstance(told, ToolReply):
            found = returned(event, told.text, self._blobs, told.summary or step.summary)
            return (*step.published, *told.events, found)
        text = told or "" if isinstance(told, str | None) else msgspec.json.encode(told).decode()
        return (*step.published, returned(event, text, self._blobs, step.summary))

    def broke(self, error: Exception) -> Sequence[Event] | None:
        """The message about *error* for the model; None if the progress of the tool is unknown."""
        if isinstance(error, EffectUnknownError):
            return (unknown(self._event, self._delivery, error.problem),)
        if self._once and not isinstance(error, StepError):
            return None
        return (failed(self._event, *_problem(error)),)


def _in_time(work: Callable[[], Any], bound_s: float) -> Any:
    """The result of *work*; `LATE` if it takes too long."""
    ended: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def run() -> None:
        try:
            ended.put(work())
        except Exception as error:  # noqa: BLE001  # raised again where it is waited for
            ended.put(error)

    # The context says which event is handled: for log lines, and for whom blobs are.
    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="cortex-tool", daemon=True).start()
    try:
        outcome = ended.get(timeout=min(bound_s, threading.TIMEOUT_MAX))
    except queue.Empty:
        return LATE
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _problem(error: Exception) -> tuple[str, str]:
    if isinstance(error, StepError):
        return error.problem, "denied" if error.kind == "refused" else error.kind
    if isinstance(error, OSError) and error.strerror:
        return error.strerror, "failed"  # its text contains a path of this machine
    if isinstance(error, MaskedTextError):
        return str(error), "masked"
    said = str(error) if isinstance(error, CortexError) else f"{type(error).__name__}: {error}"
    return said, "failed"


def _wrong(serves: Serves, event: ToolCall, error: msgspec.ValidationError) -> str:
    fields = () if serves.parameters is None else msgspec.structs.fields(serves.parameters)
    takes = ", ".join(
        f.encode_name if f.required else f"{f.encode_name} (may be left out)" for f in fields
    )
    problem = misfit(event.arguments, str(error))
    return f"{serves.name}: {problem[:1].lower()}{problem[1:]}; it takes {takes or 'nothing'}"
