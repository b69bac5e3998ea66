"""`cortex status` on a home where no hub is up: what it says of subscriptions."""

import json
from contextlib import closing

import pytest

from cortex.bus import Draft, Hub, LocalHub, Publish, Subscribe, SystemClock, system_entropy
from cortex.bus.events import VOCABULARY, RuntimeStarted
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
