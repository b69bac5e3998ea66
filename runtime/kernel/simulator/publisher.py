"""A client that publishes its script, numbered, until every part of it is acknowledged."""

from collections.abc import Sequence

from cortex.bus import Answer, Appended, Draft, Event, LogError, Publish

from .timeline import SECOND_NS, Timeline
from .weather import Weather
from .wire import Link


class Publisher:
    """Publishes one part after the other; asks again, under the same number, until it knows."""

    def __init__(
        self, script: Sequence[tuple[Event, ...]], link: Link, time: Timeline, weather: Weather
    ) -> None:
        self.acknowledged: list[tuple[int, int]] = []
        self._script, self._link = script, link
        self._time, self._weather = time, weather

    def next(self) -> None:
        """Publish the first part that is not acknowledged."""
        number = len(self.acknowledged)
        if number < len(self._script):
            drafts = tuple(Draft.of(event) for event in self._script[number])
            self._link.call((Publish(drafts, number + 1),), self._answered)

    def _answered(self, answers: Sequence[Answer] | LogError) -> None:
        if not isinstance(answers, LogError):
            (answer,) = answers
            if not isinstance(answer, Appended):
                raise AssertionError(f"a publisher was refused: {answer}")
            self.acknowledged.append((answer.first, answer.last))
        self._time.after(self._weather.up_to(2 * SECOND_NS), self.next)
