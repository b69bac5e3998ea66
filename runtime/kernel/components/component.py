"""A component: a function from an event to events, with its declarations."""

import base64
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import msgspec

from cortex.bus import (
    RESERVED,
    UNDECLARED,
    Effect,
    Event,
    Query,
    Vocabulary,
    effect_of,
    root_of,
)
from cortex.bus.events import VOCABULARY, StepExecute, ToolCall

from ..errors import ComponentInvalidError
from .effect import KEYED, Contract, key_of

if TYPE_CHECKING:
    from ..home.config import Config

Method = TypeVar("Method", bound=Callable[..., Any])

EFFECTIVE = ("action", "tool")  # kinds of served things that declare an effect
NONE_DECLARED: Mapping[str, Effect] = {}
# Attributes that decorators set: on a function, its component class; on a method, what it serves.
MADE = "cortex_made"
SERVED = "cortex_served"
COMPLETES = "cortex_completes"  # on a method: adds the handler that its class needs


class Later(msgspec.Struct, frozen=True):
    """A recorded deadline: *event* is appended at *at_ns* unless *name* is forgotten before."""

    name: str  # one deadline a name; a second one replaces the first
    at_ns: int  # the log's time in nanoseconds; compute it from `delivery.time_ns`
    event: Event
    lasts: bool = True  # a duration, independent of changes of the clock; False: a time of day


class Forget(msgspec.Struct, frozen=True):
    """Drop the deadline *name*, in the same commit; does nothing if there is none."""

    name: str


Output = Event | Later | Forget
Handler = Callable[[Event, "Delivery"], Iterator[Output] | None]


class Delivery(msgspec.Struct, frozen=True, gc=False):
    """What a handler knows beside the event: the only source of time and ids."""

    position: int  # of the event; 0 for a query
    time_ns: int  # when the hub recorded it
    component: str  # the component that handles it
    source: str = ""  # who published it, as the hub authenticated it
    correlation: str | None = None
    causation: int | None = None
    attempt: int = 1  # how often this event was delivered to this component
    begun: bool = False  # its effect began before: find out its outcome, do not begin it
    subject: str | None = None  # id of whose personal data the event carries
    version: int = 0  # of the event in its stream, counted from 1; 0 for a query

    def new_id(self, n: int = 0) -> str:
        """The *n*-th id of this delivery: 16 letters and digits, the same in every replay."""
        seed = f"{self.position}/{self.time_ns}/{self.component}/{n}".encode()
        return base64.b32encode(hashlib.sha256(seed).digest()[:10]).decode().lower()

    def effect_key(self, n: int = 0) -> str:
        """The idempotency key of the *n*-th effect of this delivery (the same when repeated)."""
        return key_of(self.position, self.time_ns, self.component, n)


class Serves(msgspec.Struct, frozen=True):
    """Something that a component serves, as it is announced and linked."""

    kind: str  # "action", "gate", "model" or "tool"
    name: str
    parameters: type[msgspec.Struct] | None = None  # what `with:` may hold
    result: type[msgspec.Struct] | None = None  # what later steps may refer to
    # "asks_model" and "programs" (parameters that name a program to start, or an address to send
    # to: towards a goal no model chooses them) for an action, "read_only" for a gate.
    traits: dict[str, Any] = {}
    answer: type[msgspec.Struct] | None = None  # the answer that the action needs from a model
    effect: Effect | None = None  # of an action or tool, on the world; None counts as "once"

    def declares(self) -> Effect | None:
        """The effect that it declares; None if it declares none."""
        said = self.effect or self.traits.get("effect")
        return None if said is None else effect_of(said)


