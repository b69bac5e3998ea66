"""`cortex plugin dev`: a change is at work soon, a mistake is shown and what was there goes on."""

import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cortex.bus.events import PluginLoaded
from cortex.plugins.host import unavailable
from cortex.runtime.cli import main
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home
from cortex.runtime.projections import Selection

from .command_lines import CORTEX

_developing: Any = import_module("cortex.plugins.cli.developing")
at_rest = _developing.at_rest

PATIENCE_S = 120.0
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


@pytest.fixture
def developing(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    """The command, at a terminal of its own; what it says comes line by line."""
    monkeypatch.setenv("PYTHONPATH", str(package / "src"))
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    command = [str(CORTEX), "plugin", "dev", str(package), "--yes", "--json", *UNCONFINED]
    with (
        (package.parent / "said").open("w") as said,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, text=True
        ) as process,
    ):
        # Who waits for a line that never comes gets the end of the file.
        overdue = threading.Timer(PATIENCE_S, process.kill)
        overdue.start()
        yield process
        overdue.cancel()
        process.kill()


def test_a_change_is_at_work_soon_and_a_mistake_is_shown_and_changes_nothing(
    package: Path, developing: subprocess.Popen[str]
) -> None:
    lines = developing.stdout
    assert lines is not None

    first = json.loads(lines.readline())
    (package / "src" / "__pycache__").mkdir(exist_ok=True)
    (package / "src" / "__pycache__" / "made.pyc").write_text("by Python")
    code(package).write_text(CODE.replace("1.0.0", "2.0.0"))
    second = json.loads(lines.readline())
    code(package).write_text(CODE.replace("class Say", "raise ValueError('half')\nclass Say"))
    mistake = json.loads(lines.readline())
    code(package).write_text(CODE.replace("1.0.0", "3.0.0"))
    third = json.loads(lines.readline())
    developing.send_signal(signal.SIGINT)

    assert lines.read() == ""
    assert developing.wait() == 0
    assert [each["state"] for each in (first, second, third)] == ["loaded"] * 3
    assert mistake["state"] == "refused"
    assert "half" in mistake["reason"]
    assert at_work(Home(package.parent / ".cortex")) == ["1.0.0", "2.0.0", "3.0.0"]
    said = (package.parent / "said").read_text()
    assert "ValueError: half" in said
    assert "plugin_changing.py" in said  # of the traceback
    assert "stays loaded: `cortex plugin unload changing`" in said


PARTS = """
from cortex.plugins import Manifest
PLUGIN = Manifest(
    name="changing", version="1.0.0", cortex=">=0.1",
    components=("plugin_changing.parts:Say", "plugin_changing.parts:Hear"),
    subscribes=("step.execute=say",), publishes=("step.completed",), effects={"say": "none"},
)
"""


def test_a_module_that_does_not_import_is_one_problem_with_its_place_and_a_traceback_in_the_log(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code(package).unlink()
    parts = package / "src" / "plugin_changing" / "parts.py"
    parts.parent.mkdir()
    parts.with_name("__init__.py").write_text(PARTS)
    parts.write_text("import os\n\nclass Say(:\n    pass\n")

    assert main(["plugin", "load", "changing", "--yes", *UNCONFINED]) != 0
    said = capsys.readouterr().err
    assert main(["plugin", "logs", "changing"]) == 0
    logged = capsys.readouterr().out

    assert said.count("cannot be imported") == 1
    assert f"module plugin_changing.parts: cannot be imported: {parts}:3: SyntaxError: " in said
    assert "install" not in said
    assert "effects" not in said
    assert logged.count("Traceback") == 1
    assert "class Say(:" in logged


def test_files_are_taken_once_two_looks_see_the_same() -> None:
    looks = iter([[0], [0, 5], [9, 5], [9, 5], [1]])
    pauses: list[None] = []

    seen = at_rest(lambda: frozenset(("f", n, 0) for n in next(looks)), lambda: pauses.append(None))

    assert seen == {("f", 9, 0), ("f", 5, 0)}
    assert len(pauses) == 3


def test_files_that_never_come_to_rest_are_taken_as_they_are() -> None:
    numbers = iter(range(1_000))

    seen = at_rest(lambda: frozenset({("f", next(numbers), 0)}), lambda: None)

    assert seen == {("f", 25, 0)}


def test_where_nobody_confirms_what_it_asks_for_it_ends(
    package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugin", "dev", str(package), *UNCONFINED]) == 1

    assert "no terminal is here to confirm what changing requests" in capsys.readouterr().err
    assert at_work(Home(package.parent / ".cortex")) == []


@pytest.mark.parametrize(
    ("project", "exit_code", "problem"),
    [
        (
            None,
            2,
            "there is no package here, for it has no pyproject.toml: `cortex plugin new NAME`",
        ),
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
