"""Runs `async def` handlers concurrently, on an event loop in its own thread."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

from cortex.bus import Draft, Event, Lease, Recorded, Vocabulary, lasting
from cortex.bus.events import StepFailed

from ..components.component import AsyncComponent, Delivery
from ..errors import ComponentInvalidError
from .detail import Detail, Handling, bind_when_imported
from .host import (
    NOTHING,
    Effects,
    Gathered,
    Outcome,
    delivery_of,
    handler_for,
    handlers_of,
    told,
    trace_of,
)

GRACE_S = 3.0  # time for a handler to report its own timeout
FLUSH_S = 0.01  # ephemeral events of all handlers are sent together
LAST_TURNS = 4  # turns for the last coroutine: becomes a task, is cancelled, ends, is reported
STOP_S = 5.0  # time for cancelled handlers to clean up

Handler = Callable[[Event, Delivery], AsyncIterator[Any]]
Given = TypeVar("Given")
# Execution, step and attempt of a handler, and the position of its event.
Serving = tuple[str, str, int, int]


class AsyncHost:
    """Runs one instance of an `AsyncComponent`."""

    def __init__(
        self,
        make: Callable[[], AsyncComponent],
        vocabulary: Vocabulary,
        emit: Callable[..., None],
    ) -> None:
        self._make = make
        self._vocabulary = vocabulary
        self._emit = emit
        self._ring: Callable[[], None] = _nothing
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="cortex-async", daemon=True)
        self.concurrent = 1  # events handled concurrently; known after the start
        self._component: AsyncComponent | None = None
        self._handlers: dict[tuple[str, str | None], Handler] = {}
        self._queries: dict[type[Event], Handler] = {}
        self._name = ""
        self._detail: Detail | None = None
        self._under_way: dict[asyncio.Task[Outcome], Serving] = {}  # used on the loop only
        self._ended: deque[tuple[Lease, Outcome]] = deque()
        self._drafts: list[Draft] = []  # ephemeral, used on the loop only
        self._gate = threading.Lock()
        self._over = False  # the loop accepts nothing more

    def start(self) -> None:
        """Create and start the component, on its loop."""
        self._thread.start()
        self._given(self._open()).result()

    def is_ready(self) -> bool:
        """Always True: there is no process to start."""
        return True

    def make_ready(self) -> None:
        """Do nothing: it is ready since its start."""

    def rings(self, ring: Callable[[], None]) -> None:
        """Call *ring* when a handler has ended, on the loop's thread; it must return at once."""
        self._ring = ring

    def begin(self, lease: Lease, attempt: int, *, begun: bool = False) -> None:
        """Start the handler of an event; if the loop has ended, the event is delivered again."""
        with self._gate:
            if not self._over:
                self._loop.call_soon_threadsafe(self._begin, lease, attempt, begun)

    def cancel(self, ending: Recorded) -> None:
        """Cancel the handlers that *ending* ends, among those that began before it."""
        event = self._vocabulary.read(ending)
        with self._gate:
            if not self._over:
                # In the turn after next: a new handler identifies itself in its first turn.
                later = self._loop.call_soon
                self._loop.call_soon_threadsafe(later, self._cancel, event, ending.position)

    def ended(self) -> list[tuple[Lease, Outcome]]:
        """The handlers that ended since the last call."""
        return [self._ended.popleft() for _ in range(len(self._ended))]

    def handle(self, records: Sequence[Recorded], attempt: int, *, begun: bool = False) -> Outcome:
        """Run the handlers over a page, in order, until one fails."""
        outcome = Outcome([])
        for record in records:
            one = self._given(self._handle(record, attempt, begun=begun)).result()
            outcome.done += one.done
            if one.failure is not None:
                outcome.failure, outcome.trace = one.failure, one.trace
                break
        return outcome

    def answer(self, query: Event) -> Event:
        """Run the handler of a query."""
        return self._given(self._answer(query)).result()

    def recall(self, records: Iterable[Recorded]) -> None:
        """Do nothing: a component fed from a queue keeps no fold."""

    def restore(self, snapshot: bytes) -> None:
        """Do nothing: a component fed from a queue keeps no fold."""

    def share(self) -> None:
        """Do nothing: queries come through the mailbox."""

    def snapshot(self) -> bytes:
        """Empty: a component fed from a queue keeps no fold."""
        return b""

    def stop(self) -> None:
        """Cancel running handlers and stop the component; a second call does nothing."""
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            try:
                with suppress(CancelledError):  # it was abandoned before
                    self._given(self._close()).result(2 * STOP_S)
            finally:
                self.abandon()
                self._thread.join(lasting(STOP_S))

    def is_kept(self) -> bool:
        """False: its loop has a thread."""
        return False

    def abandon(self) -> None:
        """End the loop; a handler that blocks it is abandoned."""
        with self._gate:
            if not self._over:
                self._loop.call_soon_threadsafe(self._loop.stop)

    def _given(self, coroutine: Coroutine[Any, Any, Given]) -> Future[Given]:
        """Run *coroutine* on the loop; it is cancelled if the loop ends before it begins."""
        with self._gate:
            if not self._over:
                return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        coroutine.close()
        future: Future[Given] = Future()
        future.cancel()
        return future

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        with self._gate:
            self._over = True
        self._cancel_all()
        self._loop.close()

    def _cancel_all(self) -> None:
        """Cancel what is left, so that its waiters get an error and Python does not warn."""
        cancelled: set[asyncio.Task[Any]] = set()
        for _ in range(LAST_TURNS):
            left = asyncio.all_tasks(self._loop) - cancelled
            cancelled |= left
            for task in left:
                task.cancel()
            self._loop.call_soon(self._loop.stop)
            self._loop.run_forever()  # only what is ready now

    async def _open(self) -> None:
        component = self._make()
        self._handlers, self._queries = handlers_of(component)
        self._name = component.component_name()
        self._detail = Detail.asked()
        bind_when_imported()
        self.concurrent = component.concurrent
        component.on_start()
        await component.opened()
        self._component = component

    async def _close(self) -> None:
        self._ring = _nothing
        tasks = list(self._under_way)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=lasting(STOP_S))
        component, self._component = self._component, None
        if component is not None:
            await component.closed()
            component.on_stop()
        self._flush()

    def _begin(self, lease: Lease, attempt: int, begun: bool) -> None:
        task = self._loop.create_task(self._handle(lease.record, attempt, begun=begun))
        self._under_way[task] = ("", "", 0, 0)

        def ended(task: asyncio.Task[Outcome]) -> None:
            self._under_way.pop(task, None)
            if self._over:
                return  # interrupted, not done: its event is delivered again
            # A cancelled handler is done with its event, whose result is no longer wanted.
            outcome = Outcome([NOTHING]) if task.cancelled() else task.result()
            self._ended.append((lease, outcome))
            self._ring()

        task.add_done_callback(ended)

    async def _handle(self, record: Recorded, attempt: int, *, begun: bool) -> Outcome:
        try:
            event = self._vocabulary.read(record)
            with Handling(self._name, record, event):
                if self._detail is None:
                    return Outcome([await self._gathered(record, event, attempt, begun=begun)])
                with self._detail.of(record, attempt) as handled:
                    effects = await self._gathered(record, event, attempt, begun=begun)
                    handled.drafts = effects.events
                    return Outcome([effects])
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  # the feed decides what becomes of it
            return Outcome([], told(error), trace_of(error))
        finally:
            self._flush()

    async def _gathered(
        self, record: Recorded, event: Event, attempt: int, *, begun: bool
    ) -> Effects:
        handler = handler_for(self._handlers, record)
        gathered = Gathered(record, self._vocabulary, self._later)
        if handler is not None:
            self._note(event, record.position)
            delivery = delivery_of(record, self._name, attempt, begun=begun)
            async with asyncio.timeout(_bound_s(event)):
                async for output in handler(event, delivery):
                    gathered.take(output)
        return gathered.effects()

    def _note(self, event: Event, position: int) -> None:
        task = asyncio.current_task()
        if task in self._under_way:
            self._under_way[task] = (
                getattr(event, "execution_id", ""),
                getattr(event, "step_id", ""),
                getattr(event, "attempt", 0),
                position,
            )

    def _cancel(self, ending: Event, position: int) -> None:
        """Cancel handlers of an execution that ended, or of an attempt that failed.

        Handlers of later requests, as of a resumed execution, continue.
        """
        execution_id = getattr(ending, "execution_id", "")
        for task, (execution, step, attempt, asked) in list(self._under_way.items()):
            if execution != execution_id or asked > position:
                continue
            if not isinstance(ending, StepFailed) or (
                (step, attempt) == (ending.step_id, ending.attempt)
            ):
                task.cancel()

    def _later(self, draft: Draft) -> None:
        if not self._drafts:
            self._loop.call_later(lasting(FLUSH_S), self._flush)
        self._drafts.append(draft)

    def _flush(self) -> None:
        drafts, self._drafts = self._drafts, []
        if drafts:
            self._emit(*drafts)

    async def _answer(self, query: Event) -> Event:
        delivery = Delivery(position=0, time_ns=0, component=self._name)
        async for reply in self._queries[type(query)](query, delivery):
            if isinstance(reply, Event):
                return reply
        raise ComponentInvalidError(self._name, f"returned no answer to {query.topic_name()}")


def _bound_s(event: Event) -> float | None:
    timeout_s = getattr(event, "timeout_s", None)
    return None if timeout_s is None else timeout_s + GRACE_S


def _nothing() -> None:
    """Ignore the result: it is no longer wanted."""
