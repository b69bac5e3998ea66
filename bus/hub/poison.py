"""Counts attempts at an event, so that only the event at fault is parked.

Every attempt is counted on disk before it begins. An attempt found at opening ended with the
hub, which says nothing about the event. An event that was being tried in several crashes is a
*suspect*: suspects are tried one at a time, so that the next crash shows which one is at fault.
"""

from typing import Self

import msgspec

from ..log import Batch
from ..requests import Answer, Commit, Done, Finish, Once, Refused, Request
from .hub_state import HubState

Key = tuple[str, int]  # subscription and position; 0 for the event after an ordered cursor

SUSPECT = 3  # attempts that ended with the hub, from which on an event is tried alone
ALONE_NS = 30_000_000_000  # how long a suspect is alone; then the next one begins as well


class Alone(msgspec.Struct, frozen=True):
    """The suspect that is being tried."""

    key: Key
    until_ns: int


class PoisonTracking:
    """What a hub knows of earlier attempts; changed only after a write succeeded."""

    def __init__(self, fallen: dict[Key, int]) -> None:
        self.fallen = fallen  # attempts that ended with a crashed hub, by unfinished event
        self.free: set[Key] = set()  # the result could not be written: the next attempt is free
        self.alone: Alone | None = None

    @classmethod
    def of(cls, state: HubState) -> Self:
        """The attempts that *state* had when the hub opened its log."""
        fallen = {(s.name, 0): s.attempts for s in state.standings.values() if s.attempts}
        for name, queue in state.queues.items():
            fallen.update(((name, w.position), w.attempts) for w in queue if w.attempts)
        return cls(fallen)

    def settle(self, tries: "StagedTries", gone: list[str]) -> set[str]:
        """Apply a transaction that is on disk; return the names that may begin because of it."""
        if not self.fallen and not self.free:
            return set()  # the usual case: no hub crashed during an attempt
        before, self.alone = self.alone, tries.alone
        self.free -= tries.paid | tries.ended
        for key in tries.ended:
            self.fallen.pop(key, None)
        if gone:
            self.free = {key for key in self.free if key[0] not in gone}
            self.fallen = {k: count for k, count in self.fallen.items() if k[0] not in gone}
        room = before is not None and (self.alone is None or self.alone.key != before.key)
        return self._waiting() if room else set()

    def lapse(self, now_ns: int) -> set[str]:
        """Names that may begin because time has passed."""
        if self.alone is None or now_ns < self.alone.until_ns:
            return set()
        self.alone = None
        return self._waiting()

    def is_repeated(self, request: Request) -> bool:
        """Whether *request* may have come before, and ended with the hub then."""
        match request:
            case Once():
                return request.repeat or any(
                    self.is_repeated(each) for _, requests in request.parts for each in requests
                )
            case Commit():
                return (request.subscription, 0) in self.fallen
            case Finish():
                return (request.subscription, request.position) in self.fallen
            case _:
                return False

    def excuse(self, state: HubState, request: Request) -> None:
        """Do not count the next attempt: the log could not write the result of this one."""
        attempts, key = 0, ("", 0)
        if isinstance(request, Commit):
            key = (request.subscription, 0)
            standing = state.standings.get(request.subscription)
            if standing is not None and standing.cursor == request.after:
                attempts = standing.attempts
        elif isinstance(request, Finish):
            key = (request.subscription, request.position)
            queue = state.queues.get(request.subscription)
            work = queue.get(request.position) if queue else None
            if work is not None and work.epoch == request.epoch:
                attempts = work.attempts
        if attempts > self.fallen.get(key, 0):  # this attempt was counted
            self.free.add(key)

    def excuse_answered(self, state: HubState, request: Request, answer: Answer) -> None:
        """Likewise for a request, or those of a frame, that would have been answered so."""
        if isinstance(request, Once) and isinstance(answer, Done):
            each = (r for _, requests in request.parts for r in requests)
            for inner, given in zip(each, answer.answers, strict=False):
                self.excuse_answered(state, inner, given)
        elif not isinstance(answer, Refused):
            self.excuse(state, request)

    def forgive(self, state: HubState, batch: Batch) -> None:
        """Undo the counts since the hub opened: it shuts down cleanly."""
        for name, standing in state.standings.items():
            fallen = self.fallen.get((name, 0), 0)
            if standing.attempts > fallen and name not in state.passing:
                batch.standings[name] = msgspec.structs.replace(standing, attempts=fallen)
        for name, queue in state.queues.items():
            for work in queue:
                key = (name, work.position)
                fallen = self.fallen.get(key, 0)
                if work.attempts > fallen:
                    batch.work[key] = msgspec.structs.replace(work, attempts=fallen)

    def _waiting(self) -> set[str]:
        return {name for (name, _), count in self.fallen.items() if count >= SUSPECT}


class StagedTries:
    """The changes of one batch."""

    def __init__(self, tries: PoisonTracking, now_ns: int) -> None:
        self.alone = tries.alone
        self.paid: set[Key] = set()  # uncounted attempts that were used
        self.ended: set[Key] = set()  # events that are finished
        self._gone: set[str] = set()  # removed subscriptions
        self._tries, self._now_ns = tries, now_ns

    def fallen(self, key: Key) -> int:
        """How many attempts at an event ended with the hub."""
        count = self._tries.fallen.get(key, 0)
        return 0 if count and (key in self.ended or key[0] in self._gone) else count

    def is_suspect(self, key: Key) -> bool:
        """Whether an event must be tried alone."""
        return self.fallen(key) >= SUSPECT

    def must_wait(self, key: Key) -> bool:
        """Whether this event is a suspect while another suspect is being tried."""
        alone = self.alone
        other = alone is not None and alone.key != key and self._now_ns < alone.until_ns
        return other and self.is_suspect(key)

    def begin(self, key: Key) -> int:
        """Begin an attempt; return how much it counts."""
        if self.is_suspect(key):
            self.alone = Alone(key, self._now_ns + ALONE_NS)
        if key in self._tries.free and key not in self.paid | self.ended:
            self.paid.add(key)
            return 0
        return 1

    def make_room(self, key: Key) -> None:
        """Let the next suspect begin, if one waits for this one."""
        if self.alone is not None and self.alone.key == key:
            self.alone = None

    def end(self, key: Key) -> None:
        """Note that the event is finished."""
        self.ended.add(key)
        self.make_room(key)

    def drop(self, name: str) -> None:
        """Note that a subscription is removed."""
        self._gone.add(name)
        if self.alone is not None and self.alone.key[0] == name:
            self.alone = None
