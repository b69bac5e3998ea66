"""A runtime ends at once, whatever its components are still to read of the log."""

import threading
import time
from pathlib import Path
from typing import ClassVar

import pytest
from structlog.testing import capture_logs

from cortex.bus import Event
from cortex.runtime.kernel import Component, Delivery, Home, Runtime, on

from .kernel_staff import PATIENCE_S, JobAsked, Vocal

EVENTS = 4_000
PAGE = 50
EACH_S = 0.005  # 20 s for all of them, four times what a runtime waits for its components


class Slow(Component):
    recalls = 1
    began: ClassVar[threading.Event] = threading.Event()
    seen: ClassVar[list[int]] = []

    @on(JobAsked)
    def work(self, event: JobAsked, delivery: Delivery) -> None:
        pass

    def recall(self, event: Event, delivery: Delivery) -> None:
        Slow.seen.append(delivery.position)
        Slow.began.set()
        time.sleep(EACH_S)


def test_a_component_on_its_way_back_holds_up_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cortex.runtime.kernel.shells.recall.PAGE", PAGE)
    home = Home.create(tmp_path / ".cortex")
    with Runtime(home, components=[Vocal]) as runtime:
        me = runtime.client("me")
        for _ in range(EVENTS // 500):
            me.publish(*[JobAsked() for _ in range(500)])

    with capture_logs() as said, Runtime(home, components=[Vocal, Slow]):
        assert Slow.began.wait(PATIENCE_S)

    assert [each["event"] for each in said if each["log_level"] != "info"] == []
    assert len(Slow.seen) < EVENTS
