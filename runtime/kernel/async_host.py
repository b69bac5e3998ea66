"""Runs `async def` handlers side by side, on an event loop in a thread of their own."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

from cortex.bus import Draft, Event, Lease, Recorded, Vocabulary, lasting
from cortex.bus.events import StepFailed

from .component import AsyncComponent, Delivery, is_query, routes_of
from .detail import Detail
from .errors import ComponentInvalidError
from .host import NOTHING, Effects, Gathered, Outcome, told, trace_of

GRACE_S = 3.0  # a handler that keeps to its own timeout needs a moment to say so
FLUSH_S = 0.01  # ephemeral events of all handlers leave together
LAST_TURNS = 4  # a coroutine given last becomes a task, which is cancelled, ends, and is told of
STOP_S = 5.0  # what cancelled handlers have to clean up

Handler = Callable[[Event, Delivery], AsyncIterator[Any]]
Given = TypeVar("Given")
# Execution, step and attempt that a handler works for, and the position of its event.
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
        self.concurrent = 1  # events that are handled at the same time; known once it started
        self._component: AsyncComponent | None = None
        self._handlers: dict[tuple[str, str | None], Handler] = {}
        self._queries: dict[type[Event], Handler] = {}
        self._name = ""
        self._detail: Detail | None = None
        self._under_way: dict[asyncio.Task[Outcome], Serving] = {}  # used on the loop only
        self._ended: deque[tuple[Lease, Outcome]] = deque()
        self._drafts: list[Draft] = []  # ephemeral, used on the loop only
        self._gate = threading.Lock()
        self._over = False  # nothing is given to the loop any more

    def start(self) -> None:
        """Make the component and start it, on its loop."""
        self._thread.start()
        self._given(self._open()).result()

    def is_ready(self) -> bool:
        """Always: there is no process to start."""
        return True

    def make_ready(self) -> None:
        """Do nothing: it has been since its start."""

    def rings(self, ring: Callable[[], None]) -> None:
        """Call *ring* when a handler has ended; from the loop's thread, it must return at once."""
        self._ring = ring

    def begin(self, lease: Lease, attempt: int, *, begun: bool = False) -> None:
        """Start the handler of an event; where the loop has ended, it is handed out again."""
        with self._gate:
            if not self._over:
                self._loop.call_soon_threadsafe(self._begin, lease, attempt, begun)

    def cancel(self, ending: Recorded) -> None:
        """Cancel what *ending* is the end of, among what was begun before this."""
        event = self._vocabulary.read(ending)
        with self._gate:
            if not self._over:
                # In the turn after next: what was begun just now says in its first one what it is.
                later = self._loop.call_soon
                self._loop.call_soon_threadsafe(later, self._cancel, event, ending.position)

    def ended(self) -> list[tuple[Lease, Outcome]]:
        """What has ended since the last look."""
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
        """Do nothing: what is fed from a queue keeps no fold."""

    def restore(self, snapshot: bytes) -> None:
        """Do nothing: what is fed from a queue keeps no fold."""

    def share(self) -> None:
        """Do nothing: questions come through the mailbox."""

    def snapshot(self) -> bytes:
        """Nothing: what is fed from a queue keeps no fold."""
        return b""

    def stop(self) -> None:
        """Cancel what is under way and stop the component; a second call does nothing."""
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            try:
                with suppress(CancelledError):  # it was abandoned before
                    self._given(self._close()).result(2 * STOP_S)
            finally:
                self.abandon()
                self._thread.join(lasting(STOP_S))

    def abandon(self) -> None:
        """End the loop; a handler that holds it up is left behind."""
        with self._gate:
            if not self._over:
                self._loop.call_soon_threadsafe(self._loop.stop)

    def _given(self, coroutine: Coroutine[Any, Any, Given]) -> Future[Given]:
        """Have the loop run *coroutine*; cancelled where the loop ends before it began."""
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
        """Cancel what is left, so that whoever waits for it is told and Python has no complaint."""
        cancelled: set[asyncio.Task[Any]] = set()
        for _ in range(LAST_TURNS):
            left = asyncio.all_tasks(self._loop) - cancelled
            cancelled |= left
            for task in left:
                task.cancel()
            self._loop.call_soon(self._loop.stop)
            self._loop.run_forever()  # what is ready, and nothing that comes of it

    async def _open(self) -> None:
        component = self._make()
        for route, method in routes_of(type(component)).items():
            handler = getattr(component, method)
            if is_query(route):
                self._queries[route.event] = handler
            else:
                self._handlers[route.event.topic_name(), route.key] = handler
        self._name = component.component_name()
        self._detail = Detail.asked(self._name)
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
                return  # it was cut off, not done: its event is handed out again
            # A handler that was cancelled is done with its event: nobody waits for it any more.
            outcome = Outcome([NOTHING]) if task.cancelled() else task.result()
            self._ended.append((lease, outcome))
            self._ring()

        task.add_done_callback(ended)

    async def _handle(self, record: Recorded, attempt: int, *, begun: bool) -> Outcome:
        try:
            if self._detail is None:
                return Outcome([await self._gathered(record, attempt, begun=begun)])
            with self._detail.of(record, self._vocabulary.read(record), attempt) as handled:
                effects = await self._gathered(record, attempt, begun=begun)
                handled.drafts = effects.events
                return Outcome([effects])
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  # the feed decides what becomes of it
            return Outcome([], told(error), trace_of(error))
        finally:
            self._flush()

    async def _gathered(self, record: Recorded, attempt: int, *, begun: bool) -> Effects:
        handler = self._handlers.get((record.topic, record.key))
        handler = handler or self._handlers.get((record.topic, None))
        gathered = Gathered(record, self._vocabulary, self._later)
        if handler is not None:
            event = self._vocabulary.read(record)
            self._note(event, record.position)
            delivery = Delivery(
                record.position,
                record.time_ns,
                self._name,
                record.source,
                record.correlation,
                record.causation,
                attempt,
                begun,
            )
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
        """Cancel what is done for an execution that is over, or for an attempt that failed.

        What was asked after that, as by an execution that was resumed, goes on.
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
    """Nobody waits for what ends."""
