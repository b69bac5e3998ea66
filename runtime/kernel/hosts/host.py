"""Where a component's handlers run: in this thread, or in a spawned process (see `spawned`)."""

import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from cortex.bus import (
    CheckedDraft,
    Draft,
    Due,
    Ephemeral,
    Event,
    Recorded,
    Vocabulary,
    refuse_no_text,
)
from cortex.runtime.secrets import redacted

from ..components.component import (
    Component,
    Delivery,
    Forget,
    Handler,
    Later,
    Output,
    is_query,
    routes_of,
)
from ..errors import ComponentInvalidError
from .closable_history import ClosableHistory
from .detail import Detail, Handling, bind_when_imported

Found = TypeVar("Found")


class Effects(msgspec.Struct, frozen=True, array_like=True):
    """The results of a handler for one event; they are committed all together or not at all."""

    events: tuple[Draft, ...] = ()
    due: tuple[Due, ...] = ()
    forget: tuple[str, ...] = ()


class Outcome(msgspec.Struct, array_like=True):
    """How far a page was handled: the results so far, and the failure that stopped it."""

    done: list[Effects]
    failure: str | None = None  # of the event after the handled ones; one line
    trace: str = ""  # its traceback; secret-like text is masked


def handlers_of(
    component: Component,
) -> tuple[dict[tuple[str, str | None], Any], dict[type[Event], Any]]:
    """The handlers of *component*: of events, by topic and key, and of queries, by class."""
    handlers: dict[tuple[str, str | None], Any] = {}
    queries: dict[type[Event], Any] = {}
    for route, method in routes_of(type(component)).items():
        handler = getattr(component, method)
        if is_query(route):
            queries[route.event] = handler
        else:
            handlers[route.event.topic_name(), route.key] = handler
    return handlers, queries


class Host(Protocol):
    """Runs one instance of a component."""

    def start(self) -> None:
        """Create and start the component; raises what goes wrong."""
        ...

    def is_ready(self) -> bool:
        """Whether it can handle events without starting something first."""
        ...

    def make_ready(self) -> None:
        """Start what handling needs; errors show when an event is handled."""
        ...

    def handle(self, records: Sequence[Recorded], attempt: int, *, begun: bool = False) -> Outcome:
        """Run the handlers over a page, in order, until one fails."""
        ...

    def answer(self, query: Event) -> Event:
        """Run the handler of a query; raises what goes wrong."""
        ...

    def recall(self, records: Iterable[Recorded]) -> None:
        """Fold events that were handled before this start."""
        ...

    def restore(self, snapshot: bytes) -> None:
        """Restore an earlier fold."""
        ...

    def share(self) -> None:
        """The fold is complete: queries may come."""
        ...

    def snapshot(self) -> bytes:
        """The fold so far; empty if there is none."""
        ...

    def stop(self) -> None:
        """Stop the component; a second call does nothing."""
        ...

    def is_kept(self) -> bool:
        """Whether it owns a resource that is slow to create, and may start again without a stop."""
        ...

    def abandon(self) -> None:
        """End a handler that hangs, if possible; called from another thread."""
        ...


class LocalHost:
    """Runs a component in the calling thread."""

    def __init__(
        self,
        make: Callable[[], Component],
        vocabulary: Vocabulary,
        emit: Callable[[Draft], None],
        *,
        checks: bool = True,
        history: ClosableHistory | None = None,
    ) -> None:
        self._make = make
        self._vocabulary = vocabulary
        self._emit = emit  # sends ephemeral events at once
        self._history = history  # how the component reads the log; None: it must not `decide`
        self._checks = checks  # whether to check results, which needs the hub's vocabulary
        self._component: Component | None = None
        self._made: Component | None = None  # constructed, not started yet
        self._handlers: dict[tuple[str, str | None], Handler] = {}
        self._queries: dict[type[Event], Handler] = {}
        self._name = ""
        self._detail: Detail | None = None

    def make(self) -> None:
        """Construct the component before its start, so that errors show now."""
        self._made = self._make()

    def start(self) -> None:
        """Construct the component, unless that was done, and start it."""
        component, self._made = self._made or self._make(), None
        self._handlers, self._queries = handlers_of(component)
        self._name = component.component_name()
        self._detail = Detail.asked()
        bind_when_imported()
        component.on_start()
        self._component = component

    def is_ready(self) -> bool:
        """True: it is ready once the component has started."""
        return True

    def make_ready(self) -> None:
        """Do nothing: it is ready."""

    def handle(self, records: Sequence[Recorded], attempt: int, *, begun: bool = False) -> Outcome:
        """Run the handlers over a page, in order, until one fails."""
        outcome = Outcome([])
        for record in records:
            try:
                outcome.done.append(self._handle(record, attempt, begun=begun))
            except Exception as error:  # noqa: BLE001  # the feed decides what becomes of it
                outcome.failure, outcome.trace = told(error), trace_of(error)
                break
        return outcome

    def decide(self, records: Sequence[Recorded], topics: Collection[str]) -> list[Effects]:
        """Run the handlers over *records*, up to the first that needs another topic or the log."""
        done: list[Effects] = []
        if self._history is None:
            return done
        self._history.closed = True
        try:
            for record in records:
                if record.topic not in topics:
                    break
                done.append(self._handle(record, 1, begun=False))
        except Exception:  # noqa: BLE001  # it is delivered later, and fails there if it must
            return done
        finally:
            self._history.closed = False
        return done

    def answer(self, query: Event) -> Event:
        """Run the handler of a query."""
        delivery = Delivery(position=0, time_ns=0, component=self._name)
        for reply in self._queries[type(query)](query, delivery) or ():
            if isinstance(reply, Event):
                return reply
        raise ComponentInvalidError(self._name, f"returned no answer to {query.topic_name()}")

    def recall(self, records: Iterable[Recorded]) -> None:
        """Fold events that were handled before this start."""
        component = self._component
        for record in records:
            if component is not None and handler_for(self._handlers, record) is not None:
                component.recall(self._vocabulary.read(record), delivery_of(record, self._name, 1))

    def restore(self, snapshot: bytes) -> None:
        """Restore an earlier fold."""
        if self._component is not None:
            self._component.restore(snapshot)

    def share(self) -> None:
        """Do nothing: queries come through the mailbox, which waits until the fold is complete."""

    def snapshot(self) -> bytes:
        """The fold so far."""
        return self._component.snapshot() if self._component is not None else b""

    def stop(self) -> None:
        """Stop the component."""
        component, self._component, self._made = self._component or self._made, None, None
        if component is not None:
            component.on_stop()

    def is_kept(self) -> bool:
        """False: it is quick to create."""
        return False

    def abandon(self) -> None:
        """Do nothing: a thread cannot be killed; a component that must be killable sets `cpu`."""

    def _handle(self, record: Recorded, attempt: int, *, begun: bool) -> Effects:
        handler = handler_for(self._handlers, record)
        if handler is None:
            return NOTHING
        delivery = delivery_of(record, self._name, attempt, begun=begun)
        event = self._vocabulary.read(record)
        with Handling(self._name, record, event):
            if self._detail is None:
                return self._gathered(handler, record, event, delivery)
            with self._detail.of(record, attempt) as handled:
                effects = self._gathered(handler, record, event, delivery)
                handled.drafts = effects.events
                return effects

    def _gathered(
        self, handler: Handler, record: Recorded, event: Event, delivery: Delivery
    ) -> Effects:
        outputs = handler(event, delivery)
        if outputs is None:
            return NOTHING
        gathered = Gathered(record, self._vocabulary if self._checks else None, self._emit)
        for output in outputs:
            gathered.take(output)
        return gathered.effects()


