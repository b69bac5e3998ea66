"""Disk and home are not as they should be: it is said in one line, and nothing is lost silently."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.bus import Recorded, decode
from cortex.bus.events import ExecutionRequest
from cortex.runtime.access.trust import give_trust
from cortex.runtime.context import texts_of_inputs
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.log import BlobStore, EventLog
from cortex.runtime.serving.doctor import blobs_of

from ..waiting import until

CORTEX = Path(sys.executable).parent / "cortex"
FAILING = "FAILED tests/test_sum.py::test_sum - assert 3 == 4\n1 failed, 1 passed in 0.01s\n"
ECHO = (
    "process: say\nversion: 1\nsteps:\n  - id: it\n    action: shell\n    with: { run: echo hi }\n"
)
KILLED = """
import os, signal, sys
from pathlib import Path
from cortex.bus.events import ExecutionRequest
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.projections import EventIndex, Runner

home = Home(Path(sys.argv[1]))
with Runtime(home, components=[]) as runtime:
    runtime.client("tests").publish(ExecutionRequest(execution_id="unforgotten", goal="g"))
    Runner.open(home.projections_path, [EventIndex()]).advance(runtime.log)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def cortex(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "COLUMNS": "100"}
    for name in ("CORTEX_HOME", "CORTEX_DEBUG"):
        env.pop(name, None)
    done = subprocess.run(
        [str(CORTEX), *args], cwd=folder, env=env, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stdout + done.stderr
    assert "defect" not in done.stderr
    return done


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    """The one line that a command said when it refused a home."""
    assert done.returncode == 4, done.stdout + done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("cortex:")]
    return line