class Component:
    """Base class of everything that handles events.

    A subclass marks its handlers with `@on`. The runtime passes the arguments of its constructor by
    name: `blobs`, `home`, `config`, ... It opens resources of its thread in `on_start`.

    A component that keeps a fold of the log in memory sets `recalls`: at each start the runtime
    passes the last `snapshot` to `restore`, and every later event of its routes up to its cursor to
    `recall`. Only `restore` must understand a snapshot. A component that gives no snapshot
    recalls the whole log at each start.

    A component whose fold has some of its results at once, and whose routes have them, too, names
    their classes in `folds_results`: results stand in the log behind the events that still wait for
    it, and at each start it recalls those beyond its cursor before it handles anything. It does not
    handle them, so that what must follow from them has to follow with them.

    A component that answers queries fast, from memory and without resources of its thread, sets
    `answers_at_once`: while it is idle, the asker's thread runs the query's handler, never at the
    same time as another handler of the component. That saves two thread switches.

    An ordered component that needs only its memory to handle events of some classes names them in
    `decides`. While it is idle, the thread that appends such an event runs the handler, never at
    the same time as another one, and the results are written together with the event: that saves a
    transaction and two thread switches. The handler must not wait or call the hub. If it reads the
    log by its port `history`, or the transaction cannot be written, it is called again once the
    event is on disk. A component with `recalls` must not set it.

    A component that sets `recovers` is called again for a `once` effect that began before and
    has no recorded outcome: with `delivery.begun` set it finds out the outcome, and yields
    `EffectUnknown` if it cannot. Other handlers are never called again for such an effect.

    A component that sets `rests` has a thread only while there is work, if the hub is in the same
    process. Workers keep no state between two events: they, and the component with them, start
    with the first work, end after half a second without any, and start again with new work; a
    process of its own and asynchronous handlers end after a minute. Workers that answer queries do
    not rest. An ordered component keeps its state, but one thread after another calls its
    handlers; one in a process of its own (`cpu`) rests in any case, and its process stays.

    Methods marked with `@action`, `@gate` or `@tool` are added to `serves`; then
    the component takes work, with one worker unless it sets `workers`.
    """

    workers: ClassVar[int] = 0  # 0: one ordered feed with a cursor; n: n workers on one queue
    cpu: ClassVar[bool] = False  # True: runs long computations, so it gets a process of its own
    lease_s: ClassVar[float] = 30.0  # a hung worker's event goes to another after this long
    max_attempts: ClassVar[int] = 3  # then the event is parked and the component continues
    # Start of a new subscription: "beginning" for the whole log; a position ("1200") or a time
    # with its zone ("2026-11-23T10:00:00+00:00") for later events only.
    start: ClassVar[str] = "now"
    answers_at_once: ClassVar[bool] = False  # True: askers may run its queries in their own thread
    serves: ClassVar[tuple[Serves, ...]] = ()
    rests: ClassVar[bool] = False  # True: it has threads only while there is work
    recovers: ClassVar[bool] = False  # True: finds out the outcome of an effect that began
    recalls: ClassVar[int] = 0  # version of its fold; 0: no fold. A new version drops snapshots
    decides: ClassVar[tuple[type[Event], ...]] = ()  # events that it handles from memory alone
    # Its own results of these classes are in its fold once it yields them.
    folds_results: ClassVar[tuple[type[Event], ...]] = ()

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
        """What it serves with this configuration; earlier announcements not in it are withdrawn."""
        return cls.serves

    @classmethod
    def may_rest(cls, config: "Config", settings: Mapping[str, Any]) -> bool:  # noqa: ARG003  # for who overrides it
        """Whether it rests, with this configuration and these settings."""
        return cls.rests

    @classmethod
    def listens(cls, settings: Mapping[str, Any]) -> str:  # noqa: ARG003  # for who overrides it
        """The address, for people, where it listens itself with these settings; "" for none."""
        return ""

    def on_start(self) -> None:
        """Open resources of the thread that will call the handlers."""

    def on_stop(self) -> None:
        """Close what `on_start` opened."""

    def recall(self, event: Event, delivery: Delivery) -> None:
        """Fold an event that was handled before this start; nothing may be published."""

    def snapshot(self) -> bytes:
        """The fold so far, for `restore`; empty if recalling from the beginning is as good."""
        return b""

    def restore(self, snapshot: bytes) -> None:
        """Restore the fold from the result of `snapshot`."""