def handler_for(handlers: Mapping[tuple[str, str | None], Found], record: Recorded) -> Found | None:
    """The handler of a record's topic and key, or else of its topic; None if there is none."""
    found = handlers.get((record.topic, record.key))
    return found if found is not None else handlers.get((record.topic, None))


def delivery_of(record: Recorded, name: str, attempt: int, *, begun: bool = False) -> Delivery:
    """What the component *name* is given beside the event of *record*."""
    return Delivery(
        record.position,
        record.time_ns,
        name,
        record.source,
        record.correlation,
        record.causation,
        attempt,
        begun,
        record.subject,
        record.version,
    )


class Gathered:
    """Collects the outputs of one handler; sends ephemeral events at once."""

    def __init__(
        self, record: Recorded, checks: Vocabulary | None, emit: Callable[[Draft], None]
    ) -> None:
        self._correlation, self._causation = record.correlation, record.position or None
        self._time_ns = record.time_ns
        self._checks, self._emit = checks, emit
        self._events: list[Draft] = []
        self._due: dict[str, Due] = {}
        self._forget: set[str] = set()

    def take(self, output: Output) -> None:
        """Add one more.

        Raises:
            CortexError: A log would not accept it.
        """
        if isinstance(output, Later):
            after_ns = max(0, output.at_ns - self._time_ns) if output.lasts else 0
            due = Due(output.name, output.at_ns, self._draft(output.event), after_ns)
            due.check()
            self._due[output.name] = due
        elif isinstance(output, Forget):
            refuse_no_text("deadline", output.name)
            self._due.pop(output.name, None)
            self._forget.add(output.name)
        elif isinstance(output, Ephemeral):
            self._emit(self._draft(output))
        else:
            self._events.append(self._draft(output))

    def effects(self) -> Effects:
        """All of them."""
        if not (self._due or self._forget):
            return Effects(tuple(self._events))
        return Effects(tuple(self._events), tuple(self._due.values()), tuple(self._forget))

    def _draft(self, event: Event) -> Draft:
        own = getattr(event, "execution_id", None)
        correlation = own or self._correlation
        if self._checks is None:
            return Draft.of(event, correlation=correlation, causation=self._causation)
        draft = CheckedDraft.of(event, correlation=correlation, causation=self._causation)
        self._checks.check(draft, event)  # here, so that this event fails and not the whole page
        return draft


def told(error: BaseException) -> str:
    """The error in one line that fits into any event; secrets are masked."""
    try:
        said = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  # an error whose own text fails
        said = type(error).__name__
    line = redacted((said.splitlines() or [""])[0][: 2 * LONGEST_REASON])[:LONGEST_REASON]
    return line.encode("utf-8", "backslashreplace").decode()


def trace_of(error: BaseException) -> str:
    """The traceback of *error* from its handler on, of bounded length; secrets are masked."""
    shown = traceback.TracebackException.from_exception(error, compact=True)
    while len(shown.stack) > 1 and shown.stack[0].filename.startswith(_OURS):
        del shown.stack[0]
    text = redacted("".join(shown.format()).rstrip())
    if len(text) > LONGEST_TRACE:
        half = LONGEST_TRACE // 2
        text = f"{text[:half]}\n  … {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
    return text


NOTHING = Effects()
LONGEST_REASON = 2_000  # characters
LONGEST_TRACE = 16_000  # characters; the middle of a longer one is omitted
# Frames of the code that calls handlers: useless to their authors.
_OURS = tuple(str(Path(__file__).parents[2] / room) for room in ("kernel", "functions"))
