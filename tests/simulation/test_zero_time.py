"""What waits for nothing takes no time: under a clock that stands still every run completes.

The components are the shipped ones on their own threads, loops and processes; only their clock is
the test's. A run that waits for a timer of ours, where a wake could have come, takes virtual time.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from cortex.actors.library import library_sources
from cortex.runtime.kernel import Component, Delivery, Home, Runtime, on

from ..e2e.repair_world import (
    KEY,
    KEY_ENV,
    SERVERS,
    SHAPES,
    model,
    need_sdk,
    use,
)
from ..integration.kernel_staff import Doer, JobAsked, Vocal, wait_for
from ..staff_world import Run, World
from .still import StillClock

PATIENCE_S = 60.0  # of real time; nothing takes as long, whatever else the machine does
NOTES = "The kitchen closes at ten.\nTea is served at four in the garden.\n"
LOG = "running\nFAILED tests/test_cart.py::test_total - assert 3 == 4\n1 failed\n"


class Still:
    """A runtime of all that comes with Cortex, whose clock stands still, and its one model."""

    def __init__(self, world: World, clock: StillClock) -> None:
        self.world, self.clock = world, clock

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
            yield Still(world, clock)


def test_a_question_to_ones_notes_takes_no_time(still: Still, tmp_path: Path) -> None:
    (tmp_path / "house.md").write_text(NOTES)

    still.run("answer_from_notes", {"question": "When is tea?", "notes": "house.md"}, tmp_path)


def test_a_triage_takes_no_time(still: Still, tmp_path: Path) -> None:
    (tmp_path / "ci.log").write_text(LOG)

    still.run("triage_ci_failure", {"log": "ci.log"}, tmp_path)


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
