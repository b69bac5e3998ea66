"""A client that only looks: it has no cursor on the hub's disk, and keeps the position itself."""

from collections.abc import Sequence

from cortex.bus import (
    Answer,
    Epochs,
    Fetch,
    LogError,
    Page,
    Pair,
    Refused,
    Request,
    Subscribe,
    TailLostError,
    common_when_told,
    moved_on,
)

from .errors import insist
from .link import SimulatedConnection
from .timeline import SECOND_NS, Timeline
from .weather import Weather
from .wire import Wire

PAGE = 3  # events: a short one, so that faults strike between pages
AWAY_NS = 3 * SECOND_NS


class Follower:
    """Must be shown everything once, in order, whatever becomes of the hub and of itself.

    Where the log lost what it was shown it is told so, drops that, and goes on from there.
    """

    def __init__(
        self,
        name: str,
        pairs: tuple[Pair, ...],
        link: SimulatedConnection,
        wire: Wire,
        time: Timeline,
        weather: Weather,
    ) -> None:
        self.label = name
        self.held: dict[int, bytes] = {}  # ids of what it was shown, by position
        self.lost = 0  # how often it was told of a loss
        self._epochs: Epochs = ()
        self._after = 0
        self._pairs, self._link, self._wire = pairs, link, wire
        self._time, self._weather = time, weather
        self._asking = self._rung = False
        self._life = 0

    def begin(self) -> None:
        """Start looking."""
        self._epochs = self._wire.epochs or ()
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
        epoch = self._epochs[-1].id if self._epochs else 0
        self._ask(Fetch(self.label, self._after, PAGE, log_epoch=epoch))

    def _ask(self, request: Request) -> None:
        self._asking = True
        self._link.call((request,), self._heard)

    def _heard(self, answers: Sequence[Answer] | LogError) -> None:
        if isinstance(answers, LogError):
            self._subscribe()
            return
        (answer,) = answers
        if isinstance(answer, Refused):
            error = answer.error()
            if isinstance(error, TailLostError):
                self._drop(error)
            self._subscribe()  # the hub is another one: it knows nothing of this
            return
        if not isinstance(answer, Page):
            self._fetch()
            return
        insist(answer.through >= self._after, "{} was led back to {}", self.label, answer.through)
        for record in answer.records:
            insist(record.position > max(self.held, default=0), "{} is shown again", record)
            self.held[record.position] = record.id
        self._epochs = moved_on(self._epochs, self._after, answer.log_epoch)
        moved, self._after = answer.through > self._after, answer.through
        if moved or self._rung:
            self._fetch()
        else:
            self._asking = False

    def _drop(self, told: TailLostError) -> None:
        now = self._link.epochs
        common = common_when_told(now, self._epochs, self._after, told.common)
        self._epochs = now
        if common < self._after:
            self._time.note(self.label, "drops", f"{self._after} to {common}")
            self.held = {p: i for p, i in self.held.items() if p <= common}
            self.lost, self._after = self.lost + 1, common

    def _wake(self) -> None:
        if self._asking:
            self._rung = True
        else:
            self._fetch()
