"""`cortex plugin reload`: asks for what is new alone, and says what keeps it from being loaded."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cortex.bus.events import ComponentWithdrawn, RuntimeStarted
from cortex.plugins.host import unavailable
from cortex.runtime.cli import main
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home
from cortex.runtime.projections import Selection

UNCONFINED = ["--unconfined"] if unavailable() else []
CODE = """
from cortex.bus.events import StepCompleted, StepExecute
from cortex.plugins import Limits, Manifest
from cortex.runtime.kernel import Component, Serves, on

class Say(Component):
    workers = 1
    serves = (Serves("action", "say"),)

    @on(StepExecute, where={"action": "say"})
    def say(self, event, delivery):
        raise LookupError("it has nothing to say")

PLUGIN = Manifest(
    name="changing", version="1.0.0", cortex=">=0.1", components=("plugin_changing:Say",),
    subscribes=("step.execute=say",), publishes=("step.completed",),
)
"""
MORE = CODE.replace('("step.completed",)', '("step.completed", "x.changing.said")')
IDEMPOTENT = MORE.replace(
    'version="1.0.0",', 'version="1.0.0", effects={"say": "idempotent"}, limits=Limits(restarts=9),'
)
DOES_NOT_START = CODE.replace(
    "    @on", "    def on_start(self):\n        raise OSError('no')\n\n    @on"
)
PROCESS = "process: saying\nversion: 1\nsteps:\n  - { id: it, action: say }\n"


class Site:
    """A package with one plugin, and a home."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder / "site"
        self.home = Home.create(folder / ".cortex")
        info = self.folder / "plugin_changing-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-changing\nVersion: 1\n")
        (info / "entry_points.txt").write_text(
            "[cortex.plugins]\nchanging = plugin_changing:PLUGIN\n"
        )
        self._capsys = capsys

    def write(self, code: str) -> None:
        (self.folder / "plugin_changing.py").write_text(code)

    def run(self, *args: str) -> tuple[int, str, str]:
        code = main(["plugin", *args])
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def listed(self) -> Any:
        _, out, _ = self.run("list", "--json")
        (row,) = [row for row in json.loads(out) if row["name"] == "changing"]
        return row


@pytest.fixture
def site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Site:
    made = Site(tmp_path, capsys)
    monkeypatch.syspath_prepend(str(made.folder))
    monkeypatch.setenv("CORTEX_HOME", str(made.home.path))
    made.write(CODE)
    assert made.run("load", "changing", "--yes", *UNCONFINED)[0] == 0
    return made


def test_only_what_is_new_is_asked_for(site: Site) -> None:
    site.write(CODE.replace("1.0.0", "1.1.0"))
    assert site.run("reload", "changing")[0] == 0  # nothing is

    site.write(MORE)
    code, _, asked = site.run("reload", "changing")
    site.write(IDEMPOTENT)
    _, _, more = site.run("reload", "changing")
    confirmed, _, _ = site.run("reload", "changing", "--yes")

    assert code == 1
    assert "no terminal is here to confirm what changing requests: add --yes" in asked
    assert "grant  publish:x.changing.said" in asked
    assert "step." not in asked
    assert "MB a process" not in asked
    assert "say is idempotent: after a kill it is done again, under its key" in more
    assert "MB a process" in more
    assert confirmed == 0
    assert site.run("reload", "changing")[0] == 0  # and not again


def test_what_cannot_be_loaded_changes_nothing(site: Site) -> None:
    site.write("import nothing_like_it\n" + CODE)
    imported = site.run("reload", "changing")
    site.write(CODE.replace("class Say", "raise ValueError('half written')\nclass Say"))
    raised = site.run("reload", "changing")
    site.write(DOES_NOT_START)
    started = site.run("reload", "changing")

    assert [imported[0], raised[0], started[0]] == [1, 1, 1]
    assert "No module named 'nothing_like_it'" in imported[2]
    assert "half written" in raised[2]
    assert all(
        "plugin changing was not reloaded, and the loaded version continues: " in each[2]
        for each in (imported, raised, started)
    )
    assert "no" in started[2]
    assert "Traceback" not in imported[2] + raised[2] + started[2]
    assert site.listed()["state"] == "loaded"
    _, logs, _ = site.run("logs", "changing")
    assert "in on_start" in logs


