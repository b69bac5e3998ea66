"""A component: a function from an event to events, and what it says about itself."""

import base64
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec

from cortex.bus import UNDECLARED, Effect, Event, Query, Vocabulary, effect_of
from cortex.bus.events import VOCABULARY, StepExecute, ToolCall

from .effect import KEYED, Contract, key_of
from .errors import ComponentInvalidError

if TYPE_CHECKING:
    from .config import Config

Method = TypeVar("Method", bound=Callable[..., Any])

EFFECTIVE = ("action", "tool")  # kinds of what is served that declare an effect
NONE_DECLARED: Mapping[str, Effect] = {}
# Marks that decorators leave: on a function, what makes its component; on a method, what it serves.
MADE = "cortex_made"
SERVED = "cortex_served"
COMPLETES = "cortex_completes"  # on a method: what gives its class the handler that it needs


class Later(msgspec.Struct, frozen=True):
    """A recorded deadline: *event* is appended at *at_ns* unless *name* is forgotten before."""

    name: str  # one deadline a name; a second one replaces the first
    at_ns: int  # the log's time in nanoseconds; reckon it from `delivery.time_ns`
    event: Event
    lasts: bool = True  # a duration, which no change of the clock cuts short; False: a time of day


class Forget(msgspec.Struct, frozen=True):
    """Drop the deadline *name*, in the same commit; nothing happens where there is none."""

    name: str


Output = Event | Later | Forget
Handler = Callable[[Event, "Delivery"], Iterator[Output] | None]


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """What a handler may know beside the event: the only time and ids it has."""

    position: int  # of the event; 0 for a query
    time_ns: int  # when the hub recorded it
    component: str  # who is handling it
    source: str = ""  # who published it, as the hub authenticated it
    correlation: str | None = None
    causation: int | None = None
    attempt: int = 1  # how often this event was handed to this component
    begun: bool = False  # its effect was begun before: find out what came of it, begin none

    def new_id(self, n: int = 0) -> str:
        """The *n*-th id of this delivery: 16 letters and digits, the same at every replay."""
        seed = f"{self.position}/{self.time_ns}/{self.component}/{n}".encode()
        return base64.b32encode(hashlib.sha256(seed).digest()[:10]).decode().lower()

    def effect_key(self, n: int = 0) -> str:
        """The idempotency key of the *n*-th effect of this delivery (the same when repeated)."""
        return key_of(self.position, self.time_ns, self.component, n)


class Serves(msgspec.Struct, frozen=True):
    """Something that a component offers, as it is announced and linked against."""

    kind: str  # "action", "gate", "model" or "tool"
    name: str
    parameters: type[msgspec.Struct] | None = None  # what `with:` may hold
    result: type[msgspec.Struct] | None = None  # what later steps may refer to
    # "asks_model" and "programs" (parameters that name a program to start, or an address to send
    # to: towards a goal no model chooses them) for an action, "read_only" for a gate.
    traits: dict[str, Any] = {}
    answer: type[msgspec.Struct] | None = None  # what a model has to answer for the action
    effect: Effect | None = None  # of an action or tool, on the world; None counts as "once"

    def declares(self) -> Effect | None:
        """The effect that it says it has; None where it says nothing."""
        said = self.effect or self.traits.get("effect")
        return None if said is None else effect_of(said)


