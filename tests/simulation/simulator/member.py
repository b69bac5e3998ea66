"""A shell without its thread: drives a feed program under the real supervision."""

from collections.abc import Collection, Sequence

from cortex.bus import (
    Answer,
    Claimed,
    Commit,
    Draft,
    Epochs,
    Filter,
    Finish,
    LogError,
    Publish,
    Recorded,
    Release,
    Request,
    Subscribe,
    Subscribed,
)
from cortex.runtime.kernel import Config

from .kernel import (
    STALL_NS,
    AtOnce,
    Effects,
    Feeding,
    Idle,
    Leases,
    LocalHost,
    OrderedFeed,
    Outcome,
    Pause,
    Program,
    Quiet,
    Recall,
    Snapshots,
    Step,
    contract_of,
    supervision,
    work,
)
from .link import SimulatedConnection
from .scenario import Role, Run, pairs_of
from .timeline import MS, SECOND_NS, Timeline
from .weather import Weather
from .wire import Answers, Wire

LOOK_NS = SECOND_NS  # a supervisor looks for shells that hang about this often


class BadHost(LocalHost):
    """Runs the component, until the weather strikes."""

    weather: Weather

    def handle(self, records: Sequence[Recorded], attempt: int, *, begun: bool = False) -> Outcome:
        """Run the handlers over a page, in order, until one fails or the process dies."""
        faults, chance = self.weather.faults, self.weather.chance
        fails = self.weather.strikes(faults.handler_fails)
        exits = self.weather.strikes(faults.handler_exits)
        if not (fails or exits):
            return super().handle(records, attempt, begun=begun)
        whole = chance.randrange(len(records) + exits)  # an exit may come after the last one
        outcome = super().handle(records[:whole], attempt, begun=begun)
        if exits:
            raise SystemExit(3)
        outcome.failure = outcome.failure or "the weather"
        return outcome

    def decide(self, records: Sequence[Recorded], topics: Collection[str]) -> list[Effects]:
        """Run the handlers over *records*, until one fails."""
        if self.weather.strikes(self.weather.faults.handler_fails):
            records = records[: self.weather.chance.randrange(len(records))]
        return super().decide(records, topics)


class Watching(AtOnce):
    """Tells the observer of the commits that it makes."""

    wire: Wire

    def written(self, newest: int) -> None:
        """Note that its commit is on disk."""
        if self._through:
            self.wire.moved(self.name, self._feed.cursor, self._through)
        super().written(newest)


