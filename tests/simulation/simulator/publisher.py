"""A client that publishes its script, numbered, until every part of it is acknowledged."""

from collections.abc import Sequence

from cortex.bus import (
    Answer,
    Appended,
    Draft,
    Epochs,
    Event,
    HubClosedError,
    LogError,
    Publish,
    Refused,
    TailLostError,
    common_when_told,
)

from .link import SimulatedConnection
from .timeline import SECOND_NS, Timeline
from .weather import Weather
from .wire import Wire

AWAY_NS = 3 * SECOND_NS  # the longest that a killed one stays away
AGAIN_NS = SECOND_NS  # before it connects again to a hub that could not record what was lost


class Publisher:
    """Publishes one part after the other; asks again, under the same number, until it knows.

    What was acknowledged is on its own disk; killed, it goes on with what was not. Where the log
    lost what was acknowledged it is told so, and publishes that again.
    """

    def __init__(
        self,
        name: str,
        script: Sequence[tuple[Event, ...]],
        link: SimulatedConnection,
        wire: Wire,
        time: Timeline,
        weather: Weather,
    ) -> None:
        self.label = name
        self.acknowledged: list[tuple[int, int]] = []
        self._script, self._link, self._wire = script, link, wire
        self._time, self._weather = time, weather
        self._epochs: Epochs = wire.epochs or ()
        self._life = 0

    def begin(self) -> None:
        """Start publishing; from then on it hears of each hub that is new."""
        self._wire.watch(f"publisher/{self.label}", self._meet, self.label)
        self._meet()
        self._go_on(0)

    def crash(self, reason: str) -> None:
        """End this very moment, and start again some time later."""
        self._time.note(self.label, "fails", reason)
        self._link.close()
        self._go_on(AWAY_NS)

    @property
    def _seen(self) -> int:
        return self.acknowledged[-1][1] if self.acknowledged else 0

    def _next(self) -> None:
        """Publish the first part that is not acknowledged."""
        number = len(self.acknowledged)
        if number < len(self._script):
            drafts = tuple(Draft.of(event) for event in self._script[number])
            epoch = self._epochs[-1].id if self._epochs else 0
            request = Publish(drafts, number + 1, log_epoch=epoch, seen=self._seen)
            self._link.call((request,), self._answered)

    def _answered(self, answers: Sequence[Answer] | LogError) -> None:
        if not isinstance(answers, LogError):
            (answer,) = answers
            error = answer.error() if isinstance(answer, Refused) else None
            if isinstance(error, TailLostError):
                self._drop(error, self._link.epochs)
            elif isinstance(answer, Appended):
                self.acknowledged.append((answer.first, answer.last))
                self._epochs = self._link.epochs  # all that it had seen before is in them, too
            else:
                raise AssertionError(f"a publisher was refused: {answer}")
            if self._epochs != self._wire.epochs:
                self._meet()  # that hub is gone: another one may have less
        self._go_on(2 * SECOND_NS)

    def _meet(self) -> None:
        """Connect to the hub that is there now."""
        try:
            self._wire.meet(self.label, self._epochs, self._seen)
        except TailLostError as lost:
            self._link.close()
            self._drop(lost, self._wire.epochs or ())
            self._go_on(2 * SECOND_NS)
        except HubClosedError:
            return  # the next one is heard of, too
        except LogError:
            self._time.after(AGAIN_NS, self._meet)

    def _drop(self, told: TailLostError, now: Epochs) -> None:
        common = common_when_told(now, self._epochs, self._seen, told.common)
        self._time.note(self.label, "drops", f"{self._seen} to {common}")
        self._epochs = now
        self.acknowledged = [part for part in self.acknowledged if part[1] <= common]

    def _go_on(self, most_ns: int) -> None:
        self._life += 1
        life = self._life

        def go_on() -> None:
            if life == self._life:
                self._next()

        self._time.after(self._weather.up_to(most_ns), go_on)
