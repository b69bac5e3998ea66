"""The hub behind a bad network: requests and answers are lost, late, doubled and overtaken."""

from collections.abc import Callable, Collection, Iterator, Sequence

import msgspec

from cortex.bus import (
    ID_BITS,
    Answer,
    Batch,
    CortexError,
    Epochs,
    Hub,
    HubClosedError,
    LogError,
    Recorded,
    Request,
    State,
    Subscribe,
    decode,
)
from cortex.runtime.log import AgentWork, MemoryLog

from .kernel import AtOnce
from .observer import Observer
from .scenario import Scenario
from .timeline import SECOND_NS, Act, Timeline
from .weather import Weather

DOWN_NS = 2 * SECOND_NS  # the longest that a crashed hub stays away
RETRY_NS = SECOND_NS  # a tick that could not be written

Answers = Sequence[Answer] | LogError
Reply = Callable[[Answers, Epochs], None]  # with the epochs that the hub knew which gave them


class FailingLog(MemoryLog):
    """A log whose disk says no now and then, and loses what was not synced with the power.

    Args:
        weather: Says when.
        subscriptions: They are made at the very start; what comes before them is never lost.
    """

    def __init__(self, weather: Weather, subscriptions: Collection[str]) -> None:
        super().__init__(lambda: weather.chance.getrandbits(ID_BITS - 1) + 1)
        self._weather, self._subscriptions = weather, subscriptions
        self.writes = 0
        self._since: list[tuple[int, State]] = []  # the last sync: the writes, and what they left

    def write(self, batch: Batch) -> None:
        """Keep *batch*, or nothing of it."""
        if self._weather.strikes(self._weather.faults.write_fails):
            raise LogError("the disk says no")
        super().write(batch)
        self.writes += 1
        if self._weather.faults.tail_lost and not self._weather.calm():
            self._note(synced=batch.sync)

    def lose(self) -> tuple[int, State] | None:
        """Be as after a write since the last sync: its number, and what it left.

        None where there is none to choose.
        """
        if not self._since:
            return None
        write, state = self._weather.chance.choice(self._since)
        self.cut(state)
        self._since = [(write, self.state())]
        return write, state

    def _note(self, *, synced: bool) -> None:
        state = self.state()
        if synced:
            self._since.clear()
        if {standing.name for standing in state.standings}.issuperset(self._subscriptions):
            self._since.append((self.writes, state))


class _Letter(msgspec.Struct, frozen=True):
    place: str  # where the client is: what is cut off
    client: str
    requests: Sequence[Request]
    reply: Reply


