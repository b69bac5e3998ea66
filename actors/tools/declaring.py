"""Declares functions and methods of components as tools."""

from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any, TypeVar, overload

import msgspec

from cortex.bus import Effect, Event
from cortex.bus.events import ToolCall
from cortex.runtime.functions import Signature, made_of
from cortex.runtime.kernel import (
    COMPLETES,
    SERVED,
    Component,
    ComponentInvalidError,
    Delivery,
    Route,
    Serves,
    on,
)
from cortex.runtime.log import Blobs

from .carrying import SIGNATURE, carry_out, carry_out_async

Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def tool(
    name: str,
    parameters: type[msgspec.Struct],
    *,
    provider: str,
    description: str,
    effect: Effect,
    pack: str = "",
) -> Serves: ...
@overload
def tool(
    name: str,
    parameters: None = None,
    *,
    provider: str = "",
    description: str = "",
    effect: Effect | None = None,
    pack: str = "",
    component: str = "",
    workers: int = 0,
) -> Callable[[Function], Function]: ...
def tool(
    name: str,
    parameters: type[msgspec.Struct] | None = None,
    *,
    provider: str = "",
    description: str = "",
    effect: Effect | None = None,
    pack: str = "",
    component: str = "",
    workers: int = 0,
) -> Any:
    """Make a function the tool *name*, which models may call.

    It takes what a function of `action` takes, and returns a text, or `Told`, or what becomes text
    as JSON. The model gets the line of a `StepError`, and of any other error unless the tool may
    happen once only. A method has the name of the tool; its component takes `blobs` and
    keeps it as `self.blobs`, or passes calls to `carry_out` in its own handler.

    Args:
        name: The name that a model calls.
        parameters: If given, the result is not a decorator but an entry for the `serves` of a
            component, whose method takes the arguments, the call and the delivery.
        provider: The routing key of its calls; for a function the tool's name unless
            set, and no two components share one.
        description: One line for the model; unless set, the beginning of the docstring.
        effect: Its effect on the world; unless set, "once".
        pack: The pack that contains it; unless set, the provider.
        component: The name of a function's component in events, as for `action`.
        workers: The number of concurrent calls of a function; unless set, one.

    Raises:
        ComponentInvalidError: The function cannot be a tool; the line says why.
    """
    if parameters is not None:
        return _serves(name, parameters, provider, description, effect, pack)

    def mark(function: Function) -> Function:
        signature = Signature.of(function, name, strict=True)
        said = description or _beginning_of_docstring(function, name)
        if signature.method and (not provider or function.__name__ != name):
            problem = "is a method: call it as the tool, and name the provider"
            raise ComponentInvalidError(name, problem)
        takes = signature.parameters or NoArguments
        serves = (_serves(name, takes, provider or name, said, effect, pack),)
        setattr(function, SIGNATURE, signature)
        if signature.method:
            setattr(function, SERVED, serves)
            setattr(function, COMPLETES, partial(_complete, provider))
            return function
        handler = _handler(function, signature, provider or name)
        of_class = {"component": component, "workers": workers or 1}
        made_of(function, signature, serves, "call", handler, ("blobs",), of_class)
        return function

    return mark


def _beginning_of_docstring(function: Callable[..., Any], name: str) -> str:
    said = " ".join((function.__doc__ or "").partition("\n\n")[0].split())
    if not said:
        raise ComponentInvalidError(name, "is a tool without a docstring: say what it does")
    return said


class NoArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a tool takes that takes nothing."""


def _complete(provider: str, component: type[Component]) -> None:
    """Add the handler of calls to a class with tools, unless it has one."""
    members = (getattr(component, name) for name in dir(component))
    routes = [route for each in members for route in getattr(each, "cortex_routes", ())]
    if Route(ToolCall, provider) in routes:
        return

    def call(self: Any, event: ToolCall, delivery: Delivery) -> Iterator[Event]:
        blobs: Blobs | None = getattr(self, "blobs", None)
        if blobs is None:
            problem = "has tools and no blobs: take `blobs`, and keep it as self.blobs"
            raise ComponentInvalidError(component.__name__, problem)
        yield from carry_out(self, event, delivery, blobs)

    setattr(component, f"call_{provider}", on(ToolCall, where={"provider": provider})(call))


def _handler(
    function: Callable[..., Any], signature: Signature, provider: str
) -> Callable[..., Any]:
    def call(self: Any, event: ToolCall, delivery: Delivery) -> Iterator[Event]:
        bound = _Bound(self, function)
        yield from carry_out(self, event, delivery, self.given["blobs"], bound)

    async def call_async(self: Any, event: ToolCall, delivery: Delivery) -> AsyncIterator[Event]:
        bound = _Bound(self, function)
        async for each in carry_out_async(self, event, delivery, self.given["blobs"], bound):
            yield each

    handler: Callable[..., Any] = call_async if signature.awaited else call
    return on(ToolCall, where={"provider": provider})(handler)


class _Bound:
    """A function with the ports of its component."""

    def __init__(self, component: Any, function: Callable[..., Any]) -> None:
        self._function, self._ports = function, component.asked_for
        self.cortex_signature = getattr(function, SIGNATURE)

    def __call__(self, **given: Any) -> Any:
        return self._function(**given, **self._ports)


def _serves(
    name: str,
    parameters: type[msgspec.Struct],
    provider: str,
    description: str,
    effect: Effect | None,
    pack: str,
) -> Serves:
    traits = {
        "provider": provider,
        "pack": pack or provider,
        "description": description,
    }
    return Serves("tool", name, parameters, traits=traits, effect=effect)
