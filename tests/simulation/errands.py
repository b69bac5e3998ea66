"""Clients at the end of a wire: errands are asked for, given out, run by workers, and looked at.

Small on purpose: so many more schedules of it fit into the same time.
"""

from collections.abc import Iterator, Sequence

from cortex.bus import Event
from cortex.bus.events import VOCABULARY
from cortex.runtime.kernel import Component, Delivery, Output, on

from .simulator import Role, Run, Scenario
from .toy import NEVER, examine


class ErrandAsked(Event, frozen=True, kw_only=True, tag="errand.asked"):
    belongs = ("errand", "errand")

    errand: str


class ErrandGiven(Event, frozen=True, kw_only=True, tag="errand.given"):
    belongs = ("errand", "errand")

    errand: str
    timeout_s: float = 2.0


class ErrandDone(Event, frozen=True, kw_only=True, tag="errand.done"):
    belongs = ("errand", "errand")

    errand: str


class ErrandClerk(Component):
    start = "beginning"
    max_attempts = NEVER

    @on(ErrandAsked)
    def give(self, event: ErrandAsked, delivery: Delivery) -> Iterator[Output]:
        yield ErrandGiven(errand=event.errand)


class ErrandRunner(Component):
    workers = 2
    lease_s = 1.0
    max_attempts = NEVER

    @on(ErrandGiven)
    def run(self, event: ErrandGiven, delivery: Delivery) -> Iterator[Output]:
        yield ErrandDone(errand=event.errand)


def scripts() -> dict[str, Sequence[tuple[Event, ...]]]:
    return {
        "alice": [(ErrandAsked(errand="a1"),), (ErrandAsked(errand="a2"),)],
        "bob": [(ErrandAsked(errand="b1"), ErrandAsked(errand="b2"))],
    }


def finished(run: Run) -> None:
    """Every errand was run once."""
    done = [e.errand for _, e in run.events(ErrandDone) if isinstance(e, ErrandDone)]
    assert sorted(done) == ["a1", "a2", "b1", "b2"], f"done: {done}"


ERRANDS = Scenario(
    VOCABULARY.extended((ErrandAsked, ErrandGiven, ErrandDone)),
    (
        Role(lambda _: ErrandClerk(), ErrandClerk, lambda _: ("errand.given",)),
        Role(lambda _: ErrandRunner(), ErrandRunner, lambda _: ("errand.done",)),
    ),
    scripts(),
    finished,
    examine,
    followers={"carol": (("errand.*", None),)},
    remote=True,
    lasting_s=5.0,
)
