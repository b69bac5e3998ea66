"""A client's connection to the hub: in the hub's process, or at the end of a wire."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from cortex.bus import (
    Answer,
    Attempt,
    Clock,
    Commit,
    Done,
    Epochs,
    Finish,
    LogError,
    Once,
    Publish,
    Release,
    Request,
    Subscribe,
    Unsubscribe,
)

from .timeline import SECOND_NS, Timeline
from .wire import Answers, Wire

PATIENCE_NS = 2 * SECOND_NS  # then a client asks again
NUMBERED = (Attempt, Commit, Finish, Publish, Release, Subscribe, Unsubscribe)
TAG_SHIFT = 32

Heard: TypeAlias = Callable[[Answers], None]


class SimulatedConnection:
    """One client's connection: a second request only after the answer to the first.

    Where it is *remote*, what changes something goes in frames that are numbered: whoever asks
    again, because no answer came, asks under the same number.
    """

    def __init__(
        self, client: str, wire: Wire, time: Timeline, *, place: str = "", remote: bool = False
    ) -> None:
        self._client, self._wire, self._time = client, wire, time
        self._place, self._remote = place or client, remote
        self.epochs: Epochs = ()  # of the log, as the hub knew them that answered last
        self._number = 0  # of the request that is waited for
        self._frames = wire.new_tag() << TAG_SHIFT

    def call(self, requests: Sequence[Request], heard: Heard) -> None:
        """Ask until there is an answer; *heard* gets the first one, or the log's refusal."""
        self._number += 1
        number, frame = self._number, self._next_frame(requests)
        asked = 0

        def answered(answers: Answers, epochs: Epochs) -> None:
            if number == self._number:
                self._number += 1
                self.epochs = epochs
                heard(_opened(answers) if frame else answers)

        def ask() -> None:
            nonlocal asked
            if number == self._number:
                sent = self._framed(requests, frame, repeat=asked > 0) if frame else requests
                asked += 1
                self._wire.post(self._place, self._client, sent, answered)
                self._time.after(PATIENCE_NS, ask)

        ask()

    def close(self) -> None:
        """Hear of no answer any more; what is under way may still arrive."""
        self._number += 1
        self._frames = self._wire.new_tag() << TAG_SHIFT

    def _next_frame(self, requests: Sequence[Request]) -> int:
        if not self._remote or not all(isinstance(r, NUMBERED) for r in requests):
            return 0
        self._frames += 1
        return self._frames

    def _framed(
        self, requests: Sequence[Request], number: int, *, repeat: bool
    ) -> tuple[Request, ...]:
        return (Once(number, repeat, ((self._client, tuple(requests)),)),)


class Renewals:
    """What leases need of the hub, from the place where their holder is."""

    def __init__(self, wire: Wire, place: str) -> None:
        self._wire, self._place = wire, place

    @property
    def clock(self) -> Clock:
        """The hub's time."""
        return self._wire.clock

    def alarm(self, at_ns: int, wake: Callable[[], None]) -> None:
        """Call *wake* at *at_ns*."""
        self._wire.alarm(at_ns, wake)

    def submit(self, client: str, requests: Sequence[Request]) -> list[Answer]:
        """Answer *requests* at once."""
        return self._wire.submit(self._place, client, requests)


def _opened(answers: Answers) -> Answers:
    if isinstance(answers, LogError):
        return answers
    (answer,) = answers
    return answer.answers if isinstance(answer, Done) else answers
