"""A component may begin at a position, or at a time, of a log that it has never read."""

import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cortex.bus import SubscriptionError
from cortex.bus.events import StepWake
from cortex.runtime.kernel import Component, Delivery, Home, Runtime, on

HEARD: list[str] = []
LAST = threading.Event()


class Late(Component):
    @on(StepWake)
    def hear(self, event: StepWake, delivery: Delivery) -> None:
        HEARD.append(event.step_id)
        if event.step_id == "last":
            LAST.set()


def wake(step_id: str) -> StepWake:
    return StepWake(execution_id="e", step_id=step_id)


@pytest.mark.parametrize("by", ["position", "time"])
def test_it_gets_what_came_from_there_on_and_goes_on_from_its_cursor(
    tmp_path: Path, by: str
) -> None:
    home = Home.create(tmp_path / ".cortex")
    HEARD.clear()
    LAST.clear()
    with Runtime(home, components=[]) as runtime:
        client = runtime.client("tests")
        client.publish(wake("before"))
        time.sleep(0.01)
        moment = datetime.now(UTC).isoformat()
        at = client.publish(wake("first"))
        client.publish(wake("second"))
    Late.start = str(at) if by == "position" else moment

    for step_id in ("last", "last"):
        with Runtime(home, components=[Late]) as runtime:
            runtime.client("tests").publish(wake(step_id))
            assert LAST.wait(120)
        LAST.clear()

    assert HEARD == ["first", "second", "last", "last"]


def test_a_start_that_is_none_is_said_at_once(tmp_path: Path) -> None:
    Late.start = "yesterday"

    with (
        pytest.raises(SubscriptionError, match="begins at 'yesterday'"),
        Runtime(Home.create(tmp_path / ".cortex"), components=[Late]),
    ):
        pass
