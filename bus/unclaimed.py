"""What is said when nobody takes a request: it is recorded beside the request, and that waits.

Where no subscription sees it, that is said in the transaction that records it. Where one does and
nobody claims from its queue (its worker was killed, hangs, or was never started again), the queue
is looked at from time to time: a step that has waited there from one look to the next, while no
worker showed a sign of life, is told once for each time it became free.
"""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from .event import Draft, Event
from .events.model import ModelInvoke, ModelUnclaimed
from .events.step import StepExecute, StepUnclaimed
from .known import Known
from .log import Standing, Work

SOURCE = "hub"
STEP = StepExecute.topic_name()
LOOK_NS = 5_000_000_000  # between two looks; what is told has waited for one to two of them
TOLD_AT_ONCE = 256  # by one look

SecondsWaited = float
_STEPS = (STEP, "step.*", "*")  # the patterns that see a step


def _step(body: bytes, waited_s: SecondsWaited) -> Event:
    asked = msgspec.msgpack.decode(body, type=StepExecute)
    return StepUnclaimed(
        execution_id=asked.execution_id,
        step_id=asked.step_id,
        action=asked.action,
        waited_s=waited_s,
    )


def _model(body: bytes, _waited_s: SecondsWaited) -> Event:
    asked = msgspec.msgpack.decode(body, type=ModelInvoke)
    return ModelUnclaimed(
        execution_id=asked.execution_id,
        step_id=asked.step_id,
        attempt=asked.attempt,
        turn=asked.turn,
        call=asked.call,
        model=asked.model,
        provider=asked.provider,
        reason=f"no component answers for {asked.model} as the provider {asked.provider!r}",
    )


# Topics of work that somebody waits for, and the report where no subscription takes it.
REPORTS: Mapping[str, Callable[[bytes, SecondsWaited], Event]] = {
    STEP: _step,
    ModelInvoke.topic_name(): _model,
}


def report(topic: str, body: bytes, position: int, waited_s: SecondsWaited = 0.0) -> Draft:
    """What is said of the request at *position*, of one of the topics in `REPORTS`."""
    return Draft.of(REPORTS[topic](body, waited_s), causation=position)


class _Look(msgspec.Struct):
    due_ns: int
    touched: int = -1  # the queue's count of signs of life at the look before
    newest: int = 0  # head of the log at the look before
    older: int = 0  # and at the one before that, where nobody has shown a sign of life since


class Unclaimed:
    """Looks at the queues in which steps wait; changed only after a write succeeded."""

    def __init__(self, known: Known) -> None:
        self._looks: dict[str, _Look] = {}
        self._told: dict[str, set[tuple[int, int]]] = {}  # position and epoch, by subscription
        self._waits_on(known, known.queues, 0)

    def due_ns(self) -> int | None:
        """When there is something to look at; None for not before a step is asked for."""
        return min((look.due_ns for look in self._looks.values()), default=None)

    def offered(self, names: Iterable[str], now_ns: int) -> None:
        """Steps were put into the queues *names*."""
        for name in names:
            if name not in self._looks:
                self._looks[name] = _Look(now_ns + LOOK_NS)

    def lapsed(self, known: Known, names: Iterable[str], now_ns: int) -> None:
        """Leases or backoffs in the queues *names* are over, so that what they held is free."""
        self._waits_on(known, names, now_ns + LOOK_NS)

    def overdue(self, known: Known, now_ns: int, waits: Callable[[Work], bool]) -> list[Work]:
        """Work that was free for long enough, and not told yet; looks at what is due.

        Args:
            known: The queues, their lapsed leases matured.
            now_ns: The steady time.
            waits: Whether a work must not be claimed now, for a reason of the hub's own.
        """
        found: list[Work] = []
        for name in [name for name, look in self._looks.items() if look.due_ns <= now_ns]:
            found += self._look(known, name, now_ns, waits)
        return found

    def told(self, works: Iterable[Work]) -> None:
        """These were told."""
        for work in works:
            self._told.setdefault(work.subscription, set()).add((work.position, work.epoch))

    def _waits_on(self, known: Known, names: Iterable[str], due_ns: int) -> None:
        for name in names:
            if len(known.queues[name]) and _sees_steps(known.standings[name]):
                self._looks.setdefault(name, _Look(due_ns))

    def _look(
        self, known: Known, name: str, now_ns: int, waits: Callable[[Work], bool]
    ) -> list[Work]:
        look, queue = self._looks[name], known.queues.get(name)
        if queue is None or not len(queue):
            del self._looks[name]
            self._told.pop(name, None)
            return []
        held_ns = queue.next_due_ns()  # somebody has some of it, or gave it back a moment ago
        alive = held_ns is not None or queue.touched != look.touched
        look.older, look.newest = 0 if alive else look.newest, known.head
        look.touched, look.due_ns = queue.touched, max(now_ns, held_ns or 0) + LOOK_NS
        if alive:
            return []
        before = self._told.get(name, set())
        told = self._told[name] = before & {(w.position, w.epoch) for w in queue}
        fresh = [w for w in queue if (w.position, w.epoch) not in told]
        if not fresh:
            del self._looks[name]  # until there is more, or some of it was claimed and lapsed
        ripe = (w for w in fresh if w.position <= look.older and not waits(w))
        return [work for work, _ in zip(ripe, range(TOLD_AT_ONCE), strict=False)]


def _sees_steps(standing: Standing) -> bool:
    return any(topic in _STEPS for topic, _ in standing.filter)
