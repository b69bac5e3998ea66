"""A hub on a log in memory, driven by hand: the time is whatever the test says."""

from collections.abc import Sequence

import msgspec

from cortex.bus import (
    Answer,
    Batch,
    Claim,
    Claimed,
    Draft,
    Ephemeral,
    Event,
    Fetch,
    Hub,
    Lease,
    LogError,
    Page,
    Publish,
    Refused,
    Request,
    Subscribe,
    Vocabulary,
    decode,
)
from cortex.runtime.log import AgentWork, MemoryLog

SECOND_NS = 1_000_000_000
NOON_NS = 1_700_000_000 * SECOND_NS


class PlanWrite(Event, frozen=True, kw_only=True, tag="plan.write"):
    belongs = ("plan", "plan")
    routing = "plan"

    plan: str
    text: str = ""


class PlanWritten(Event, frozen=True, kw_only=True, tag="plan.written"):
    belongs = ("plan", "plan")

    plan: str


class PlanGlanced(Ephemeral, frozen=True, kw_only=True, tag="plan.glanced"):
    belongs = ("plan", "plan")

    plan: str


WORDS = Vocabulary((PlanWrite, PlanWritten, PlanGlanced))


class FailingLog(MemoryLog):
    """A log whose disk is full for as long as `full` is set."""

    full = False

    def write(self, batch: Batch) -> None:
        if self.full:
            raise LogError("the disk is full")
        super().write(batch)


class HubWorld:
    """One hub, its log and a clock that the test moves."""

    def __init__(self, words: Vocabulary = WORDS) -> None:
        self.words = words
        self.log = FailingLog()
        self.now_ns = NOON_NS
        self.hub = self.reopened()

    def reopened(self) -> Hub:
        """A new hub on the same log: what a restart leaves."""
        self.hub = Hub(self.log, self.words, bytes, policy=AgentWork())
        return self.hub

    def ask(self, *requests: Request, client: str = "tests") -> list[Answer]:
        return self.hub.handle([(client, request) for request in requests], self.now_ns)

    def one(self, request: Request, client: str = "tests") -> Answer:
        return self.ask(request, client=client)[0]

    def publish_many(self, count: int) -> None:
        self.one(Publish(tuple(draft(f"p{n}") for n in range(count))))

    def fetch(self, name: str, after: int = 0, **rest: int) -> Page:
        return self.hub.fetch(Fetch(name, after, **rest))

    def claim(self, name: str, limit: int = 1, lease_s: float = 30) -> Sequence[Lease]:
        answer = self.one(Claim(name, limit, int(lease_s * SECOND_NS)))
        assert isinstance(answer, Claimed), answer
        return answer.leases

    def later(self, seconds: float) -> None:
        self.now_ns += int(seconds * SECOND_NS)

    def topics(self) -> list[str]:
        return [decode(data).topic for data in self.log.read(0, 10_000, 1 << 30)]


def draft(plan: str = "p", **rest: int) -> Draft:
    made = Draft.of(PlanWrite(plan=plan))
    return msgspec.structs.replace(made, **rest)


def written(plan: str = "p") -> Draft:
    return Draft.of(PlanWritten(plan=plan))


def glance(plan: str = "p") -> Draft:
    return Draft.of(PlanGlanced(plan=plan))


def ordered(name: str, topic: str = "plan.write", **rest: object) -> Subscribe:
    made = Subscribe(name, "ordered", ((topic, None),))
    return msgspec.structs.replace(made, **rest)


def work(name: str, topic: str = "plan.write") -> Subscribe:
    return Subscribe(name, "work", ((topic, None),))


def refusal(answer: Answer) -> str:
    assert isinstance(answer, Refused), answer
    return answer.code


def shape(hub: Hub) -> object:
    """What a hub knows, so that it can be compared with another's: holders are not part of it."""
    known = hub._state
    return (
        known.head,
        known.standings,
        {
            name: {w.position: (w.epoch, w.attempts) for w in queue._works.values()}
            for name, queue in known.queues.items()
        },
        known.deadlines,
        known.receipts,
        known.tally.counts,
    )


def as_reopened(world: HubWorld) -> object:
    """What a hub that opens the same log now would know."""
    return shape(Hub(world.log, WORDS, bytes, policy=AgentWork()))
