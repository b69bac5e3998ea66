"""`cortex plugin load --from`: what a plugin sees begins at a position, or at a time."""

import time
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import as_map
from cortex.bus.events import RuntimeStarted
from cortex.plugins.host import unavailable
from cortex.runtime.cli import main
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home
from cortex.runtime.projections import Selection

PATIENCE_S = 120.0
UNCONFINED = ["--unconfined"] if unavailable() else []
CODE = """
from cortex.bus import Event
from cortex.bus.events import RuntimeStarted
from cortex.plugins import Manifest
from cortex.runtime.kernel import Component, on

class Saw(Event, frozen=True, kw_only=True, tag="x.looking.saw"):
    belongs = ("looking", "")
    position: int

class Look(Component):
    @on(RuntimeStarted)
    def look(self, event, delivery):
        yield Saw(position=delivery.position)

PLUGIN = Manifest(
    name="looking", version="1.0.0", cortex=">=0.1", components=("plugin_looking:Look",),
    subscribes=("runtime.started",), publishes=("x.looking.saw",),
)
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home on which something ran before, and the plugin is installed."""
    info = tmp_path / "site" / "plugin_looking-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-looking\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[cortex.plugins]\nlooking = plugin_looking:PLUGIN\n")
    (tmp_path / "site" / "plugin_looking.py").write_text(CODE)
    home = Home.create(tmp_path / ".cortex")
    (home.processes / "hello.yaml").write_text(
        "process: hello\nversion: 1\nsteps:\n  - { id: a, action: shell, with: { run: echo a } }\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("CORTEX_HOME", str(home.path))
    for _ in range(2):
        assert main(["run", "hello"]) == 0
    return home


def recorded(home: Home, topic: str) -> list[tuple[int, Any]]:
    with History.open(home) as history:
        return [(each.position, each) for each in history.select(Selection(topics=(topic,)))]


def seen(home: Home) -> list[int]:
    """What the plugin saw, once it has seen the newest start."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        assert main(["run", "hello"]) == 0
        with History.open(home) as history:
            records = history.select(Selection(topics=("x.looking.saw",)))
            found = [int(as_map(record)["position"]) for record in records]
        if found:
            return found
    return []


@pytest.mark.parametrize("where", ["beginning", "position", "time"])
def test_what_it_sees_begins_where_load_says(
    where: str, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    starts = recorded(home, RuntimeStarted.topic_name())
    first, second = starts[-2], starts[-1]
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second[1].time_ns // 10**9 + 1))
    given = {
        "beginning": ["--from", "beginning"],
        "position": ["--from", str(second[0])],
        "time": ["--from", f"{moment}+00:00"],
    }[where]

    assert main(["plugin", "load", "looking", "--yes", *given, *UNCONFINED]) == 0

    found = seen(home)
    assert found
    assert (first[0] in found) == (where == "beginning")
    assert (second[0] in found) == (where in ("beginning", "position"))
    capsys.readouterr()


@pytest.mark.parametrize("where", ["yesterday", "0", "-5", "99999", "2026-11-23T10:00:00"])
def test_what_is_no_place_in_a_log_is_refused_before_anything_is_recorded(
    where: str, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["plugin", "load", "looking", "--yes", f"--from={where}", *UNCONFINED])

    assert code == 2
    said = " ".join(capsys.readouterr().err.split())
    with History.open(home) as history:
        assert history.log
        there = f"the log has 1 to {history.log.state().head}"
    asked = f"{where}; {there}" if where.isdecimal() else f"{where!r}"
    assert f"--from: looking begins at {asked}" in said
    assert recorded(home, "plugin.load") == []
