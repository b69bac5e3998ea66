"""What is said of a home while events come."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cortex.bus.events import PluginDenied, PluginLoad
from cortex.runtime.admin import plugins_at_start
from cortex.runtime.kernel import Home, Runtime

STATUS: Any = import_module("cortex.runtime.admin.status")


@pytest.mark.parametrize("looks", [1, 2])
def test_a_plugin_that_ends_between_two_looks_at_the_log_is_said_to_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    home = Home.create(tmp_path / ".cortex")
    load = PluginLoad(plugin="webhook", version="1", digest="d")
    with Runtime(home, components=()) as first:
        first.client("tests").publish(load)

    with Runtime(home, components=()) as runtime:
        client, real, looked = runtime.client("tests"), STATUS.plugins_of, 0

        def meanwhile(history: Any) -> Any:
            nonlocal looked
            looked += 1
            if looked == looks:
                client.publish(PluginDenied(plugin="webhook", reason="no such folder"))
            return real(history)

        monkeypatch.setattr(STATUS, "plugins_of", meanwhile)
        found = plugins_at_start(home)

    assert found["webhook"].state == "denied"
    assert found["webhook"].reason == "no such folder"
