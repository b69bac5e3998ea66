"""A small process: orders are led step by step, workers do the steps, a ledger counts them."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from cortex.bus import Event, Hub, Log
from cortex.bus.events import VOCABULARY, ComponentFailed
from cortex.runtime.kernel import Component, Delivery, Forget, Later, Output, on

from .simulator import Role, Run, Scenario

SECOND_NS = 1_000_000_000
NEVER = 1_000_000  # attempts: what is killed often is not parked for that
FAILED = ComponentFailed.topic_name()


class ToyOrdered(Event, frozen=True, kw_only=True, tag="toy.ordered"):
    belongs = ("toy", "toy")

    toy: str
    of: int  # steps


class ToyStep(Event, frozen=True, kw_only=True, tag="toy.step"):
    belongs = ("toy", "toy")

    toy: str
    step: int
    of: int
    timeout_s: float = 2.0


class ToyStepDone(Event, frozen=True, kw_only=True, tag="toy.step_done"):
    belongs = ("toy", "toy")

    toy: str
    step: int
    of: int
    timeout_s: float = 1.0


class ToyFinished(Event, frozen=True, kw_only=True, tag="toy.finished"):
    belongs = ("toy", "toy")

    toy: str


class ToyLate(Event, frozen=True, kw_only=True, tag="toy.late"):
    belongs = ("toy", "toy")

    toy: str
    step: int
    due_ns: int


class ToyReminded(Event, frozen=True, kw_only=True, tag="toy.reminded"):
    belongs = ("toy", "toy")

    toy: str
    due_ns: int


class ToyPoison(Event, frozen=True, kw_only=True, tag="toy.poison"):
    timeout_s: float = 1.0


class ToyCounted(Event, frozen=True, kw_only=True, tag="toy.counted"):
    belongs = ("ledger", "")

    count: int  # events of its kind so far


class ToyTasted(Event, frozen=True, kw_only=True, tag="toy.tasted"):
    pass


class ToyManager(Component):
    """Leads orders through their steps; knows how far each is only from its own fold."""

    start = "beginning"
    recalls = 1
    max_attempts = NEVER

    def __init__(self) -> None:
        self._done: dict[str, int] = {}

    @on(ToyOrdered)
    @on(ToyStepDone)
    @on(ToyLate)
    @on(ToyReminded)
    def handle(self, event: Event, delivery: Delivery) -> Iterator[Output]:
        self.recall(event, delivery)
        if isinstance(event, ToyOrdered):
            due_ns = delivery.time_ns + 9 * SECOND_NS
            yield Later(f"reminder/{event.toy}", due_ns, ToyReminded(toy=event.toy, due_ns=due_ns))
            yield from self._step(event.toy, event.of, delivery)
        elif isinstance(event, ToyStepDone):
            yield Forget(f"late/{event.toy}")
            if self._done[event.toy] < event.of:
                yield from self._step(event.toy, event.of, delivery)
            else:
                yield ToyFinished(toy=event.toy)

    def _step(self, toy: str, of: int, delivery: Delivery) -> Iterator[Output]:
        step = self._done[toy] + 1
        due_ns = delivery.time_ns + 3 * SECOND_NS
        yield ToyStep(toy=toy, step=step, of=of)
        yield Later(f"late/{toy}", due_ns, ToyLate(toy=toy, step=step, due_ns=due_ns))

    def recall(self, event: Event, delivery: Delivery) -> None:
        if isinstance(event, ToyOrdered):
            self._done[event.toy] = 0
        elif isinstance(event, ToyStepDone):
            self._done[event.toy] += 1

    def snapshot(self) -> bytes:
        return msgspec.msgpack.encode(self._done)

    def restore(self, snapshot: bytes) -> None:
        self._done = msgspec.msgpack.decode(snapshot, type=dict[str, int])


class ToyWorker(Component):
    workers = 3
    lease_s = 2.0
    max_attempts = NEVER

    @on(ToyStep)
    def work(self, event: ToyStep, delivery: Delivery) -> Iterator[Output]:
        yield ToyStepDone(toy=event.toy, step=event.step, of=event.of)


class ToyLedger(Component):
    """Counts from the beginning of the log; starts "now" with nothing recalled would show."""

    start = "beginning"
    recalls = 2
    max_attempts = NEVER

    def __init__(self) -> None:
        self._count = 0

    @on(ToyStepDone)
    @on(ToyFinished)
    def count(self, event: Event, delivery: Delivery) -> Iterator[Output]:
        self.recall(event, delivery)
        yield ToyCounted(count=self._count)

    def recall(self, event: Event, delivery: Delivery) -> None:
        self._count += 1

    def snapshot(self) -> bytes:
        return msgspec.msgpack.encode(self._count)

    def restore(self, snapshot: bytes) -> None:
        self._count = msgspec.msgpack.decode(snapshot, type=int)


class ToyTaster(Component):
    """Cannot stomach poison; everything else it can."""

    @on(ToyPoison)
    @on(ToyStepDone)
    def taste(self, event: Event, delivery: Delivery) -> Iterator[Output]:
        yield ToyTasted()
        if isinstance(event, ToyPoison):
            raise ValueError("poison")


class ToyTasters(ToyTaster):
    """The same on a work subscription."""

    workers = 2
    lease_s = 1.0


def managed(event: Event) -> tuple[str, ...]:
    if isinstance(event, ToyOrdered):
        return ("toy.step",)
    if isinstance(event, ToyStepDone):
        return ("toy.step",) if event.step < event.of else ("toy.finished",)
    return ()


def tasted(event: Event) -> tuple[str, ...]:
    return (FAILED,) if isinstance(event, ToyPoison) else ("toy.tasted",)


TOYS = (
    ToyOrdered,
    ToyStep,
    ToyStepDone,
    ToyFinished,
    ToyLate,
    ToyReminded,
    ToyPoison,
    ToyCounted,
    ToyTasted,
)

ROLES = (
    Role(
        lambda _: ToyManager(),
        ToyManager,
        managed,
        deadlines=frozenset({"toy.late", "toy.reminded"}),
    ),
    Role(lambda _: ToyWorker(), ToyWorker, lambda _: ("toy.step_done",)),
    Role(lambda _: ToyLedger(), ToyLedger, lambda _: ("toy.counted",)),
    Role(lambda _: ToyTaster(), ToyTaster, tasted, may_park=True),
    Role(lambda _: ToyTasters(), ToyTasters, tasted, may_park=True),
)


def scripts() -> dict[str, Sequence[tuple[Event, ...]]]:
    return {
        "alice": [
            (ToyOrdered(toy="a1", of=2),),
            (ToyPoison(), ToyOrdered(toy="a2", of=3)),
        ],
        "bob": [(ToyOrdered(toy="b1", of=1), ToyOrdered(toy="b2", of=2)), (ToyPoison(),)],
    }


def finished(run: Run) -> None:
    """Every order went through each of its steps once, and no deadline came twice or too late."""
    orders = {e.toy: e.of for _, e in run.events(ToyOrdered) if isinstance(e, ToyOrdered)}
    taken: dict[str, list[int]] = defaultdict(list)
    at: dict[str, list[int]] = defaultdict(list)
    for position, event in run.events(ToyStep):
        assert isinstance(event, ToyStep)
        taken[event.toy].append(event.step)
        at[event.toy].append(position)
    for toy, of in orders.items():
        assert taken[toy] == list(range(1, of + 1)), f"{toy} took the steps {taken[toy]} of {of}"
    ends = {
        e.toy: position for position, e in run.events(ToyFinished) if isinstance(e, ToyFinished)
    }
    assert ends.keys() == orders.keys(), f"{orders.keys() - ends.keys()} did not finish"
    counts = [e.count for _, e in run.events(ToyCounted) if isinstance(e, ToyCounted)]
    assert counts == list(range(1, len(counts) + 1)), f"the ledger counted {counts}"
    deadlines(run, {toy: [*at[toy], ends[toy]] for toy in orders})


def deadlines(run: Run, passed: dict[str, list[int]]) -> None:
    """*passed*: by order, where each of its steps begins and where it ends."""
    times = {record.position: record.time_ns for record in run.records}
    reminded = Counter(e.toy for _, e in run.events(ToyReminded) if isinstance(e, ToyReminded))
    assert reminded == dict.fromkeys(passed, 1), f"reminders: {reminded}"
    late: Counter[tuple[str, int]] = Counter()
    for position, event in (*run.events(ToyLate), *run.events(ToyReminded)):
        assert isinstance(event, ToyLate | ToyReminded)
        assert times[position] >= event.due_ns, f"{event} came too early"
        if isinstance(event, ToyLate):
            late[event.toy, event.step] += 1
            assert late[event.toy, event.step] == 1, f"{event} came twice"
            assert position < passed[event.toy][event.step], f"{event} came after it was forgotten"


def examine(hub: Hub, log: Log) -> None:
    """What a hub knows is what another one reads from the same log."""
    live, fresh = hub._state, Hub(log, hub.vocabulary, bytes)._state
    assert live.head == fresh.head
    lasting = {n: s for n, s in live.standings.items() if n not in live.passing}
    assert lasting == fresh.standings
    assert live.deadlines == fresh.deadlines
    assert live.receipts == fresh.receipts
    held = [
        {
            name: {w.position: (w.epoch, w.attempts) for w in queue._works.values()}
            for name, queue in known.queues.items()
        }
        for known in (live, fresh)
    ]
    assert held[0] == held[1]
    for stream, version in live.versions.items():
        assert version == log.stream_version(stream), stream


TOY = Scenario(
    VOCABULARY.extended(TOYS),
    ROLES,
    scripts(),
    finished,
    examine,
)
