"""Whoever does wrong is blamed alone: neighbours, the supervisor and the queue go on."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cortex.runtime.kernel import (
    Component,
    Config,
    ConfigError,
    Delivery,
    Home,
    HomeError,
    Later,
    Output,
    Runtime,
    on,
)

from .kernel_staff import Doer, JobAsked, JobDone, Vocal, wait_for


class TooLate(Component):
    """Arms a deadline that no log can hold."""

    at_ns = 2**63
    name = "late"

    @on(JobAsked)
    def arm(self, event: JobAsked, delivery: Delivery) -> Iterator[Output]:
        yield Later(self.name, self.at_ns, JobDone(n=event.n))


class NoText(TooLate):
    """Names a deadline with half of a surrogate pair."""

    at_ns = 1
    name = "x\udcff"


class Quitter(Component):
    """Leaves in the middle of its first event, however often it is asked."""

    workers = 1
    lease_s = 60.0

    @on(JobAsked)
    def leave(self, event: JobAsked, delivery: Delivery) -> Iterator[Output]:
        if event.n == 1:
            raise SystemExit("half of a pair: \udcff" + "x" * 300_000)
        yield JobDone(n=event.n)


@pytest.mark.parametrize("wrong", [TooLate, NoText])
def test_a_deadline_that_cannot_be_written_parks_its_event_and_nothing_else(
    tmp_path: Path, wrong: type[Component]
) -> None:
    with Runtime(Home.create(tmp_path / "home"), components=[Vocal, wrong, Doer]) as runtime:
        me = runtime.client("me")
        me.publish(*(JobAsked(n=n) for n in range(20)))

        done = wait_for(me, "job.done", 20)
        (failed, *_) = wait_for(me, "component.failed", 20)

    assert {d.source for d in done} == {"Doer"}
    assert failed.source == wrong.component_name()


def test_what_a_failing_worker_held_is_given_back_at_once(tmp_path: Path) -> None:
    with Runtime(Home.create(tmp_path / "home"), components=[Vocal, Quitter]) as runtime:
        me = runtime.client("me")
        me.publish(*(JobAsked(n=n) for n in (1, 2, 3)))

        # Far sooner than its lease of a minute: the waiting below gives up long before that.
        done = wait_for(me, "job.done", 2)
        (failed,) = wait_for(me, "component.failed", 1)

    assert len(done) == 2
    assert failed.source == "Quitter"


def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    home = Home.create(tmp_path / "home")
    home.config_path.unlink()
    os.mkfifo(home.config_path)
    with pytest.raises(ConfigError, match="is not a plain file"):
        Config.load(home)

    home.version_path.unlink()
    os.mkfifo(home.version_path)
    with pytest.raises(HomeError, match="is not a plain file"):
        home.check()
