"""What waits for nothing takes no time: under a clock that stands still every run completes.

The components are the shipped ones on their own threads, loops and processes; only their clock is
the test's. A run that waits for a timer of ours, where a wake could have come, takes virtual time.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cortex.actors.library import library_sources
from cortex.bus import Page
from cortex.runtime.kernel import (
    AsyncComponent,
    Component,
    Delivery,
    Home,
    Runtime,
    built_in,
    load,
    on,
)

from ..e2e.repair_world import (
    KEY,
    KEY_ENV,
    PYTHON,
    SERVERS,
    SHAPES,
    checkout_of,
    diagnosis,
    model,
    need_sdk,
    patch,
    use,
)
from ..integration.kernel_staff import Doer, JobAsked, Vocal, wait_for
from ..integration.test_repair_notification import Receiver, receiver
from ..servers import ScriptedServer
from ..staff_world import Run, World
from .executions import scenario
from .simulator import Faults, Scenario, simulate
from .simulator.member import Member
from .still import StillClock
from .toy import TOY

__all__ = ["receiver"]  # a fixture

PATIENCE_S = 120.0  # of real time; nothing takes as long, whatever else the machine does
NOTES = "The kitchen closes at ten.\nTea is served at four in the garden.\n"
ABSTRACT = {"ci_failure_response"}
KINDS = {"ordered", "work", "side by side", "cpu, ordered", "cpu, work"}
LOG = "running\nFAILED tests/test_cart.py::test_total - assert 3 == 4\n1 failed\n"


class Still:
    """A runtime of all that comes with Cortex, whose clock stands still, and its one model."""

    def __init__(self, world: World, clock: StillClock, server: ScriptedServer) -> None:
        self.world, self.clock, self.server = world, clock, server

    def run(self, process: str, inputs: dict[str, Any], workspace: Path) -> Run:
        """A run to its end; it took no time."""
        with self.clock.watched(PATIENCE_S):
            run = self.world.run(process, inputs, workspace=str(workspace))
        assert run.outcome == "completed", run.end
        self.took_no_time(run.execution_id)
        return run

    def took_no_time(self, execution_id: str) -> None:
        """Every event of the execution, its request included, was recorded at the same time."""
        records = [r for r in self.world.client.read() if r.correlation == execution_id]
        waits = [
            f"{(then.time_ns - before.time_ns) / 1e9:.3f} s from {before.topic} to {then.topic}"
            for before, then in pairwise(records)
            if then.time_ns != before.time_ns
        ]
        assert records[0].topic == "execution.request"
        assert not waits, waits
        assert self.clock.stands, "it needed a timer"

    def kinds(self, *runs: Run) -> set[str]:
        """The kinds of components that took part in *runs*."""
        executions = {run.execution_id for run in runs}
        sources = {r.source for r in self.world.client.read() if r.correlation in executions}
        classes = [load(entry.component) for entry in built_in()]
        return {kind_of(cls) for cls in classes if cls.component_name() in sources}


def kind_of(component: type[Component]) -> str:
    """How it is hosted and fed."""
    if issubclass(component, AsyncComponent):
        return "side by side"
    return ("cpu, " if component.cpu else "") + ("work" if component.workers else "ordered")


@pytest.fixture(scope="module", params=SHAPES)
def still(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Still]:
    shape = request.param
    need_sdk(shape)
    clock, home = StillClock(), Home.create(tmp_path_factory.mktemp("still") / ".cortex")
    with pytest.MonkeyPatch.context() as patched, SERVERS[shape]() as server:
        patched.setenv(KEY_ENV, KEY)
        with (
            clock.watched(2 * PATIENCE_S),
            Runtime(use(home, model("scripted", server)), clock=clock) as runtime,
        ):
            world = World(runtime)
            world.submit_files(library_sources())
            assert clock.stands, "starting and compiling needed a timer"
            yield Still(world, clock, server)


def test_every_shipped_process_with_every_kind_of_component_takes_no_time(
    still: Still, tmp_path: Path, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "house.md").write_text(NOTES)
    (tmp_path / "ci.log").write_text(LOG)
    checkout = checkout_of(PYTHON, tmp_path)
    monkeypatch.setenv("TEAM_HOOK", receiver.url)
    repaired = [diagnosis(), patch(PYTHON.fix)]
    answers = [diagnosis("At four."), diagnosis(), *repaired, *repaired, diagnosis("Tea at four.")]
    still.server.script.answers[:] = answers
    repair = {"log": str(checkout.parent / "ci.log")}

    runs = {
        "answer_from_notes": still.run(
            "answer_from_notes", {"question": "When is tea?", "notes": "house.md"}, tmp_path
        ),
        "triage_ci_failure": still.run("triage_ci_failure", {"log": "ci.log"}, tmp_path),
        "fix_ci_failure": still.run("fix_ci_failure", repair, checkout),
        "fix_ci_failure_with_notification": still.run(
            "fix_ci_failure_with_notification", {**repair, "webhook_env": "TEAM_HOOK"}, checkout
        ),
        "reword_summary": still.run(
            "reword_summary", {"memory": "none", "text": "There is tea at four."}, tmp_path
        ),
    }

    assert runs.keys() == {Path(file).stem for file in library_sources()} - ABSTRACT
    assert still.kinds(*runs.values()) == KINDS
    assert len(receiver.got) == 1


class Stubborn(Component):
    """Fails at each try."""

    @on(JobAsked)
    def do(self, event: JobAsked, delivery: Delivery) -> None:
        TRIES.append(delivery.attempt)
        raise ValueError(event.kind)


TRIES: list[int] = []


def test_no_wake_ends_the_rest_of_a_failed_event() -> None:
    TRIES.clear()
    clock = StillClock()
    staff = [Vocal, Stubborn, Doer]
    with clock.watched(PATIENCE_S), Runtime(components=staff, clock=clock) as runtime:
        client = runtime.client("tests")
        for n in range(20):
            client.publish(JobAsked(n=n))
        wait_for(client, "job.done", count=20)

    assert clock.stands
    assert TRIES == [1]


SEEDS = range(20)
ON_ITS_WAY_NS = 100_000_000  # longer than a wake takes, and a disk, where nothing goes wrong
MEMBER: Any = Member  # its private methods are watched


class Expiries:
    """Counts the timers that expired although there was something to do, and no wake for it."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.quiet = 0  # timers that expired
        self.late: list[str] = []  # and those of them that found what a wake should have brought
        quiet, hear = MEMBER._quiet, MEMBER._hear
        expired: dict[Any, int] = {}

        def expires(member: Any, life: int, idle: Any) -> None:
            if member._resting is idle:
                self.quiet += 1
                expired[member] = member._time.now_ns()
            quiet(member, life, idle)

        def hears(member: Any, step: Any, answers: Any) -> None:
            at_ns = expired.pop(member, None)
            found = [r for a in answers if isinstance(a, Page) for r in a.records]
            if at_ns is not None:
                known = [r.topic for r in found if r.time_ns < at_ns - ON_ITS_WAY_NS]
                self.late += [f"{member.label}: {topic}" for topic in known]
            hear(member, step, answers)

        patched.setattr(MEMBER, "_quiet", expires)
        patched.setattr(MEMBER, "_hear", hears)


@pytest.mark.parametrize("make", [lambda: TOY, scenario], ids=["toy", "executions"])
def test_no_timer_expires_before_which_a_wake_should_have_come(
    make: Callable[[], Scenario], monkeypatch: pytest.MonkeyPatch
) -> None:
    expiries = Expiries(monkeypatch)

    for seed in SEEDS:
        simulate(make(), seed, Faults())

    assert expiries.quiet, "none expired, so that nothing is shown"
    assert expiries.late == []


def test_a_rest_that_no_wake_ends_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    expiries, wake = Expiries(monkeypatch), MEMBER._wake

    def only_where_it_has_no_time(member: Any) -> None:
        if member._resting is None or member._resting.quiet_ns is None:
            wake(member)

    monkeypatch.setattr(MEMBER, "_wake", only_where_it_has_no_time)
    for seed in SEEDS:
        simulate(scenario(), seed, Faults())

    assert expiries.late
