"""`cortex status` on a home where no hub is up: what it says of subscriptions."""

import json
from contextlib import closing
from typing import Any

import pytest

from cortex.bus import Draft, Hub, LocalHub, Publish, Subscribe, SystemClock, system_entropy
from cortex.bus.events import VOCABULARY, ModelInvoke, ModelResponded, RuntimeStarted
from cortex.runtime.cli import main
from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog

STARTED = RuntimeStarted(runtime="r", cortex_version="1")


def test_idle_subscriptions_are_counted_and_shown_when_asked_for(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(EventLog.open(home.log_path)) as log:
        hub = LocalHub(Hub(log, VOCABULARY, system_entropy), SystemClock())
        with closing(hub):
            for name in ("Quiet", "Still"):
                hub.ask_one("owner", Subscribe(name, "work", (("step.execute", None),)))
            hub.ask_one("owner", Subscribe("Busy", "work", (("runtime.started", None),)))
            hub.ask_one("owner", Publish((Draft.of(STARTED),)))

    def said(*options: str) -> str:
        assert main(["status", "--home", str(home.path), *options]) == 3
        return capsys.readouterr().out

    short, whole, document = said(), said("--all"), json.loads(said("--json"))

    assert "Busy" in short
    assert "Quiet" not in short
    assert "idle subscriptions: 2, which --all shows" in short
    assert all(name in whole for name in ("Busy", "Quiet", "Still"))
    assert "idle subscriptions" not in whole
    assert [row["name"] for row in document["subscriptions"]] == ["Busy", "Quiet", "Still"]


def test_metrics_are_counted_from_the_log_alone(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*options: str) -> str:
        assert main(["status", "--metrics", "--home", str(home.path), *options]) == 0
        return capsys.readouterr().out

    nothing = said()
    place: dict[str, Any] = {"execution_id": "x", "step_id": "s", "model": "small"}
    asked = ModelInvoke(**place, prompt="p")
    answer = ModelResponded(**place, prompt="p", answer={}, cached_read_tokens=1_234, cost=0.25)
    with closing(EventLog.open(home.log_path)) as log:
        hub = LocalHub(Hub(log, VOCABULARY, system_entropy), SystemClock())
        with closing(hub):
            hub.ask_one("owner", Publish((Draft.of(asked), Draft.of(answer))))

    shown, document = said(), json.loads(said("--json"))

    assert nothing == "nothing was recorded yet\n"
    assert "model_tokens\tmodel small, class cached_read\t1,234" in shown
    (cost,) = (row for row in document["metrics"] if row["name"] == "cost_usd")
    assert (cost["value"], cost["labels"]["model"]) == (0.25, "small")
    assert document["position"] == 2
