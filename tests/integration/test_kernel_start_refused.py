"""A component that cannot start is refused in one line, and then left alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from cortex.bus import SubscriptionError
from cortex.runtime.kernel import Component, Delivery, Home, NotReadyError, Output, Runtime, on

from .kernel_staff import PATIENCE_S, JobAsked, JobDone, Vocal, wait_for


class Doer(Component):
    @on(JobAsked)
    def do(self, event: JobAsked, delivery: Delivery) -> Iterator[Output]:
        yield JobDone(n=event.n)


class SharedDoer(Doer):
    """What a later version of it looks like: several workers share the queue."""

    workers = 2

    @classmethod
    def component_name(cls) -> str:
        return "Doer"


class Unready(Component):
    """Cannot start."""

    starts = 0

    def on_start(self) -> None:
        type(self).starts += 1
        raise OSError("no such device")

    @on(JobAsked)
    def do(self, event: JobAsked, delivery: Delivery) -> None: ...


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (Doer, SharedDoer, "is ordered in this log and cannot become work"),
        (SharedDoer, Doer, "is work in this log and cannot become ordered"),
    ],
)
def test_a_component_that_changed_its_kind_is_refused_at_once(
    tmp_path: Path, before: type[Component], after: type[Component], said: str
) -> None:
    home = Home.create(tmp_path / "home")
    with Runtime(home, components=[Vocal, before]):
        pass

    with (
        pytest.raises(SubscriptionError, match=f"subscription Doer: {said}: give the component"),
        Runtime(home, components=[Vocal, after]),
    ):
        pass
    with Runtime(home, components=[Vocal]) as runtime:
        with pytest.raises(SubscriptionError, match=said):
            runtime.add(after)
        runtime.add(before)
        me = runtime.client("me")
        me.publish(JobAsked(n=1))
        assert wait_for(me, "job.done")


def test_a_component_that_was_removed_may_come_back_as_the_other_kind(tmp_path: Path) -> None:
    with Runtime(Home.create(tmp_path / "home"), components=[Vocal, Doer]) as runtime:
        runtime.remove("Doer")
        runtime.add(SharedDoer)
        me = runtime.client("me")
        me.publish(JobAsked(n=1))

        assert wait_for(me, "job.done")


def test_a_component_that_did_not_get_ready_is_not_tried_again(tmp_path: Path) -> None:
    with Runtime(Home.create(tmp_path / "home"), components=[Vocal]) as runtime:
        with pytest.raises(NotReadyError, match="no such device"):
            runtime.add(Unready, wait_s=PATIENCE_S)
        starts = Unready.starts

        with pytest.raises(NotReadyError, match="no component of that name"):
            runtime.remove("Unready")
        with pytest.raises(NotReadyError, match="no such device"):  # not: it is at work already
            runtime.add(Unready, wait_s=PATIENCE_S)
    assert starts >= 1


class Moody(Component):
    """Cannot start, for one reason at first and for another one from its third try on."""

    starts = 0
    workers = 1

    def on_start(self) -> None:
        type(self).starts += 1
        raise OSError("no such device" if self.starts < 3 else "no such bus")

    @on(JobAsked)
    def do(self, event: JobAsked, delivery: Delivery) -> None: ...


def test_the_traceback_of_a_start_that_fails_is_shown_once_and_again_where_it_is_another(
    tmp_path: Path,
) -> None:
    with (
        structlog.testing.capture_logs() as logs,
        pytest.raises(NotReadyError, match="no such bus"),
        Runtime(Home.create(tmp_path / "home"), components=[Vocal, Moody]),
    ):
        pass

    failures = [log for log in logs if log["event"] == "component_failed"]
    assert len(failures) == Moody.starts > 3
    shown = [log["exception"] for log in failures if "exception" in log]
    assert [trace.splitlines()[-1] for trace in shown] == [
        "OSError: no such device",
        "OSError: no such bus",
    ]