class Member:
    """One shell of a component: crashes, hangs and comes back as a real one does."""

    def __init__(
        self,
        label: str,
        role: Role,
        run: Run,
        wire: Wire,
        time: Timeline,
        weather: Weather,
        snapshots: Snapshots,
        leases: Leases,
    ) -> None:
        self.label, self._role, self._run = label, role, run
        self._wire, self._time, self._weather = wire, time, weather
        self._snapshots, self._leases = snapshots, leases
        remote = run.scenario.remote
        self._link = SimulatedConnection(role.name, wire, time, place=label, remote=remote)
        self._watched = supervision.Watched()
        self._life = 0
        self._program: Program | None = None
        self._recall: Recall | None = None
        self._rung = False
        self._resting: Idle | None = None
        self._at_once: Watching | None = None
        self._busy_since_ns = 0
        self._drift_ns = 0  # what handlers took, as their program's clock sees it
        self._pairs = pairs_of(role.component)
        self.feeding = Feeding(
            role.name,
            self._pairs,
            role.component.start,
            role.component.max_attempts,
            int(role.component.lease_s * SECOND_NS),
            contract=contract_of(role.component, Config()),
            claimant="" if remote else label,
        )

    def open(self) -> None:
        """Let work wait from now on, as a runtime does before the first shell is there."""
        if self._role.component.workers:
            self._wire.open(Subscribe(self._role.name, "work", self._pairs))

    def begin(self) -> None:
        """Start for the first time."""
        self._wire.watch(self._role.name, self._wake, self.label)
        self._obey(supervision.begin(self._time.now_ns()))

    def crash(self, reason: str) -> None:
        """End this very moment; what is in memory is lost."""
        if self._program is not None:
            self._fail(reason)

    def save(self) -> None:
        """Keep a snapshot, as a component does every now and then."""
        if self._recall is not None:
            self._recall.save()

    def _obey(self, result: supervision.Result) -> None:
        self._watched, orders = result
        for order in orders:
            if isinstance(order, supervision.Start):
                self._start()
            elif isinstance(order, supervision.Abandon):
                self._end()
            elif isinstance(order, supervision.WakeAt):
                self._time.at(order.at_ns, self._look)

    def _look(self) -> None:
        now_ns = self._time.now_ns()
        if self._watched.status == "running" and self._overdue(now_ns):
            self._time.note(self.label, "hangs")
            self._obey(supervision.hung(self._watched, "it hangs", now_ns))
        self._obey(supervision.looked_at(self._watched, now_ns))

    def _overdue(self, now_ns: int) -> bool:
        if self._role.component.workers:
            return self._leases.overdue(self.label, now_ns)
        return bool(self._busy_since_ns) and now_ns - self._busy_since_ns > STALL_NS

    def _start(self) -> None:
        self._time.note(self.label, "starts")
        host = BadHost(
            lambda: self._role.make(self._run),
            self._run.scenario.vocabulary,
            self._emit,
            history=self._run.history,
        )
        host.weather = self._weather
        self._program, self._recall = self._programmed(host)
        if self._weather.strikes(self._weather.faults.start_fails):
            self._fail("on_start")
            return
        host.start()
        life = self._life
        self._time.after(self._weather.latency_ns(), lambda: self._drive(life, None))

    def _programmed(self, host: BadHost) -> tuple[Program, Recall | None]:
        if self._role.component.workers:
            return work(self.feeding, host, self._handler_clock), None
        component, seen = self._role.component, Filter(self._pairs)
        recall = Recall(
            self._role.name,
            component.recalls,
            seen,
            host,
            self._wire.log,
            self._snapshots,
            results=[each.topic_name() for each in component.folds_results],
        )
        feed = OrderedFeed(self.feeding, host, recall)
        if component.decides and not self._run.scenario.remote:
            self._at_once = Watching(component, feed, host)
            self._at_once.wire = self._wire
            self._wire.decide_by(self._at_once)
        return feed.run(), recall

    def _handler_clock(self) -> int:
        # Virtual time stands still in a handler; to its program it took this long.
        self._drift_ns += self._weather.up_to(8 * MS)
        return self._time.now_ns() + self._drift_ns

    def _emit(self, draft: Draft) -> None:
        self._wire.post(self.label, self._role.name, (Publish((draft,)),), _unheard)

    def _drive(self, life: int, answers: Sequence[Answer] | Quiet | None) -> None:
        program = self._program
        if life != self._life or program is None:
            return
        self._run.steps += 1
        self._busy_since_ns = self._time.now_ns()
        try:
            step = _next(program, answers)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # as a shell does
            self._fail(f"{type(error).__name__}: {error}")
            return
        if isinstance(step, Idle | Pause):
            self._busy_since_ns = 0
            self._rest(life, step)
            return
        took_ns = self._handling_ns(step)
        if took_ns is not None:
            self._time.after(took_ns, lambda: self._send(life, step))

    def _handling_ns(self, step: Sequence[Request]) -> int | None:
        """How long the handlers took that led to *step*; None where they do not come back."""
        faults = self._weather.faults
        if not any(isinstance(request, Commit | Finish | Release) for request in step):
            return 0
        if self._weather.strikes(faults.hangs):
            self._look_for_a_hang()
            return None
        if self._weather.strikes(faults.slow):
            self._time.after(self._weather.up_to(20 * LOOK_NS), self._look)
            return self._weather.up_to(4 * self.feeding.lease_ns)
        return self._weather.up_to(MS)

    def _look_for_a_hang(self) -> None:
        life = self._life

        def look() -> None:
            if life == self._life:
                self._look()
                self._time.after(30 * LOOK_NS, look)

        look()

    def _send(self, life: int, step: Sequence[Request]) -> None:
        if life != self._life:
            return
        self._busy_since_ns = 0
        self._leases.let_go(step)

        def answered(answers: Sequence[Answer] | LogError) -> None:
            if life != self._life:
                return
            if isinstance(answers, LogError):
                self._fail(str(answers))
                return
            self._hear(step, answers)
            self._drive(life, answers)

        self._link.call(step, answered)

    def _hear(self, step: Sequence[Request], answers: Sequence[Answer]) -> None:
        for answer in answers:
            if isinstance(answer, Claimed):
                self._leases.hold(self.label, step, answer)
            elif isinstance(answer, Subscribed):
                self._obey(supervision.started(self._watched, self._time.now_ns()))

    def _rest(self, life: int, step: Idle | Pause) -> None:
        if isinstance(step, Pause):
            self._time.after(step.for_ns, lambda: self._drive(life, ()))
        elif self._rung:
            self._rung = False
            self._time.after(1, lambda: self._drive(life, ()))
        else:
            self._resting = step
            if step.quiet_ns is not None:
                self._time.after(step.quiet_ns, lambda: self._quiet(life, step))

    def _quiet(self, life: int, idle: Idle) -> None:
        if self._resting is idle:  # no wake has come
            self._resting = None
            self._drive(life, Quiet())

    def _wake(self) -> None:
        if self._at_once is not None and not self._wire.rouses(self._at_once):
            return
        if self._resting:
            self._resting = None
            self._drive(self._life, ())
        else:
            self._rung = True

    def _fail(self, reason: str) -> None:
        self._time.note(self.label, "fails", reason)
        self._end()
        self._obey(supervision.failed(self._watched, reason, self._time.now_ns()))

    def _end(self) -> None:
        self._life += 1
        self._link.close()
        self._leases.drop(self.label)
        self._program = self._recall = None
        if self._at_once is not None:
            self._wire.decide_no_more(self._at_once)
            self._at_once = None
        self._rung, self._resting = False, None
        self._busy_since_ns = 0


def _unheard(_answers: Answers, _epochs: Epochs) -> None:
    """Nobody waits for what becomes of an ephemeral event."""


def _next(program: Program, answers: Sequence[Answer] | Quiet | None) -> Step:
    if answers is None:
        return next(program)
    return program.throw(answers) if isinstance(answers, Quiet) else program.send(answers)
