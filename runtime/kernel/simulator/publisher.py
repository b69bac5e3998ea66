"""A client that publishes its script, numbered, until every part of it is acknowledged."""

from collections.abc import Sequence

from cortex.bus import Answer, Appended, Draft, Event, LogError, Publish

from .link import Link
from .timeline import SECOND_NS, Timeline
from .weather import Weather

AWAY_NS = 3 * SECOND_NS  # the longest that a killed one stays away


class Publisher:
    """Publishes one part after the other; asks again, under the same number, until it knows.

    What was acknowledged is on its own disk; killed, it goes on with what was not.
    """

    def __init__(
        self,
        name: str,
        script: Sequence[tuple[Event, ...]],
        link: Link,
        time: Timeline,
        weather: Weather,
    ) -> None:
        self.label = name
        self.acknowledged: list[tuple[int, int]] = []
        self._script, self._link = script, link
        self._time, self._weather = time, weather
        self._life = 0

    def crash(self, reason: str) -> None:
        """End this very moment, and start again some time later."""
        self._time.note(self.label, "fails", reason)
        self._link.close()
        self._go_on(AWAY_NS)

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
        self._go_on(2 * SECOND_NS)

    def _go_on(self, most_ns: int) -> None:
        self._life += 1
        life = self._life

        def go_on() -> None:
            if life == self._life:
                self.next()

        self._time.after(self._weather.up_to(most_ns), go_on)
