"""From a model's call to the method that carries it out, and back to an event.

Whatever a model can write ends as an observation: arguments that do not fit, a tool that raises, a
tool that never returns. A method runs in a thread of its own, so that one that hangs is left behind
and holds up nobody else.
"""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from cortex.bus import CortexError, Event
from cortex.bus.events import ToolCall
from cortex.runtime.kernel import Component, Delivery, Serves
from cortex.runtime.log import Blobs
from cortex.runtime.processes import misfit
from cortex.runtime.secrets import MaskedTextError

from .answers import failed, late, returned, unknown
from .errors import ToolError, ToolUnknownError

BEYOND_S = 2.5  # above a call's time: a tool that keeps to it needs a moment to say so


class Told(msgspec.Struct, frozen=True):
    """What a tool gives beside a plain text."""

    text: str  # all of it; the model sees what fits
    summary: str = ""  # one line for people
    events: tuple[Event, ...] = ()  # that are recorded with it


Method = Callable[[Any, ToolCall, Delivery], Told | str]


def carry_out(
    component: Component, event: ToolCall, delivery: Delivery, blobs: Blobs
) -> Iterator[Event]:
    """Call the method of *component* that is named like the tool.

    It takes the arguments as the Struct that was announced, the call and the delivery; it gives a
    text, or `Told`. It raises `ToolError` for what the model is to be told.
    """
    serves = next((s for s in component.serves if (s.kind, s.name) == ("tool", event.tool)), None)
    if serves is None or serves.parameters is None:
        name = component.component_name()
        yield failed(event, f"{name} has no tool {event.tool!r}: leave it out", "missing")
        return
    try:
        asked = msgspec.convert(event.arguments, serves.parameters, strict=False)
    except msgspec.ValidationError as error:
        yield failed(event, _wrong(serves, event, error), "wrong_arguments")
        return
    method: Method = getattr(component, event.tool)
    try:
        told = _in_time(lambda: method(asked, event, delivery), event.timeout_s + BEYOND_S)
    except ToolUnknownError as error:
        yield unknown(event, delivery, error.problem)
        return
    except Exception as error:
        if serves.declares() == "once" and not isinstance(error, ToolError):
            raise  # nobody knows how far it came
        yield failed(event, *_problem(error))  # the model is told, and goes on
        return
    if told is None and serves.declares() == "once":
        yield unknown(event, delivery, f"it gave nothing within {event.timeout_s:g} s")
    elif told is None:
        yield late(event)
    elif isinstance(told, str):
        yield returned(event, told, blobs)
    else:
        yield from told.events
        yield returned(event, told.text, blobs, told.summary)


def _in_time(work: Callable[[], Told | str], bound_s: float) -> Told | str | None:
    """What *work* gives; None where that takes too long."""
    ended: queue.SimpleQueue[Told | str | Exception] = queue.SimpleQueue()

    def run() -> None:
        try:
            ended.put(work())
        except Exception as error:  # noqa: BLE001  # raised again where it is waited for
            ended.put(error)

    threading.Thread(target=run, name="cortex-tool", daemon=True).start()
    try:
        outcome = ended.get(timeout=min(bound_s, threading.TIMEOUT_MAX))
    except queue.Empty:
        return None
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _problem(error: Exception) -> tuple[str, str]:
    if isinstance(error, ToolError):
        return error.problem, error.kind
    if isinstance(error, OSError) and error.strerror:
        return error.strerror, "failed"  # its text names a path of this machine
    if isinstance(error, MaskedTextError):
        return str(error), "masked"
    said = str(error) if isinstance(error, CortexError) else f"{type(error).__name__}: {error}"
    return said, "failed"


def _wrong(serves: Serves, event: ToolCall, error: msgspec.ValidationError) -> str:
    fields = [] if serves.parameters is None else msgspec.structs.fields(serves.parameters)
    takes = ", ".join(
        f.encode_name if f.required else f"{f.encode_name} (may be left out)" for f in fields
    )
    problem = misfit(event.arguments, str(error))
    return f"{serves.name}: {problem[:1].lower()}{problem[1:]}; it takes {takes or 'nothing'}"
