"""`cortex plugin` from end to end: a package is written, tested, looked at, loaded and unloaded."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import Feed, as_map
from cortex.bus.events import (
    ExecutionCompleted,
    GateEvaluate,
    ModelInvoke,
    PluginLoad,
    StepExecute,
)
from cortex.plugins.host import PluginManager, unavailable
from cortex.runtime.cli import main
from cortex.runtime.kernel import Home, Runtime

_checking: Any = import_module("cortex.plugins.checking")
_installed: Any = import_module("cortex.plugins.installed")
described = _checking.described
installed_as = _installed.installed_as
manifest_here = _installed.manifest_here

EXAMPLE = Path(__file__).parents[2] / "examples" / "plugin-ticker"
UNCONFINED = ["--unconfined"] if unavailable() else []
METADATA = "Metadata-Version: 2.1\nName: cortex-{}\nVersion: 1.0.0\n"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package that `cortex plugin new` writes."""
    folder = tmp_path_factory.mktemp("written")

    assert main(["plugin", "new", "demo", "--folder", str(folder)]) == 0

    return folder / "cortex-demo"


def test_what_new_writes_and_the_example_pass_their_own_tests(written: Path) -> None:
    # Both in one process: most of the time that one takes goes into its imports.
    source = f"{written / 'src'}{os.pathsep}{EXAMPLE / 'src'}"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-c", str(written / "pyproject.toml"), "--import-mode=importlib"]

    done = subprocess.run(
        [*command, str(written / "tests"), str(EXAMPLE / "tests")],
        capture_output=True,
        text=True,
        check=False,
        cwd=written,
        env={**os.environ, "PYTHONPATH": source},
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "17 passed" in done.stdout


def test_a_name_that_is_none_and_a_folder_that_is_there_are_refused(
    written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugin", "new", "My-Plugin"]) == 1
    assert "is not a name of a plugin" in capsys.readouterr().err
    assert main(["plugin", "new", "demo", "--folder", str(written.parent)]) == 1
    assert "exists already: name another folder" in capsys.readouterr().err


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home, and the example installed beside Cortex."""
    site = tmp_path / "site"
    shutil.copytree(EXAMPLE / "src", site)
    info = site / "cortex_ticker-1.0.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA.format("ticker"))
    (info / "entry_points.txt").write_text("[cortex.plugins]\nticker = cortex_ticker:PLUGIN\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("CORTEX_HOME", str(tmp_path / ".cortex"))
    yield Home.create(tmp_path / ".cortex").path
    for name in [name for name in sys.modules if name.startswith("cortex_ticker")]:
        del sys.modules[name]


def test_a_plugin_is_looked_at_loaded_used_and_unloaded(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*args: str) -> Any:
        code = main([*args, "--json"])
        out = capsys.readouterr()
        assert code == 0, out
        return json.loads(out.out)

    rows = {row["name"]: row for row in said("plugin", "list")}
    assert rows["ticker"] == {
        "name": "ticker",
        "package": "cortex-ticker",
        "version": "1.0.0",
        "state": "unloaded",
        "place": "",
        "confined": False,
        "reason": "",
        "failures": 0,
        "summary": "",
    }
    assert rows["webhook"]["package"] == "cortex-runtime"
    document = said("plugin", "info", "ticker", *UNCONFINED)
    assert document["components"] == ["CountDown", "EvenMinute", "Ticker", "Tally"]
    assert "publish:x.ticker.tallied" in document["asks"]
    assert document["problems"] == document["granted"] == []
    assert document["limits"]["events_per_s"] == 500

    assert main(["plugin", "load", "ticker", *UNCONFINED]) == 1
    asked = capsys.readouterr().err
    assert "no terminal is here to confirm what ticker requests: add --yes" in asked
    assert "ticker 1.0.0, of cortex-ticker" in asked
    assert "at most 500 events/s and 2,048 MB a process" in asked
    deny = ["--deny", "publish:model.failed"]
    loaded = said("plugin", "load", "ticker", "--yes", *deny, *UNCONFINED)
    assert loaded["components"] == document["components"]
    assert set(document["asks"]) - set(loaded["granted"]) == {"publish:model.failed"}

    ended = said("run", str(EXAMPLE / "countdown.yaml"))
    assert ended["outputs"] == {"text": "3 2 1 0"}
    # What the plugin serves is known to whoever looks at the process, too.
    assert said("process", "validate", str(EXAMPLE / "countdown.yaml"))["errors"] == 0
    rehearsed = said("process", "dry-run", str(EXAMPLE / "countdown.yaml"))
    assert [step["runs"] for step in rehearsed["steps"]] == ["count_down"]
    assert said("plugin", "reload", "ticker")["granted"] == loaded["granted"]
    assert said("plugin", "logs", "ticker")["lines"]
    assert main(["plugin", "logs", "nobody"]) == 3
    assert "no plugin 'nobody' is installed" in capsys.readouterr().err
    (listed,) = [row for row in said("plugin", "list") if row["name"] == "ticker"]
    assert (listed["state"], listed["place"]) == ("loaded", "process")
    assert main(["status", "--json"]) == 3  # no hub is up
    (shown,) = json.loads(capsys.readouterr().out)["plugins"]
    assert shown == {"name": "ticker", "state": "loaded", "version": "1.0.0", "reason": ""}
    main(["status"])
    assert "ticker\t1.0.0\tloaded" in capsys.readouterr().out

    assert said("plugin", "unload", "ticker")["state"] == "unloaded"
    assert main(["plugin", "unload", "ticker"]) == 1
    assert "plugin ticker is not loaded" in capsys.readouterr().err
    main(["status", "--json"])
    assert json.loads(capsys.readouterr().out)["plugins"] == []


@pytest.mark.parametrize(
    ("args", "code", "problem"),
    [
        (
            ["load", "nobody"],
            3,
            "no plugin 'nobody' is installed (there are: prometheus, ticker, webhook)",
        ),
        (["load", "webhook", "--grant", "all"], 2, "webhook does not ask for 'all'; it asks for"),
        (["load", "ticker", "--in-runtime"], 1, "say --unconfined, too"),
        (["reload", "ticker"], 1, "plugin ticker is not loaded: `cortex plugin load ticker`"),
        (["logs", "../log"], 2, "'../log' is not a name of a plugin"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(
    home: Path, capsys: pytest.CaptureFixture[str], args: list[str], code: int, problem: str
) -> None:
    assert main(["plugin", *args]) == code

    told = [x for x in capsys.readouterr().err.splitlines() if x.startswith("cortex: ")]
    assert len(told) == 1
    assert problem in told[0]


def test_the_examples_four_components_are_at_work(home: Path) -> None:
    plugin = installed_as("ticker")
    manifest = described(manifest_here(plugin)).manifest
    load = PluginLoad(
        plugin="ticker",
        package=plugin.package,
        version=manifest.version,
        digest=manifest.digest(),
        granted=manifest.parts(),
        confined=not UNCONFINED,
    )

    with Runtime(Home.create(home), components=[PluginManager]) as runtime:
        client = runtime.client("test")
        feed = client.follow(("*", None))
        prompt = runtime.blobs.put(b"one\ntwo")
        model: dict[str, Any] = {"model": "ticker", "provider": "ticker", "prompt": prompt}
        client.publish(load)
        told = {"plugin.loaded": until(feed, "plugin.loaded")}
        client.publish(
            StepExecute(
                execution_id="1", step_id="a", action="count_down", parameters={"start": 1}
            ),
            GateEvaluate(execution_id="1", gate="even_minute"),
            ModelInvoke(execution_id="1", step_id="b", **model),
            ExecutionCompleted(execution_id="2"),  # of the first one: its step would be dropped
        )
        wanted = {"step.completed", "gate.evaluated", "model.responded", "x.ticker.tallied"}
        while wanted - told.keys():
            told.update((r.topic, as_map(r)) for r in feed.next(60.0))

    assert told["step.completed"]["result"] == {"text": "1 0"}
    assert told["gate.evaluated"]["outcome"] in ("passed", "failed")
    assert told["model.responded"]["answer"] == {"text": "two"}
    assert told["x.ticker.tallied"]["completed"] == 1


def until(feed: Feed, topic: str) -> dict[str, Any]:
    """The body of the next event of *topic*."""
    while True:
        for record in feed.next(60.0):
            if record.topic == topic:
                return as_map(record)
            assert record.topic not in ("plugin.denied", "plugin.crashed"), as_map(record)
