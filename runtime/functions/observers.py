"""`@on`: a method, or a function, that gets events."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from cortex.bus import Event
from cortex.runtime import kernel
from cortex.runtime.kernel import MADE, ComponentInvalidError, Delivery, Forget, Later, Output

from .making import made_of
from .signature import Signature

Handler = TypeVar("Handler", bound=Callable[..., Any])


def on(
    event: type[Event],
    *,
    where: Mapping[str, str] | None = None,
    component: str = "",
    start: str = "now",
) -> Callable[[Handler], Handler]:
    """Have a method of a component, or a function, handle *event*.

    A function takes the event and, where it wants that, the `Delivery`; parameters after a `*` are
    ports. It returns an event, several of them, or nothing; or it yields them.

    Args:
        event: The class; several `@on` above one another are several events.
        where: The key that it must have, by the class's routing field.
        component: What the component of a function is called in events and subscriptions; it is on
            disk, so that its cursor stays when the function is renamed. Unless set the function's
            name, as `CountSteps` for `count_steps`.
        start: Where the subscription of a function begins that the log does not have yet.

    Raises:
        ComponentInvalidError: The function cannot handle it; the line says why.
    """
    routed = kernel.on(event, where=where)

    def mark(function: Handler) -> Handler:
        marked = routed(function)
        listed = list(inspect.signature(function).parameters.values())
        if listed and listed[0].name == "self":
            return marked
        places = [each for each in listed if each.kind is not inspect.Parameter.KEYWORD_ONLY]
        if not 1 <= len(places) <= 2:  # the event and the delivery
            name = function.__name__
            raise ComponentInvalidError(name, "takes the event, and the delivery if it wants that")
        _observes(function, listed, len(places), component, start)
        return marked

    return mark


def _observes(
    function: Callable[..., Any],
    listed: list[inspect.Parameter],
    places: int,
    component: str,
    start: str,
) -> None:
    before = getattr(function, MADE, None)
    if before is not None and not component:
        return  # of an `@on` below this one, whose routes grow
    ports = tuple(each for each in listed if each.kind is inspect.Parameter.KEYWORD_ONLY)

    def handle(self: Any, event: Event, delivery: Delivery) -> Iterator[Output]:
        yield from _outputs(function(*(event, delivery)[:places], **self.asked_for))

    async def handle_async(self: Any, event: Event, delivery: Delivery) -> Any:
        given = function(*(event, delivery)[:places], **self.asked_for)
        if inspect.isasyncgen(given):
            async for output in given:
                yield output
            return
        for output in _outputs(await given):
            yield output

    awaited = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    handler: Any = handle_async if awaited else handle
    handler.cortex_routes = _Routes(function)
    signature = Signature(name=function.__name__, ports=ports, awaited=awaited)
    of_class = {"component": component, "start": start}
    made_of(function, signature, (), "handle", handler, (), of_class)


class _Routes:
    """The routes of a function, those that are added later, too."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def __iter__(self) -> Iterator[kernel.Route]:
        return iter(self._function.cortex_routes)


def _outputs(given: Output | Iterable[Output] | None) -> Iterable[Output]:
    if given is None:
        return ()
    return (given,) if isinstance(given, Event | Later | Forget) else given