class Wire:
    """Carries requests to the hub and answers back; also the hub's clock and its crashes."""

    def __init__(self, scenario: Scenario, time: Timeline, weather: Weather) -> None:
        self.log = FailingLog(weather, [role.name for role in scenario.roles])
        self.clock = time
        self._scenario, self._time, self._weather = scenario, time, weather
        self._observer = Observer()
        self._hub: Hub | None = None
        self._decider: AtOnce | None = None  # that the hub asks
        self._life = 0  # of the hub: its answers and ticks go with it
        self._inbox: list[_Letter] = []
        self._wakes: dict[str, list[tuple[str, Act]]] = {}
        self._cut: dict[str, int] = {}  # places, and until when
        self._tags = 0  # of clients' lives
        self._ticks_ns: int | None = None
        self.restart()

    @property
    def epochs(self) -> Epochs | None:
        """Of the hub's log, as whoever connects is told them; None where it is away."""
        return self._hub.epochs if self._hub else None

    def meet(self, client: str, epochs: Epochs, seen: int) -> None:
        """Connect as who saw positions up to *seen* when the log had these *epochs*.

        Raises:
            TailLostError: The log has lost some of them.
            LogError: That could not be recorded, or the hub is away.
        """
        if self._hub is None:
            raise HubClosedError
        self._hub.meet(client, epochs, seen, self._time.now_ns())

    def watch(self, subscription: str, wake: Act, place: str) -> None:
        """Call *wake* when *subscription* may have something new, or the hub is back."""
        self._wakes.setdefault(subscription, []).append((place, wake))

    def post(self, place: str, client: str, requests: Sequence[Request], reply: Reply) -> None:
        """Send *requests* towards the hub; they may arrive not at all, or twice."""
        if place in self._cut:
            return
        letter = _Letter(place, client, requests, reply)
        for delay_ns in self._weather.arrivals_ns():
            self._time.after(delay_ns, lambda: self._arrive(letter))

    def new_tag(self) -> int:
        """What tells the frames of one life of a client from those of any other."""
        self._tags += 1
        return self._tags

    def cut(self, place: str) -> None:
        """Let nothing come from *place*, or get there, for a while; then it connects again."""
        if place in self._cut:
            return
        self._time.note(place, "is cut off")
        self._cut[place] = until_ns = self._weather.cut_until_ns()
        self._time.at(until_ns, lambda: self._heal(place))

    def open(self, request: Subscribe) -> None:
        """Make a subscription before the first shell is there, however often the disk says no."""
        hub = self._hub
        while hub is not None:
            try:
                hub.handle([(request.name, request)], self._time.now_ns())
                return
            except LogError:
                continue

    def submit(self, place: str, client: str, requests: Sequence[Request]) -> list[Answer]:
        """Ask the hub at once; this is how leases are renewed."""
        lost = place in self._cut or self._weather.strikes(self._weather.faults.renewal_lost)
        if self._hub is None or lost:
            raise HubClosedError
        answers = self._handle(self._hub, [(client, request) for request in requests])
        self._rouse(self._hub)
        return answers

    def stream(self, name: str) -> Iterator[Recorded]:
        """The events of one stream."""
        return map(decode, self.log.read_stream(name, 0, 10_000))

    def decide_by(self, decider: AtOnce) -> None:
        """Let the hub ask *decider* at once, until it crashes."""
        if self._hub is not None:
            self._hub.deciding.begin(decider, self._hub.head)
            self._decider = decider

    def decide_no_more(self, decider: AtOnce) -> None:
        """Undo that."""
        if self._hub is not None and decider is self._decider:
            self._hub.deciding.end(decider.name)
            self._decider = None

    def rouses(self, decider: AtOnce) -> bool:
        """Whether a wakeup of *decider* has to reach it."""
        asked = self._hub is not None and decider is self._decider
        return not asked or decider.needs_wakeup(self._hub.head if self._hub else 0)

    def moved(self, subscription: str, after: int, through: int) -> None:
        """Take in that the hub moved the cursor of a component that it asked at once."""
        self._observer.moved(subscription, after, through)

    def alarm(self, at_ns: int, wake: Act) -> None:
        """Call *wake* at *at_ns*."""
        self._time.at(at_ns, wake)

    def crash(self) -> None:
        """Lose the hub with everything in its memory; it comes back by itself."""
        if self._hub is None:
            return
        self.examine()
        self._time.note("hub", "crashes", f"at {self._hub.head}")
        self._hub, self._decider, self._inbox = None, None, []
        self._life += 1
        self._observer.crashed()
        if self._weather.strikes(self._weather.faults.tail_lost):
            self._lose_tail()
        self._time.after(self._weather.up_to(DOWN_NS), self.restart)

    def _lose_tail(self) -> None:
        before, lost = len(self.log.read(0, 1 << 30, 1 << 40)), self.log.lose()
        if lost is not None:
            self._observer.lost(*lost)
            self._time.note("log", "loses", f"what came after {lost[1].head}, up to {before}")

    def restart(self) -> None:
        """Open the log again."""
        self._hub = Hub(
            self.log,
            self._scenario.vocabulary,
            self._weather.chance.randbytes,
            policy=AgentWork(),
        )
        self._ticks_ns = None
        for name in self._wakes:
            self._wake(name)
        self._keep_time(self._hub)

    def examine(self) -> None:
        """Let the scenario look at the hub and its log."""
        if self._hub is not None:
            self._scenario.examine(self._hub, self.log)

    def _heal(self, place: str) -> None:
        del self._cut[place]
        self._time.note(place, "is back")
        for wakes in self._wakes.values():
            for there, wake in wakes:
                if there == place:
                    self._time.after(self._weather.latency_ns(), wake)

    def _wake(self, subscription: str) -> None:
        for place, wake in self._wakes.get(subscription, ()):
            if place not in self._cut:
                self._time.after(self._weather.latency_ns(), wake)

    def _arrive(self, letter: _Letter) -> None:
        if self._hub is None:
            return
        self._inbox.append(letter)
        if len(self._inbox) == 1:
            life = self._life
            self._time.after(self._weather.disk_ns(), lambda: self._process(life))

    def _process(self, life: int) -> None:
        if self._hub is None or life != self._life:
            return
        letters, self._inbox = self._inbox, []
        batch = [(letter.client, r) for letter in letters for r in letter.requests]
        try:
            answers = iter(self._handle(self._hub, batch))
        except LogError as error:
            self._time.note("hub", "fails", error)
            for letter in letters:
                self._answer(letter, error)
        else:
            for letter in letters:
                self._answer(letter, [next(answers) for _ in letter.requests])
        self._rouse(self._hub)

    def _handle(self, hub: Hub, batch: list[tuple[str, Request]]) -> list[Answer]:
        now_ns = self._time.now_ns()
        answers = hub.handle(batch, now_ns)
        for (client, request), answer in zip(batch, answers, strict=True):
            self._time.note("hub", "answers", (client, request, answer))
        self._observer.wrote(batch, answers, now_ns, self.log.writes)
        return answers

    def _answer(self, letter: _Letter, answers: Answers) -> None:
        if letter.place in self._cut:
            return
        epochs = self.epochs or ()
        for delay_ns in self._weather.arrivals_ns():
            self._time.after(delay_ns, lambda: letter.reply(answers, epochs))

    def _rouse(self, hub: Hub) -> None:
        for name in sorted(hub.take_woken()):
            self._wake(name)
        self._keep_time(hub)

    def _keep_time(self, hub: Hub) -> None:
        due_ns = hub.next_due_ns()
        if due_ns is None or (self._ticks_ns is not None and self._ticks_ns <= due_ns):
            return
        self._ticks_ns, life = due_ns, self._life
        self._time.at(due_ns, lambda: self._tick(life, due_ns))

    def _tick(self, life: int, at_ns: int) -> None:
        if self._hub is None or life != self._life or self._ticks_ns != at_ns:
            return
        self._ticks_ns = None
        try:
            self._hub.tick(self._time.now_ns())
        except CortexError as error:
            self._time.note("hub", "fails", error)
            self._ticks_ns = again_ns = self._time.now_ns() + RETRY_NS
            self._time.at(again_ns, lambda: self._tick(life, again_ns))
        self._rouse(self._hub)
