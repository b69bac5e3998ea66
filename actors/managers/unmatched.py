"""Triggers without a matching process: each waits a while for one."""

from collections.abc import Callable, Iterator

import msgspec

from cortex.bus import Recorded, Vocabulary
from cortex.bus.events import (
    GrantRevoked,
    TriggerMatched,
    TriggerReceived,
    TriggerUnmatched,
    TriggerWake,
)
from cortex.runtime.access import person_of
from cortex.runtime.kernel import Delivery, Forget, Later, Output
from cortex.runtime.processes import LinkedProcess, answers

from .choosing import Refusal

MOST = 1_000  # triggers that wait at a time
MOST_BYTES = 16 << 20  # of all of them together


class HeldTrigger(msgspec.Struct, frozen=True):
    """A waiting trigger, and its publisher, as the hub authenticated it."""

    event: TriggerReceived
    source: str
    size_bytes: int = 0  # of the event, cached so that it is encoded only once


class Unmatched:
    """The waiting triggers.

    The log decides: a trigger waits from its `trigger.unmatched` until a `trigger.matched`,
    or a `trigger.unmatched` that is the last. Both are committed with the wake that they answer, so
    that a kill in between leaves either the wake or its answer, and never both.
    """

    def __init__(
        self, history: Callable[[str], Iterator[Recorded]], vocabulary: Vocabulary, wait_s: float
    ) -> None:
        self._history, self._vocabulary, self._wait_s = history, vocabulary, wait_s
        self._held: dict[str, HeldTrigger] = {}  # by trigger

    def refused(
        self, event: TriggerReceived, refusal: Refusal, delivery: Delivery
    ) -> Iterator[Output]:
        """Report that nothing fits *event*; it waits, unless its sender or a limit forbids it."""
        waits_s = self._wait_s if event.waits and not refusal.candidates else 0.0
        if waits_s and not self._has_room(event):
            waits_s = 0.0
        yield TriggerUnmatched(
            trigger_id=event.trigger_id,
            reason=refusal.reason,
            candidates=refusal.candidates,
            waits_s=waits_s,
        )
        if waits_s:
            at_ns = delivery.time_ns + round(waits_s * 1e9)
            yield Later(_last(event), at_ns, TriggerWake(trigger_id=event.trigger_id, last=True))
            self._held[event.trigger_id] = _held(event, delivery.source)

    def recall(self, event: TriggerUnmatched | TriggerWake | GrantRevoked) -> None:
        """Apply an event of an earlier start."""
        if isinstance(event, GrantRevoked):
            for held in self.of_client(event.client):
                self.drop(held.event)
        elif isinstance(event, TriggerWake):
            self.open(event)
        else:
            self._take_up(event)

    def said(self, event: TriggerUnmatched, delivery: Delivery) -> Iterator[Output]:
        """Restore one that was answered before this start without this component seeing the answer.

        Events between it and its answer were handled without it: it is checked again.
        """
        if self._take_up(event):
            yield _again(event.trigger_id, delivery.time_ns)

    def arrived(self, process: LinkedProcess, time_ns: int) -> Iterator[Output]:
        """Check triggers again that *process* fits, after the events of its compilation."""
        for trigger_id, held in self._held.items():
            if answers(process, held.event.fields):
                yield _again(trigger_id, time_ns)

    def open(self, event: TriggerWake | TriggerUnmatched) -> HeldTrigger | None:
        """The trigger, if it still waits according to the log."""
        held = self._held.get(event.trigger_id)
        if held is not None and self._read(event.stream()) is None:
            self.drop(held.event)
            return None
        return held

    def of_client(self, client: str) -> list[HeldTrigger]:
        """The waiting triggers of *client*."""
        return [held for held in self._held.values() if person_of(held.source) == client]

    def drop(self, event: TriggerReceived) -> None:
        """End the wait of a trigger."""
        self._held.pop(event.trigger_id, None)

    def snapshot(self) -> bytes:
        """The state, for `restore`."""
        return msgspec.msgpack.encode(self._held)

    def restore(self, snapshot: bytes) -> None:
        """Restore the state from `snapshot`."""
        self._held = (
            msgspec.msgpack.decode(snapshot, type=dict[str, HeldTrigger]) if snapshot else {}
        )

    def _take_up(self, event: TriggerUnmatched) -> bool:
        if not event.waits_s or event.trigger_id in self._held:
            return False
        held = self._read(event.stream())
        if held is not None:
            self._held[event.trigger_id] = held
        return held is not None

    def _read(self, stream: str) -> HeldTrigger | None:
        """The trigger in *stream*; None if the log has its end."""
        found: HeldTrigger | None = None
        for record in self._history(stream):
            event = self._vocabulary.read(record) if record.topic in self._vocabulary else None
            if isinstance(event, TriggerReceived):
                found = found or _held(event, record.source)
            elif isinstance(event, TriggerMatched) or (
                isinstance(event, TriggerUnmatched) and not event.waits_s
            ):
                return None
        return found

    def _has_room(self, event: TriggerReceived) -> bool:
        if len(self._held) >= MOST:
            return False
        sizes = (held.size_bytes for held in self._held.values())
        return sum(sizes, len(_ENCODE(event))) <= MOST_BYTES


def _held(event: TriggerReceived, source: str) -> HeldTrigger:
    return HeldTrigger(event, source, len(_ENCODE(event)))


def forgotten(event: TriggerReceived) -> Forget:
    """The deadline of a trigger that waits no longer."""
    return Forget(_last(event))


def _last(event: TriggerReceived) -> str:
    return f"trigger/{event.trigger_id}/last"


def _again(trigger_id: str, time_ns: int) -> Later:
    return Later(f"trigger/{trigger_id}/again", time_ns, TriggerWake(trigger_id=trigger_id))


_ENCODE = msgspec.msgpack.Encoder().encode
