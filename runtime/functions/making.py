"""The component that a decorator makes of a function, and the handlers of both kinds."""

import inspect
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, ClassVar, Protocol

import msgspec

from cortex.bus import Event
from cortex.runtime.kernel import (
    MADE,
    SERVED,
    AsyncComponent,
    Component,
    ComponentInvalidError,
    Delivery,
    Home,
    Serves,
    on,
)

from .errors import StepError
from .parameters import read_parameters
from .signature import Signature, titled


class Called(msgspec.Struct):
    """One request that a function answers."""

    signature: Signature
    step: Any  # of the kind of the request
    name: str  # of the action or the gate, as it was asked for
    given: Mapping[str, Any]  # its parameters, as they were recorded

    def arguments(self) -> dict[str, Any]:
        """What the function is called with; its ports are apart.

        Raises:
            StepError: The parameters are not what they have to be.
        """
        step, kind = self.step, self.signature.parameters
        if kind is None:
            return self.signature.arguments(None, step)
        asked = read_parameters(self.given, kind, lambda: step.root)
        if isinstance(asked, str):
            raise StepError(f"{self.name}: {asked}", kind="refused", retry=False)
        return self.signature.arguments(asked, step)


class Answering(Protocol):
    """How one kind of request is answered by a function."""

    @property
    def signature(self) -> Signature:
        """Of the function."""
        ...

    def ready(self, event: Any, delivery: Delivery, home: Home | None) -> Called:
        """The request, with its step."""
        ...

    def ended(self, called: Called, value: Any) -> Sequence[Event]:
        """The result of the function."""
        ...

    def broke(self, called: Called, error: Exception) -> Sequence[Event] | None:
        """What the function raised; None where that is a defect."""
        ...


class Made(Component):
    """Base of what a decorator makes of a function: its ports are what the runtime gives it."""

    ports: ClassVar[frozenset[str]] = frozenset()
    rests = True  # a function keeps nothing

    def __init__(self, **ports: Any) -> None:
        self.home: Home | None = ports.get("home")
        self.given = ports
        self.asked_for = {name: ports[name] for name in self.ports if name in ports}


class MadeAsync(Made, AsyncComponent):
    """The same for an `async def` function."""


def handler_of(answering: Answering, function: Callable[..., Any]) -> Callable[..., Any]:
    """The handler method that has *answering* answer each request by *function*."""

    def bound(self: Any) -> Callable[..., Any]:
        if answering.signature.method:
            return partial(function, self)
        return partial(function, **self.asked_for)

    def handle(self: Any, event: Event, delivery: Delivery) -> Iterator[Event]:
        called = answering.ready(event, delivery, getattr(self, "home", None))
        try:
            value = bound(self)(**called.arguments())
        except Exception as error:
            events = answering.broke(called, error)
            if events is None:
                raise
        else:
            events = answering.ended(called, value)
        yield from events

    async def handle_async(self: Any, event: Event, delivery: Delivery) -> AsyncIterator[Event]:
        called = answering.ready(event, delivery, getattr(self, "home", None))
        try:
            value = await bound(self)(**called.arguments())
        except Exception as error:
            events = answering.broke(called, error)
            if events is None:
                raise
        else:
            events = answering.ended(called, value)
        for each in events:
            yield each

    made = handle_async if answering.signature.awaited else handle
    made.__name__, made.__qualname__ = function.__name__, function.__qualname__
    made.__doc__, made.__module__ = function.__doc__, function.__module__
    return made


def made_of(
    function: Callable[..., Any],
    signature: Signature,
    serves: tuple[Serves, ...],
    method: str,
    handler: Callable[..., Any],
    wants: tuple[str, ...],
    of_class: Mapping[str, Any],
) -> None:
    """Note on *function* the component that is made of it, when that is first asked for.

    Args:
        function: Stays what it is, so that it can be called.
        signature: Of it.
        serves: What the component announces.
        method: Name of the component's handler.
        handler: The handler, marked with its routes.
        wants: Ports that the handler needs beside those of the function.
        of_class: What its class says: `component`, its name, "" for that of what it serves;
            `workers`, `cpu`, `start`.
    """
    attributes = dict(of_class)
    name = attributes.pop("component") or titled(signature.name)
    if not name.isidentifier():
        raise ComponentInvalidError(signature.name, f"cannot be called {name!r}: name a component")
    ports = frozenset(port.name for port in signature.ports)
    own = _own_ports(ports, wants)

    @cache
    def component() -> type[Component]:
        base = MadeAsync if signature.awaited else Made
        parts = {
            "__doc__": function.__doc__,
            "__module__": function.__module__,
            "__qualname__": function.__qualname__,  # with the module, where it is found again
            "__signature__": inspect.Signature((*signature.ports, *own)),
            "ports": ports,
            "serves": serves,
            method: handler,
            **attributes,
        }
        return type(name, (base,), parts)

    setattr(function, MADE, component)


def _own_ports(ports: Collection[str], wants: Sequence[str]) -> list[inspect.Parameter]:
    """What a component takes beside the *ports* of its function: what it *wants*, and the home."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = [inspect.Parameter(each, keyword) for each in wants if each not in ports]
    if "home" not in ports:
        own.append(inspect.Parameter("home", keyword, default=None))
    return own


def routed(handler: Callable[..., Any], event: type[Event], key: str | None) -> Callable[..., Any]:
    """*handler*, marked as the one of *event* with this key."""
    where = {event.routing: key} if event.routing and key is not None else None
    return on(event, where=where)(handler)


def serving(
    function: Callable[..., Any],
    signature: Signature,
    serves: Serves,
    method: str,
    handler: Callable[..., Any],
    of_class: Mapping[str, Any],
) -> Callable[..., Any]:
    """What stands in the place of *function*: a method's handler, else itself, with its component.

    Args:
        function: As for `made_of`, like all that is not said here.
        signature: Of it.
        serves: The one thing that it serves.
        method: Name of the component's handler.
        handler: The handler.
        of_class: `component`, `workers`, `cpu`, as they were given; none of them to a method.

    Raises:
        ComponentInvalidError: A method says what its class says.
    """
    if not signature.method:
        named = {**of_class, "workers": of_class["workers"] or 1}
        made_of(function, signature, (serves,), method, handler, (), named)
        return function
    said = [word for word, value in of_class.items() if value]
    if said:
        problem = f"is a method: say {', '.join(said)} in its class"
        raise ComponentInvalidError(signature.name, problem)
    setattr(handler, SERVED, (serves,))
    return handler