def _serves(member: object) -> bool:
    return inspect.isfunction(member) and hasattr(member, SERVED)


class AsyncComponent(Component):
    """A component whose handlers are `async def` generators, many of which run concurrently.

    They run on one event loop of the component's own, fed from one queue, so that no two of them
    run at the same moment and none needs a lock. A handler must not block without
    `await`: it would block all the others.

    When the execution that an event belongs to ends, or the step's attempt fails, the handler gets
    `asyncio.CancelledError` where it awaits, and what it yielded is dropped. The handler of an
    event with a `timeout_s` is cancelled a little after that time, and counts as failed.
    """

    workers = 1
    # Events that are handled at the same time. The end of an execution counts among them,
    # so bound concurrent work in the world with a semaphore of the component instead.
    concurrent: ClassVar[int] = 1_024

    async def opened(self) -> None:
        """Open resources of the event loop, on the loop."""

    async def closed(self) -> None:
        """Close what `opened` opened."""


def component_of(found: object) -> type[Component] | None:
    """The component that *found* is or is decorated as; None if neither."""
    if isinstance(found, type):
        return found if issubclass(found, Component) else None
    make: Callable[[], type[Component]] | None = getattr(found, MADE, None)
    return make() if make is not None and inspect.isfunction(found) else None


class Route(msgspec.Struct, frozen=True):
    """One `@on`: an event class, and the required key."""

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
        ComponentInvalidError: Two methods claim one route, or there is none at all; or its name is
            one by which the runtime and the person at it speak.
    """
    name = component.component_name()
    if root_of(name) in RESERVED:
        taken = ", ".join(sorted(RESERVED))
        raise ComponentInvalidError(
            name, f"has a name of the runtime's own: none of {taken} may be"
        )
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
    """The event classes that these components handle, in addition to the bus's own.

    A separate vocabulary: later additions do not change the bus's.
    """
    own: dict[str, type[Event]] = {}
    for component in components:
        for route in routes_of(component):
            if route.event.topic_name() not in VOCABULARY:
                own[route.event.topic_name()] = route.event
    return VOCABULARY.extended(own.values())


def is_query(route: Route) -> bool:
    """Whether the route is a query, which the log does not record."""
    return issubclass(route.event, Query)


def effect_declared(
    component: type[Component], serves: Serves, effects: Mapping[str, Effect]
) -> Effect | None:
    """The effect that *serves* declares, or that is declared for it outside the code.

    Args:
        component: The component.
        serves: An action, a tool, or something else, which has no effect.
        effects: Effects declared outside the code, by the name of an action, a tool or a component.
    """
    said = serves.declares()
    if said is None and serves.kind in EFFECTIVE:
        said = effects.get(serves.name) or effects.get(component.component_name())
    return said


def contract_of(
    component: type[Component], config: "Config", effects: Mapping[str, Effect] = NONE_DECLARED
) -> Contract | None:
    """The effects of *component* that happen only once, or under a key; None if there are none.

    Args:
        component: The component.
        config: The configuration of its home.
        effects: Effects declared outside the code, as for `effect_declared`.
    """
    name = component.component_name()
    routes = [route for route in routes_of(component) if route.event in (StepExecute, ToolCall)]
    if not routes:
        return None
    # Without a key a route only watches, except for what the component announces.
    keys = [r.key for r in routes if r.event is StepExecute and r.key is not None]
    actions: dict[str, Effect] = {
        key: effects.get(key) or effects.get(name) or UNDECLARED for key in keys
    }
    tools: dict[str, Effect] = {}
    for serves in component.announces(config):
        if serves.kind in EFFECTIVE:
            known = actions if serves.kind == "action" else tools
            known[serves.name] = effect_declared(component, serves, effects) or UNDECLARED
    uses_tools = any(r.event is ToolCall and (r.key is not None or tools) for r in routes)
    if not uses_tools and not {"once", KEYED} & {*actions.values()}:
        return None
    return Contract(name, actions, tools, uses_tools=uses_tools, recovers=component.recovers)