class Component:
    """Base of everything that handles events.

    A subclass marks its handlers with `@on`. What its constructor takes is given by the runtime, by
    name: `blobs`, `home`, `config`, ... It opens what belongs to its thread in `on_start`.

    A component that keeps a fold of the log in memory sets `recalls`: at each start the runtime
    gives it back what `snapshot` last said, then hands `recall` every event of its routes up to its
    cursor. Nothing is asked of a snapshot but that `restore` understands it. One that gives none
    has the whole log read to it at each start.

    One that answers from memory, soon and with nothing that belongs to its thread, says
    `answers_at_once`: while it is idle whoever asks runs the query's handler itself, never at the
    same time as another handler of it. That spares two changes of thread.

    One that says `recovers` is called again for an effect of kind `once` that was begun before and
    has no recorded outcome: with `delivery.begun` set it finds out what came of it, and yields
    `EffectUnknown` where it cannot. No other handler is called again for such an effect.

    One that `rests` keeps nothing between two events: its workers, and with them the component,
    begin with the first work there is, and end after a minute without any until there is more. It
    applies where the hub is in the same process, and to what answers no queries.

    What methods serve that are marked with `@action`, `@gate` or `@tool` is added to `serves`; then
    the component takes work, by one worker unless it says how many.
    """

    workers: ClassVar[int] = 0  # 0: one ordered feed with a cursor; n: n workers on one queue
    cpu: ClassVar[bool] = False  # True: computes for long, so it runs in a spawned process
    lease_s: ClassVar[float] = 30.0  # a hung worker's event goes to another after this long
    max_attempts: ClassVar[int] = 3  # then the event is parked and the component goes on
    # Of a new subscription: "beginning" first reads the whole log; a position ("1200") or a time
    # with its zone ("2026-11-23T10:00:00+00:00") begins there.
    start: ClassVar[str] = "now"
    answers_at_once: ClassVar[bool] = False  # True: askers may run its queries in their own thread
    serves: ClassVar[tuple[Serves, ...]] = ()
    rests: ClassVar[bool] = False  # True: its workers are there only while there is work
    recovers: ClassVar[bool] = False  # True: finds out what came of an effect that was begun
    recalls: ClassVar[int] = 0  # version of its fold; 0: keeps none. A new version drops snapshots

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        marked = {name: getattr(each, SERVED) for name, each in vars(cls).items() if _serves(each)}
        if not marked:
            return
        own = [serves for listed in marked.values() for serves in listed]
        names = {(serves.kind, serves.name) for serves in own}
        cls.serves = (*(s for s in cls.serves if (s.kind, s.name) not in names), *own)
        if not cls.workers and "workers" not in vars(cls):
            cls.workers = 1
        for name in marked:
            completes: Callable[[type[Component]], None] | None
            completes = getattr(vars(cls)[name], COMPLETES, None)
            if completes is not None:
                completes(cls)
            if inspect.isasyncgenfunction(vars(cls)[name]) and not hasattr(cls, "opened"):
                raise ComponentInvalidError(cls.__name__, f"has async {name}: use AsyncComponent")

    @classmethod
    def component_name(cls) -> str:
        """The name in events and subscriptions; it is on disk, so renaming starts a new cursor."""
        return cls.__name__

    @classmethod
    def announces(cls, config: "Config") -> tuple[Serves, ...]:  # noqa: ARG003  # for who overrides it
        """What it offers in a home that is set up so; what was offered before and is not, goes."""
        return cls.serves

    @classmethod
    def may_rest(cls, config: "Config", settings: Mapping[str, Any]) -> bool:  # noqa: ARG003  # for who overrides it
        """Whether it rests in a home that is set up so, with these settings."""
        return cls.rests

    @classmethod
    def listens(cls, settings: Mapping[str, Any]) -> str:  # noqa: ARG003  # for who overrides it
        """Where it takes connections of its own with these settings, for people; "" for nowhere."""
        return ""

    def on_start(self) -> None:
        """Open what belongs to the thread that will call the handlers."""

    def on_stop(self) -> None:
        """Close what `on_start` opened."""

    def recall(self, event: Event, delivery: Delivery) -> None:
        """Fold an event that was handled before this start; nothing may be published."""

    def snapshot(self) -> bytes:
        """The fold so far, for `restore`; empty where recalling from the beginning is as good."""
        return b""

    def restore(self, snapshot: bytes) -> None:
        """Take up the fold where `snapshot` left it."""


def _serves(member: object) -> bool:
    return inspect.isfunction(member) and hasattr(member, SERVED)


class AsyncComponent(Component):
    """A component whose handlers are `async def` generators, many of them under way at once.

    They run on one event loop of the component's own, fed from one queue, so that no two of them
    run at the same moment and none needs a lock. What must not happen in one is a wait that is not
    awaited: it would hold up all the others.

    When the execution that an event belongs to ends, or the step's attempt fails, the handler is
    cancelled: `asyncio.CancelledError` is raised where it waits, and what it yielded is dropped. An
    event with a `timeout_s` is cancelled a little after that time, and counts as failed.
    """

    workers = 1
    # Events that are handled at the same time. The end of an execution has to find room among them,
    # so what may be done at once in the world is better bounded by a semaphore of the component.
    concurrent: ClassVar[int] = 1_024

    async def opened(self) -> None:
        """Open what belongs to the event loop, on it."""

    async def closed(self) -> None:
        """Close what `opened` opened."""


