"""A client that only looks: it has no cursor on the hub's disk, and keeps the position itself."""

from collections.abc import Sequence

from cortex.bus import Answer, Fetch, LogError, Page, Pair, Refused, Request, Subscribe

from .errors import insist
from .link import Link
from .timeline import SECOND_NS, Timeline
from .weather import Weather
from .wire import Wire

PAGE = 3  # events: a short one, so that faults strike between pages
AWAY_NS = 3 * SECOND_NS


class Follower:
    """Must be shown everything once, in order, whatever becomes of the hub and of itself."""

    def __init__(
        self,
        name: str,
        pairs: tuple[Pair, ...],
        link: Link,
        wire: Wire,
        time: Timeline,
        weather: Weather,
    ) -> None:
        self.label = name
        self.seen: list[int] = []
        self._after = 0
        self._pairs, self._link, self._wire = pairs, link, wire
        self._time, self._weather = time, weather
        self._asking = self._rung = False
        self._life = 0

    def begin(self) -> None:
        """Start looking."""
        self._wire.watch(self.label, self._wake, self.label)
        self._subscribe()

    def crash(self, reason: str) -> None:
        """End this very moment, and start again some time later from where it was."""
        self._time.note(self.label, "fails", reason)
        self._link.close()
        self._asking = True  # nothing wakes what is not there
        self._life += 1
        life = self._life

        def back() -> None:
            if life == self._life:
                self._subscribe()

        self._time.after(self._weather.up_to(AWAY_NS), back)

    def _subscribe(self) -> None:
        self._ask(Subscribe(self.label, "ordered", self._pairs, lasting=False))

    def _fetch(self) -> None:
        self._rung = False
        self._ask(Fetch(self.label, self._after, PAGE))

    def _ask(self, request: Request) -> None:
        self._asking = True
        self._link.call((request,), self._heard)

    def _heard(self, answers: Sequence[Answer] | LogError) -> None:
        if isinstance(answers, LogError) or isinstance(answers[0], Refused):
            self._subscribe()  # the hub is another one: it knows nothing of this
            return
        (answer,) = answers
        if not isinstance(answer, Page):
            self._fetch()
            return
        insist(answer.through >= self._after, "{} was led back to {}", self.label, answer.through)
        self.seen += [record.position for record in answer.records]
        moved, self._after = answer.through > self._after, answer.through
        if moved or self._rung:
            self._fetch()
        else:
            self._asking = False

    def _wake(self) -> None:
        if self._asking:
            self._rung = True
        else:
            self._fetch()
