"""`cortex plugin dev`: a change is at work soon, a mistake is shown and what was there goes on."""

import json
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.bus.events import PluginLoaded
from cortex.plugins.hosting import unavailable
from cortex.runtime.cli import main
from cortex.runtime.cli.reading import History, Selection
from cortex.runtime.kernel import Home

PATIENCE_S = 60.0
UNCONFINED = ["--unconfined"] if unavailable() else []
CODE = """
from cortex.bus.events import StepCompleted, StepExecute
from cortex.plugins import Manifest
from cortex.runtime.kernel import Component, Serves, on

class Say(Component):
    workers = 1
    serves = (Serves("action", "say", effect="none"),)

    @on(StepExecute, where={"action": "say"})
    def say(self, event, delivery):
        yield StepCompleted(execution_id=event.execution_id, step_id=event.step_id, result={})

PLUGIN = Manifest(
    name="changing", version="1.0.0", cortex=">=0.1", components=("plugin_changing:Say",),
    subscribes=("step.execute=say",), publishes=("step.completed",),
)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package whose code is installed where it is written."""
    folder = tmp_path / "package"
    info = folder / "src" / "plugin_changing-1.0.dist-info"
    info.mkdir(parents=True)
    points = "[cortex.plugins]\nchanging = plugin_changing:PLUGIN\n"
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-changing\nVersion: 1\n")
    (info / "entry_points.txt").write_text(points)
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "plugin-changing"\n'
        '[project.entry-points."cortex.plugins"]\nchanging = "plugin_changing:PLUGIN"\n'
    )
    code(folder).write_text(CODE)
    monkeypatch.syspath_prepend(str(folder / "src"))
    monkeypatch.setenv("CORTEX_HOME", str(Home.create(tmp_path / ".cortex").path))
    return folder


def code(package: Path) -> Path:
    return package / "src" / "plugin_changing.py"


def at_work(home: Home) -> list[str]:
    """The versions that were at work, in order."""
    with History.open(home) as history:
        found = history.select(Selection(topics=(PluginLoaded.topic_name(),)))
        events = [history.event(record) for record in found]
    return [event.version for event in events if isinstance(event, PluginLoaded)]


def logged(home: Home) -> str:
    path = home.path / "logs" / "changing.log"
    return path.read_text() if path.exists() else ""


def until(met: Callable[[], object]) -> None:
    for _ in range(int(PATIENCE_S * 10)):
        if met():
            return
        threading.Event().wait(0.1)


def test_a_change_is_at_work_soon_and_a_mistake_is_shown_and_changes_nothing(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(package.parent / ".cortex")

    def write() -> None:
        """What a person does meanwhile, who looks at what comes of it."""
        until(lambda: at_work(home) == ["1.0.0"])
        (package / "src" / "__pycache__").mkdir()
        (package / "src" / "__pycache__" / "made.pyc").write_text("by Python")
        code(package).write_text(CODE.replace("1.0.0", "2.0.0"))
        until(lambda: at_work(home)[-1] == "2.0.0")
        code(package).write_text(CODE.replace("class Say", "raise ValueError('half')\nclass Say"))
        until(lambda: "ValueError: half" in logged(home))
        code(package).write_text(CODE.replace("1.0.0", "3.0.0"))
        until(lambda: at_work(home)[-1] == "3.0.0")
        os.kill(os.getpid(), signal.SIGINT)

    person = threading.Thread(target=write)
    person.start()
    ended = main(["plugin", "dev", str(package), "--yes", "--json", *UNCONFINED])
    person.join()

    said = capsys.readouterr()
    documents = [json.loads(line) for line in said.out.splitlines()]
    assert ended == 0
    assert at_work(home) == ["1.0.0", "2.0.0", "3.0.0"]
    assert [each["state"] for each in documents] == ["loaded", "loaded", "refused", "loaded"]
    assert "half" in documents[2]["reason"]
    assert "plugin_changing.py" in said.err  # of the traceback
    assert "stays loaded: `cortex plugin unload changing`" in said.err


def test_where_nobody_confirms_what_it_asks_for_it_ends(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugin", "dev", str(package), *UNCONFINED]) == 1

    assert "nobody is here to confirm what changing asks for" in capsys.readouterr().err
    assert at_work(Home(package.parent / ".cortex")) == []


@pytest.mark.parametrize(
    ("project", "exit_code", "problem"),
    [
        (None, 2, "cannot be read"),
        ("[project", 2, "cannot be read"),
        ("[project]\n", 2, 'has no plugin under [project.entry-points."cortex.plugins"]'),
        (
            '[project.entry-points."cortex.plugins"]\na = "a:P"\nb = "b:P"\n',
            2,
            "has the plugins a, b: say --plugin NAME",
        ),
        (
            '[project.entry-points."cortex.plugins"]\na = "a:P"\n',
            1,
            "the plugin a is not installed: pip install -e ",
        ),
        (
            '[project.entry-points."cortex.plugins"]\nwebhook = "a:P"\n',
            1,
            "the plugin webhook is installed from elsewhere",
        ),
    ],
)
def test_a_folder_that_cannot_be_developed_is_one_clear_line(
    project: str | None,
    exit_code: int,
    problem: str,
    package: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = package / "pyproject.toml"
    if project is None:
        path.unlink()
    else:
        path.write_text(project)

    assert main(["plugin", "dev", str(package), "--yes"]) == exit_code

    assert problem in capsys.readouterr().err