def doctored(folder: Path, *args: str) -> dict[str, dict[str, str]]:
    """What doctor found, by name."""
    return {
        check["name"]: check
        for check in json.loads(cortex(folder, "doctor", "--json", *args).stdout)
    }


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a home in which executions ran."""
    folder = tmp_path_factory.mktemp("lived")
    (folder / "ci.log").write_text(FAILING)
    (folder / "say.yaml").write_text(ECHO)
    assert cortex(folder, "init").returncode == 0
    assert cortex(folder, "run", "triage_ci_failure", "-i", "log=ci.log").returncode == 0
    assert cortex(folder, "run", "./say.yaml").returncode == 0
    return folder


def copied(lived: Path, folder: Path) -> Path:
    """A copy that its user trusts."""
    shutil.copytree(lived, folder)
    give_trust(folder / ".cortex", by="a test", own=True)
    return folder


@pytest.fixture
def folder(lived: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return copied(lived, tmp_path / "copy")


@pytest.fixture
def small_disk(lived: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of it on a disk of eight megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield copied(lived, disk / "copy")
    finally:
        # A process that the test killed may still be ending.
        until(lambda: not subprocess.run(["umount", str(disk)], check=False).returncode)


def records(folder: Path) -> list[Recorded]:
    log = EventLog.open(folder / ".cortex" / "log.db", readonly=True)
    found = list(map(decode, log.read(0, 100_000, 1 << 30)))
    log.close()
    return found


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from texts(inner)


def kept_texts(folder: Path) -> set[str]:
    """Digests of the texts that prompts were compiled from; a blob that an event names has them."""
    store = BlobStore(Home(folder / ".cortex").blobs)
    bodies = (msgspec.msgpack.decode(record.body) for record in records(folder))
    inputs = {body["inputs"] for body in bodies if body["topic"] == "context.compiled"}
    return {text for digest in inputs for text in texts_of_inputs(store.get(digest))}


def test_a_home_that_was_used_is_in_order(lived: Path) -> None:
    found = doctored(lived)

    wrong = {name: check for name, check in found.items() if check["state"] == "fail"}
    assert wrong == {}
    assert "may be read by others" not in found["home"]["found"]
    assert "every one read" in found["blobs"]["found"]


def test_no_blob_that_an_event_names_is_overlooked(lived: Path) -> None:
    store = BlobStore(Home(lived / ".cortex").blobs)
    overlooked = {
        (record.topic, text)
        for record in records(lived)
        for text in texts(msgspec.msgpack.decode(record.body))
        if store.has(text) and text not in blobs_of(record)
    }

    # A topic's file has the digest of its text, and an event may name the file.
    assert {digest for _, digest in overlooked} <= kept_texts(lived)


def test_every_blob_that_a_put_made_is_named_by_an_event(lived: Path) -> None:
    named = {digest for record in records(lived) for digest in blobs_of(record)}
    blobs = lived / ".cortex" / "blobs"

    found = {p.parent.name + p.name for p in blobs.glob("??/*")}
    assert found == named | kept_texts(lived)


@pytest.mark.parametrize(
    ("damage", "says"),
    [(None, "1 are missing and 0 damaged"), (b"x", "0 are missing and 1 damaged")],
)
def test_doctor_finds_a_blob_that_is_missing_or_damaged(
    folder: Path, damage: bytes | None, says: str
) -> None:
    blob = min((folder / ".cortex" / "blobs").glob("??/*"))
    if damage is None:
        blob.unlink()
    else:
        blob.write_bytes(damage)

    done = cortex(folder, "doctor")

    assert done.returncode == 4
    assert says in done.stdout
    assert blob.parent.name + blob.name in done.stdout
    assert "restore blobs/ from a backup" in done.stdout
    assert cortex(folder, "doctor", "--quick").returncode == 0


def test_a_command_that_needs_a_missing_blob_says_so(folder: Path) -> None:
    shutil.rmtree(folder / ".cortex" / "blobs")

    said = refusal(cortex(folder, "process", "inspect", "triage_ci_failure"))

    assert "is not in this home: restore blobs/ from a backup" in said


@pytest.mark.parametrize("empty", [True, False])
def test_a_log_that_is_gone_or_empty_is_not_made_anew(folder: Path, empty: bool) -> None:
    log = folder / ".cortex" / "log.db"
    log.unlink()
    if empty:
        log.touch()

    for command in (("run", "--goal", "x"), ("execution", "list"), ("init",)):
        assert "though events were recorded: there is" in refusal(cortex(folder, *command))

    assert doctored(folder)["home"]["state"] == "fail"
    assert log.exists() == empty
    assert not empty or log.stat().st_size == 0


def test_an_empty_log_in_a_new_home_is_begun(tmp_path: Path) -> None:
    cortex(tmp_path, "init")
    (tmp_path / ".cortex" / "log.db").touch()

    assert cortex(tmp_path, "run", "--goal", "x").returncode == 5
    assert cortex(tmp_path, "doctor").returncode == 0


@pytest.mark.parametrize("name", ["log.db", "projections.db", "snapshots.db", "blobs"])
def test_what_stands_in_the_place_of_a_file_is_said_at_once(folder: Path, name: str) -> None:
    path = folder / ".cortex" / name
    if name == "blobs":
        shutil.rmtree(path)
        path.touch()
    else:
        path.unlink()
        path.mkdir()

    said = refusal(cortex(folder, "run", "--goal", "x"))

    assert f".cortex/{name}: is not a " in said
    assert "move it away" in said


def test_a_second_runtime_on_a_home_is_told_who_has_it(folder: Path) -> None:
    log = EventLog.open(folder / ".cortex" / "log.db")

    said = refusal(cortex(folder, "run", "--goal", "x"))

    assert f"is held by process {os.getpid()}" in said
    assert cortex(folder, "execution", "list").returncode == 0
    assert f"process {os.getpid()} runs one" in doctored(folder)["runtime"]["found"]
    log.close()
    assert cortex(folder, "run", "--goal", "x").returncode == 5


def test_after_a_clean_end_there_is_no_write_ahead_file_to_lose(folder: Path) -> None:
    before = len(records(folder))

    cortex(folder, "run", "--goal", "x")

    assert not list((folder / ".cortex").glob("log.db-*"))
    assert len(records(folder)) > before


def killed(folder: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(folder / ".cortex")]
    assert subprocess.run(command, check=False).returncode == -9


def test_what_a_killed_runtime_recorded_is_there(folder: Path) -> None:
    killed(folder)

    assert "unforgotten" in cortex(folder, "execution", "list").stdout
    assert cortex(folder, "doctor").returncode == 0


def test_doctor_notices_that_a_killed_runtime_s_write_ahead_file_was_removed(folder: Path) -> None:
    before = len(records(folder))
    killed(folder)
    (folder / ".cortex" / "log.db-wal").unlink()

    found = doctored(folder)["projections"]

    assert found["state"] == "fail"
    assert f"and the log ends after {before}: " in found["found"]
    assert "restore log.db, with the log.db-wal beside it" in found["todo"]


def test_a_new_home_that_was_killed_and_parted_from_its_write_ahead_file_is_refused(
    tmp_path: Path,
) -> None:
    cortex(tmp_path, "init")
    killed(tmp_path)
    (tmp_path / ".cortex" / "log.db-wal").unlink()

    assert "holds no events, though" in refusal(cortex(tmp_path, "run", "--goal", "x"))


def test_a_log_that_was_exchanged_is_noticed(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with Runtime(Home.create(other / ".cortex"), components=[]) as runtime:
        client = runtime.client("tests")
        for number in range(400):  # more than the home that it is exchanged for has
            client.publish(ExecutionRequest(execution_id=f"other{number}", goal="x"))
    shutil.copy(other / ".cortex" / "log.db", folder / ".cortex" / "log.db")

    found = doctored(folder)

    assert found["projections"]["state"] == "fail"


def test_a_full_disk_is_said_and_what_was_recorded_stays(small_disk: Path) -> None:
    before = records(small_disk)
    with (small_disk / "ballast").open("wb", buffering=0) as ballast:
        try:
            while ballast.write(bytes(4_096)):
                pass
        except OSError:
            pass

    said = refusal(cortex(small_disk, "run", "--goal", "x"))

    assert "is full" in said
    assert doctored(small_disk)["disk"]["state"] == "fail"
    (small_disk / "ballast").unlink()
    assert cortex(small_disk, "run", "--goal", "x").returncode == 5
    assert records(small_disk)[: len(before)] == before


def test_a_home_that_may_not_be_written_can_be_read(small_disk: Path) -> None:
    listed = cortex(small_disk, "execution", "list").stdout
    remount = ["mount", "-o", "remount,{}", str(small_disk.parent)]
    subprocess.run([word.format("ro") for word in remount], check=True)

    said = refusal(cortex(small_disk, "run", "--goal", "x"))

    assert "read-only" in said.lower()
    assert cortex(small_disk, "execution", "list").stdout == listed
    assert doctored(small_disk)["log"]["state"] == "ok"
    assert doctored(small_disk)["home"]["state"] == "fail"
    subprocess.run([word.format("rw") for word in remount], check=True)
    assert cortex(small_disk, "run", "--goal", "x").returncode == 5


@pytest.mark.parametrize("name", ["my project", "проект «день» ☕", "a'b\"c?d#e%20f", "-n"])
def test_a_home_may_be_anywhere(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "say.yaml").write_text(ECHO)

    assert cortex(folder, "init", "--home", f"./{name} too").returncode == 0
    assert cortex(folder, "run", "./say.yaml", "--home", f"./{name} too").returncode == 0
    assert cortex(folder, "doctor", "--home", f"./{name} too").returncode == 0
    assert cortex(folder, "execution", "list", "--home", f"./{name} too").returncode == 0


def test_doctor_runs_no_code_of_a_home_unless_told_to(folder: Path) -> None:
    home = folder / ".cortex"
    (home / "config.toml").write_text('[[components]]\nuse = "mine.parts:Mine"\n')
    (home / "plugins" / "mine").mkdir()
    (home / "plugins" / "mine" / "__init__.py").write_text("open('imported', 'w')\n")
    (home / "plugins" / "mine" / "parts.py").write_text(
        "from cortex.runtime.kernel import Component\nclass Mine(Component): pass\n"
    )

    looked = doctored(folder)["components"]
    ran = (folder / "imported").exists()
    loaded = doctored(folder, "--load")["components"]

    assert looked["state"] == loaded["state"] == "ok"
    assert f"mine.parts:Mine would be loaded from {home}/plugins/mine/parts.py" in looked["found"]
    assert not ran
    assert (folder / "imported").exists()


@pytest.mark.parametrize("use", ["nowhere:Mine", "os.path.deeper:Mine", "json.nowhere:Mine"])
def test_doctor_misses_a_component_that_is_not_there(folder: Path, use: str) -> None:
    (folder / ".cortex" / "config.toml").write_text(f'[[components]]\nuse = "{use}"\n')

    found = doctored(folder)["components"]

    assert found["state"] == "fail"
    assert "there is no module" in found["found"]
    assert "cannot be imported" in refusal(cortex(folder, "run", "--goal", "x"))


def test_a_link_that_leads_to_itself_is_reported_and_the_rest_of_the_home_works(
    tmp_path: Path,
) -> None:
    home = Home.create(tmp_path / ".cortex")
    (home.processes / "say.yaml").write_text(ECHO)
    home.config_path.write_text('[handlers.shell]\nallow = ["echo"]\n')
    for place in ("processes/loop", "processes/loop.yaml", "knowledge/loop.md", "skills"):
        (home.path / place).symlink_to(Path(place).name)

    checked = cortex(tmp_path, "process", "validate")
    for file in ("processes/loop", "processes/loop.yaml"):
        assert f"{file}:1:1: error P014 this is a link that leads to itself" in checked.stdout
    assert checked.stdout.count("remove the link") == 2
    assert "say" in cortex(tmp_path, "process", "list").stdout
    assert cortex(tmp_path, "run", "say").returncode == 0