def component_of(found: object) -> type[Component] | None:
    """The component that *found* is, or that a decorator makes of it; None where it is neither."""
    if isinstance(found, type):
        return found if issubclass(found, Component) else None
    make: Callable[[], type[Component]] | None = getattr(found, MADE, None)
    return make() if make is not None and inspect.isfunction(found) else None


class Route(msgspec.Struct, frozen=True):
    """One `@on`: an event class, and the key it must have."""

    event: type[Event]
    key: str | None = None


def on(event: type[Event], *, where: Mapping[str, str] | None = None) -> Callable[[Method], Method]:
    """Mark a method as the handler of *event*; *where* names the class's routing field."""
    if where and set(where) != {event.routing}:
        raise ComponentInvalidError(
            event.topic_name(), f"is routed by {event.routing}, not by {', '.join(where)}"
        )
    route = Route(event, next(iter(where.values())) if where else None)

    def mark(method: Method) -> Method:
        routes = (*getattr(method, "cortex_routes", ()), route)
        method.cortex_routes = routes  # type: ignore[attr-defined]  # a mark, read by `routes_of`
        return method

    return mark


def routes_of(component: type[Component]) -> dict[Route, str]:
    """Name of the handling method by route.

    Raises:
        ComponentInvalidError: Two methods claim one route, or there is none at all.
    """
    found: dict[Route, str] = {}
    for name in dir(component):
        for route in getattr(getattr(component, name), "cortex_routes", ()):
            if found.setdefault(route, name) != name:
                raise ComponentInvalidError(
                    component.__name__, f"{found[route]} and {name} both handle {route.event}"
                )
    if not found:
        raise ComponentInvalidError(component.__name__, "handles nothing: mark a method with @on")
    return found


def vocabulary_of(components: Iterable[type[Component]]) -> Vocabulary:
    """Every event class that these components handle, besides the bus's own.

    A vocabulary of its own: what it adopts later, the bus's does not get to know.
    """
    own: dict[str, type[Event]] = {}
    for component in components:
        for route in routes_of(component):
            if route.event.topic_name() not in VOCABULARY:
                own[route.event.topic_name()] = route.event
    return VOCABULARY.extended(own.values())


def is_query(route: Route) -> bool:
    """Whether the route is a question, which goes past the log."""
    return issubclass(route.event, Query)


def effect_declared(
    component: type[Component], serves: Serves, effects: Mapping[str, Effect]
) -> Effect | None:
    """The effect that *serves* declares, or that is declared for it beside its code.

    Args:
        component: Whose it is.
        serves: An action, a tool, or something else, which has no effect.
        effects: What is declared beside the code, by the name of an action, a tool or a component.
    """
    said = serves.declares()
    if said is None and serves.kind in EFFECTIVE:
        said = effects.get(serves.name) or effects.get(component.component_name())
    return said


def contract_of(
    component: type[Component], config: "Config", effects: Mapping[str, Effect] = NONE_DECLARED
) -> Contract | None:
    """Which effects of *component* happen once only, or under a key; None where none is so.

    Args:
        component: Whose.
        config: Of its home.
        effects: What is declared beside its code, as for `effect_declared`.
    """
    name = component.component_name()
    routes = [route for route in routes_of(component) if route.event in (StepExecute, ToolCall)]
    if not routes:
        return None
    # Who names no key only watches, but for what it announces.
    keys = [r.key for r in routes if r.event is StepExecute and r.key is not None]
    actions = {key: effects.get(key) or effects.get(name) or UNDECLARED for key in keys}
    tools: dict[str, Effect] = {}
    for serves in component.announces(config):
        if serves.kind in EFFECTIVE:
            known = actions if serves.kind == "action" else tools
            known[serves.name] = effect_declared(component, serves, effects) or UNDECLARED
    uses_tools = any(r.event is ToolCall and (r.key is not None or tools) for r in routes)
    if not uses_tools and not {"once", KEYED} & {*actions.values()}:
        return None
    return Contract(name, actions, tools, uses_tools=uses_tools, recovers=component.recovers)