def test_what_a_plugin_served_is_missed_at_once_where_it_is_no_longer_installed(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    (site.home.processes / "saying.yaml").write_text(PROCESS)
    shutil.rmtree(site.folder / "plugin_changing-1.0.dist-info")

    # Not one that waits for ten minutes: the request is refused, or held with its reason.
    ended = main(["run", "saying"])

    said = capsys.readouterr()
    assert ended != 0
    assert "say" in said.err
    assert site.listed()["state"] == "denied"
    with History.open(site.home) as history:
        withdrawn = list(history.select(Selection(topics=(ComponentWithdrawn.topic_name(),))))
        begun = list(history.select(Selection(topics=("execution.started",))))
        started = list(history.select(Selection(topics=(RuntimeStarted.topic_name(),))))
    assert begun == []
    # Before the runtime takes any request: whoever is quick is not faster than that.
    assert [each.position < started[1].position for each in withdrawn] == [True]


def _once(code: str) -> str:
    """The same, given up at its first crash."""
    return code.replace('version="1.0.0",', 'version="1.0.0", limits=Limits(restarts=0),')


@pytest.fixture
def given_up(site: Site) -> Site:
    site.run("unload", "changing")
    site.write(_once(DOES_NOT_START))
    assert site.run("load", "changing", "--yes", *UNCONFINED)[0] == 1
    assert site.listed()["state"] == "given up"
    return site


def test_one_that_was_given_up_is_reloaded_once_it_is_mended_and_nothing_is_asked_again(
    given_up: Site,
) -> None:
    given_up.write("raise ValueError('half written')\n" + _once(CODE))
    still = given_up.run("reload", "changing")
    given_up.write(_once(CODE))
    mended = given_up.run("reload", "changing")

    assert still[0] == 1
    assert "plugin changing cannot be loaded: it does not describe itself: " in still[2]
    assert "half written" in still[2]
    assert mended[0] == 0
    assert given_up.listed()["state"] == "loaded"


def test_one_that_was_given_up_and_asks_for_more_has_that_confirmed(given_up: Site) -> None:
    given_up.write(_once(MORE))

    code, _, asked = given_up.run("reload", "changing")

    assert code == 1
    assert "grant  publish:x.changing.said" in asked
    assert "step." not in asked
    assert given_up.listed()["state"] == "given up"


def test_doctor_names_a_plugin_that_was_given_up_and_how_it_is_started_again(
    given_up: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["doctor"])
    warned = capsys.readouterr().out
    given_up.write(_once(CODE))
    given_up.run("reload", "changing")
    main(["doctor"])

    assert "warn  plugins     changing given up: Say did not start: OSError: no" in warned
    assert "put that right, then `cortex plugin reload changing`" in warned
    assert "warn  plugins" not in capsys.readouterr().out


def test_what_was_unloaded_is_not_reloaded(site: Site) -> None:
    assert site.run("unload", "changing")[0] == 0

    code, _, said = site.run("reload", "changing")

    assert code == 1
    assert "plugin changing is not loaded: `cortex plugin load changing`" in said


def test_a_plugin_that_fails_is_said_to_fail(site: Site) -> None:
    (site.home.processes / "saying.yaml").write_text(PROCESS)
    site.write(CODE.replace('"say")', '"say", effect="none")'))
    site.run("reload", "changing", "--yes")

    main(["run", "saying"])
    site.run("list")  # what was printed is taken

    row = site.listed()
    assert (row["state"], row["failures"]) == ("failing", 1)
    assert "it has nothing to say" in row["reason"]
    _, logs, _ = site.run("logs", "changing")
    assert "LookupError: it has nothing to say" in logs
    assert "in say" in logs
    assert site.run("reload", "changing")[0] == 0
    assert site.listed()["state"] == "loaded"


def test_status_and_the_list_say_the_same_of_a_plugin_that_fails(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    (site.home.processes / "saying.yaml").write_text(PROCESS)
    site.write(CODE.replace('"say")', '"say", effect="none")'))
    site.run("reload", "changing", "--yes")
    main(["run", "saying"])
    capsys.readouterr()

    main(["status", "--json"])

    (row,) = json.loads(capsys.readouterr().out)["plugins"]
    assert (row["name"], row["state"]) == ("changing", "failing")
    assert "it has nothing to say" in row["reason"]
