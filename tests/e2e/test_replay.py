"""A recorded run is decided again, byte for byte; and a decider that was changed is found out."""

import hashlib
import importlib
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

import cortex
import cortex.testing

from .command_lines import CORTEX, environment

pytestmark = pytest.mark.wheel

EXAMPLES = Path(__file__).parents[2] / "examples"
LAYERS = ("bus", "runtime", "actors", "plugins")
# One line of each decider, the same line with a mistake, and the field that shows it.
MUTANTS = {
    "ProcessManager": (
        "actors/managers/starter.py",
        "process_version=process.version if process else 0,",
        "process_version=process.version + 1 if process else 0,",
        "process_version",
    ),
    "ProcessExecutionEngine": (
        "runtime/executions/steps/requests.py",
        'attempt=state.gate_attempts.get(f"{step_id}/{index}", 0) + 1,',
        'attempt=state.gate_attempts.get(f"{step_id}/{index}", 0) + 2,',
        "attempt",
    ),
    "CompilationEngine": (
        "actors/engines/compilation.py",
        "considered=len(manifest.items),",
        "considered=len(manifest.items) + 1,",
        "considered",
    ),
}


class Recorded:
    """A home in which the shipped triage ran once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / ".cortex"
        self.env = environment(folder)
        self.done("init")
        self.done(
            "run", "triage_ci_failure", "--quiet",
            "-i", f"log={EXAMPLES / 'tomlkit-ci-failure.log'}",
            "-i", f"checkout={EXAMPLES / 'tomlkit-0.11.8'}",
        )  # fmt: skip

    def call(
        self, *args: str, command: Sequence[str] = (str(CORTEX),), **env: str
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [*command, *args], cwd=self.folder, env={**self.env, **env}, text=True,
            capture_output=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def done(self, *args: str, **env: str) -> str:
        found = self.call(*args, **env)
        assert found.returncode == 0, found.stdout + found.stderr
        return found.stdout

    def execution(self) -> str:
        listed = json.loads(self.done("execution", "list", "--json"))
        return str(listed[0]["id"])

    def digests(self) -> dict[str, str]:
        """Of every file that must not change."""
        files = [*self.home.rglob("*.json"), self.home / "log.db", *self.home.glob("blobs/*/*")]
        return {str(f): hashlib.sha256(f.read_bytes()).hexdigest() for f in files if f.is_file()}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    if not EXAMPLES.is_dir():
        pytest.skip("examples/ is not beside these tests")
    return Recorded(tmp_path_factory.mktemp("recorded"))


def test_every_decision_of_a_run_is_made_again_and_nothing_else_happens(
    recorded: Recorded,
) -> None:
    before = recorded.digests()

    found = json.loads(recorded.done("replay", recorded.execution()[:6], "--json"))

    assert found["divergence"] is None
    decisions = {row["name"]: row["decisions"] for row in found["deciders"]}
    assert decisions["ProcessManager"] == 1  # execution.started
    assert decisions["ProcessExecutionEngine"] == 8
    assert decisions["CompilationEngine"] == 2  # model.selected, context.compiled
    assert found["answered"] == {"gate": 2, "step": 3, "model answer": 1}
    assert recorded.digests() == before


def test_the_whole_log_and_its_projections_are_replayed(recorded: Recorded) -> None:
    found = json.loads(recorded.done("replay", "--json"))

    assert found["execution"] is None
    names = [each["name"] for each in found["projections"]]
    assert names == ["executions", "event_index", "metrics"]
    assert all(each["recorded"] == each["replayed"] for each in found["projections"])
    assert recorded.done("replay").endswith("the same\n")


def test_an_earlier_state_is_replayed_as_far_as_it_goes(recorded: Recorded) -> None:
    whole = json.loads(recorded.done("replay", "--json"))

    for position in range(26, whole["through"] + 1, 3):
        assert recorded.done("replay", "--at", str(position)).endswith("the same\n"), position


def test_hash_seed_locale_and_time_zone_change_nothing(recorded: Recorded) -> None:
    one = recorded.done("replay", "--json")
    other = recorded.done("replay", "--json", PYTHONHASHSEED="4711", TZ="Asia/Kolkata", LC_ALL="C")

    assert json.loads(one) == json.loads(other)


@pytest.mark.parametrize("decider", MUTANTS)
def test_a_mistake_in_one_line_of_a_decider_is_found(
    recorded: Recorded, decider: str, tmp_path: Path
) -> None:
    file, line, mistake, field = MUTANTS[decider]
    copy_of_cortex(tmp_path)
    source = tmp_path / "cortex" / file
    text = source.read_text("utf-8")
    assert text.count(line) == 1
    source.write_text(text.replace(line, mistake), "utf-8")

    done = recorded.call(
        "replay", recorded.execution(), "--json",
        command=(sys.executable, "-m", "cortex.runtime.cli"), PYTHONPATH=str(tmp_path),
    )  # fmt: skip

    assert done.returncode == 1, done.stderr
    other = json.loads(done.stdout)["divergence"]
    assert other["decider"] == decider
    assert [change["field"] for change in other["changes"]] == [field]
    assert other["recorded"]["position"] > other["causes"][0]["position"]
    assert other["causes"][-1]["topic"] in ("execution.request", "trigger.matched")
    shown = recorded.call(
        "replay", recorded.execution(),
        command=(sys.executable, "-m", "cortex.runtime.cli"), PYTHONPATH=str(tmp_path),
    )  # fmt: skip
    assert f"{decider} decides differently" in shown.stdout
    assert f"\n  {field}\n" in shown.stdout


def copy_of_cortex(folder: Path) -> None:
    """A package of its own, which this test may change."""
    package = folder / "cortex"
    package.mkdir()
    for file in Path(list(cortex.__path__)[-1]).glob("*.py"):
        shutil.copy(file, package)
    for layer in LAYERS:
        found = Path(str(importlib.import_module(f"cortex.{layer}").__file__)).parent
        shutil.copytree(found, package / layer, ignore=shutil.ignore_patterns("__pycache__"))


def test_a_projection_that_was_changed_is_found(recorded: Recorded, tmp_path: Path) -> None:
    home = tmp_path / ".cortex"
    shutil.copytree(recorded.home, home, ignore=shutil.ignore_patterns("*.sock"))
    with closing(sqlite3.connect(home / "projections.db")) as connection, connection:
        connection.execute("update executions set status = 'failed'")

    done = recorded.call("replay", "--home", str(home), "--json")

    assert done.returncode == 1, done.stderr
    found = {each["name"]: each for each in json.loads(done.stdout)["projections"]}
    assert found["executions"]["recorded"] != found["executions"]["replayed"]
    assert found["event_index"]["recorded"] == found["event_index"]["replayed"]
    assert "differs from the log" in recorded.call("replay", "--home", str(home)).stdout


def test_a_home_that_is_not_trusted_is_replayed_and_stays_untrusted(
    recorded: Recorded, tmp_path: Path
) -> None:
    home = tmp_path / ".cortex"
    shutil.copytree(recorded.home, home, ignore=shutil.ignore_patterns("*.sock"))
    (home / "config.toml").write_text("[tools]\nwait_s = 30.0\n", "utf-8")

    done = recorded.call("replay", "--home", str(home), XDG_DATA_HOME=str(tmp_path / "another"))

    assert done.returncode == 0, done.stdout + done.stderr


def test_what_cannot_be_replayed_is_said_in_one_line(recorded: Recorded, tmp_path: Path) -> None:
    unknown = recorded.call("replay", "nonesuch")
    assert unknown.returncode == 3
    assert unknown.stderr.count("\n") == 1

    home = tmp_path / ".cortex"
    shutil.copytree(recorded.home, home, ignore=shutil.ignore_patterns("*.sock"))
    shutil.rmtree(home / "blobs")
    lost = recorded.call("replay", recorded.execution(), "--home", str(home))
    assert lost.returncode == 4
    assert "restore blobs/ from a backup" in lost.stderr
    assert "Traceback" not in lost.stderr

    empty = tmp_path / "empty"
    empty.mkdir()
    recorded.call("init", "--home", str(empty / ".cortex"))
    nothing = recorded.call("replay", "--home", str(empty / ".cortex"))
    assert nothing.returncode == 0
    assert nothing.stdout.startswith("the log: 0 events")


TRIAGE = Path(str(importlib.import_module("cortex.actors").__file__)).parent / "library/processes"


def another_triage(folder: Path, old: str, new: str) -> Path:
    """The shipped triage, with one text in place of another."""
    (source,) = (f for f in TRIAGE.glob("*.yaml") if "process: triage_ci_failure" in f.read_text())
    text = source.read_text("utf-8")
    assert old in text
    file = folder / "triage.yaml"
    file.write_text(text.replace(old, new), "utf-8")
    return file


def test_the_same_process_from_a_file_decides_the_same(recorded: Recorded, tmp_path: Path) -> None:
    file = another_triage(tmp_path, "process:", "process:")
    before = recorded.digests()

    found = json.loads(
        recorded.done("replay", recorded.execution(), "--process", str(file), "--json")
    )

    assert found["divergence"] is None
    assert found["unanswered"] == []
    assert found["ended"] == found["ended_then"] == "completed"
    assert found["answered"] == {"gate": 2, "step": 3, "model answer": 1}
    assert recorded.digests() == before
    again = cortex.testing.replay(recorded.home, recorded.execution(), process=file)
    assert again.same


def test_another_version_is_compared_and_what_it_asks_anew_is_listed(
    recorded: Recorded, tmp_path: Path
) -> None:
    file = another_triage(tmp_path, "steps:\n", "instructions: Answer in Latin.\nsteps:\n")

    done = recorded.call("replay", recorded.execution(), "--process", str(file), "--json")

    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert found["divergence"]["recorded"]["topic"] == "context.compile"
    assert [each["field"] for each in found["divergence"]["changes"]] == ["instructions"]
    assert found["divergence"]["causes"][-1]["topic"] in ("execution.request", "trigger.matched")
    assert [(each["topic"], each["why"]) for each in found["unanswered"]] == [
        ("model.invoke", "asked otherwise")
    ]
    shown = recorded.call("replay", recorded.execution(), "--process", str(file)).stdout
    line = next(each for each in shown.splitlines() if "instructions" in each)
    assert line.startswith("  * instructions")
    assert line.endswith("Answer in Latin.")
    with pytest.raises(AssertionError, match="no answer on record"):
        cortex.testing.replay(recorded.home, recorded.execution(), process=file)


def test_a_file_that_does_not_fit_is_said_in_one_line(recorded: Recorded, tmp_path: Path) -> None:
    execution, other = recorded.execution(), tmp_path / "other.yaml"
    other.write_text("process: other\nversion: 1\nsteps:\n  - id: a\n    action: shell\n")
    other.write_text(other.read_text() + "    with: {run: ls}\n")
    broken = tmp_path / "broken.yaml"
    broken.write_text("process: [\n")
    unserved = another_triage(tmp_path, "action: analyze_failure", "action: read_tea_leaves")
    for file, code, said in (
        (other, 1, "name a file with a version of triage_ci_failure"),
        (broken, 1, "P002"),
        (unserved, 1, "no component serves the action `read_tea_leaves`"),
        (tmp_path / "nowhere.yaml", 3, "is not there"),
    ):
        done = recorded.call("replay", execution, "--process", str(file))
        assert done.returncode == code, done.stdout + done.stderr
        assert said in done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
    unknown = recorded.call("replay", "nonesuch", "--process", str(unserved))
    assert (unknown.returncode, unknown.stderr.count("\n")) == (3, 1)
    assert recorded.call("replay", "--process", str(unserved)).returncode == 2
