"""A log, key, head or process that does not fit: one clear line each, and nothing is changed."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from cortex.bus import Batch, Row, decode, encode
from cortex.runtime.log import EventLog

from .command_lines import CORTEX, environment

pytestmark = pytest.mark.wheel

SAY = "process: say\nversion: 1\nsteps:\n  - { id: it, action: shell, with: { run: echo hi } }\n"
LACKING = SAY.replace("action: shell", "action: read_tea_leaves")
# Files beside the log that a reader, or a start that is refused, may touch.
BESIDE = ("-wal", "-shm", ".lock", "up.log")


class Desk(NamedTuple):
    """A folder with a home in which a process ran, and a signed head of its log."""

    folder: Path
    key: str

    @property
    def home(self) -> Path:
        return self.folder / ".cortex"

    def call(self, *args: str, **env: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(CORTEX), *args], cwd=self.folder, env=environment(self.folder, **env),
            capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def state(self) -> Mapping[str, str]:
        """The digest of every file of the home."""
        files = (f for f in sorted(self.home.rglob("*")) if f.is_file())
        return {
            str(f.relative_to(self.home)): sha256(f.read_bytes()).hexdigest()
            for f in files if not f.name.endswith(BESIDE)
        }  # fmt: skip

    def execution(self) -> str:
        found: str = json.loads(self.call("execution", "list", "--json").stdout)[0]["id"]
        return found


def made(folder: Path) -> Desk:
    folder.mkdir()
    (folder / "say.yaml").write_text(SAY)
    (folder / "lacking.yaml").write_text(LACKING)
    desk = Desk(folder, "")
    for args in (("init",), ("run", "say.yaml", "-q"), ("audit", "key", "new", folder.name)):
        done = desk.call(*args)
        assert done.returncode == 0, done
    assert desk.call("audit", "sign", "--out", "head").returncode == 0
    for args in (("prove", "1", "--out", "proof"), ("record", "1", "record")):
        assert desk.call("audit", *args).returncode == 0
    return Desk(folder, done.stdout.strip())


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """Another log, with another key."""
    return made(tmp_path_factory.mktemp("other") / "other")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return made(tmp_path_factory.mktemp("kept") / "own")


@pytest.fixture
def desk(kept: Desk) -> Desk:
    """The same for every test: what is changed in its log is put back."""
    copy = kept.folder.parent / "copy"
    if not copy.exists():
        shutil.copytree(kept.home, copy, ignore=shutil.ignore_patterns("*.sock"))
    for file in kept.home.rglob("*"):
        if file.is_file() and not (copy / file.relative_to(kept.home)).exists():
            file.unlink()
    # In place: a folder that is another one is not trusted.
    shutil.copytree(copy, kept.home, dirs_exist_ok=True)
    return kept


def newer_home(desk: Desk) -> None:
    (desk.home / "version").write_text("99\n")


def newer_log(desk: Desk) -> None:
    with closing(sqlite3.connect(desk.home / "log.db")) as connection, connection:
        connection.execute("update meta set value = '99' where name = 'format'")


def with_event(**fields: Any) -> Callable[[Desk], None]:
    """Append a copy of the step's request that a newer version wrote; its leaf hash is right."""

    def append(desk: Desk) -> None:
        with closing(EventLog.open(desk.home / "log.db")) as log:
            records = [decode(each) for each in log.read(0, 10_000, 10**9)]
            asked = next(each for each in records if each.topic == "step.execute")
            last, own = records[-1], [each for each in records if each.stream == asked.stream]
            new = replace(
                asked, position=last.position + 1, version=own[-1].version + 1, id=os.urandom(16),
                time_ns=last.time_ns + 1, **fields,
            )  # fmt: skip
            row = Row(new.position, new.stream, new.version, encode(new))
            log.write(Batch(rows=[row]))

    return append


READS = (("execution", "list"), ("trace",), ("debug",), ("replay",), ("export", "-"))
ACTS = (("run", "say.yaml"), ("audit", "sign"), ("audit", "prove", "1"), ("up", "--background"))
NEWER = {
    "home": (newer_home, (*READS, ("audit", "verify"), *ACTS), "upgrade Cortex; nothing was"),
    "log": (newer_log, (*READS, *ACTS), "has format 99 and this version reads up to 3: upgrade"),
    "event": (with_event(schema=99), READS[:3], "has schema 99 and this version reads 1: upgrade"),
    "record": (with_event(format=3), READS[:3], "has format 3 and this version reads up to 2: upg"),
}  # fmt: skip


@pytest.mark.parametrize("what", NEWER)
def test_what_a_newer_version_wrote_is_named_and_stays_as_it_is(desk: Desk, what: str) -> None:
    spoil, commands, said = NEWER[what]
    spoil(desk)
    before = desk.state()

    for command in commands:
        done = desk.call(*command)

        assert done.returncode == 4, (command, done)
        assert said in done.stderr, (command, done)
        assert done.stderr.count("\n") == 1, (command, done)
        assert desk.state() == before, command


def test_the_verifier_says_that_a_log_is_newer_than_itself(desk: Desk) -> None:
    newer_log(desk)
    before = desk.state()

    done = desk.call("audit", "verify")

    assert done.returncode == 2
    assert "its format is 99, not (1, 2, 3)" in one_line(done)
    assert desk.state() == before


def test_a_wrong_key_is_named(desk: Desk, other: Desk) -> None:
    before = desk.state()
    wrong = "none of the keys that were given signed this head"
    verifier = Path(str(sys.modules["cortex.runtime"].__file__)).parent / "audit" / "verify.py"

    for command, code, said in (
        (("audit", "verify", "--head", "head", "--key", other.key), 1, wrong),
        (("audit", "verify", "--head", "head", "--key", "nonsense"), 2, "is no public key"),
        (("audit", "verify", "--head", "head", "--key", desk.key), 0, "all of it holds"),
        (("audit", "key", "new", "a/b c\n"), 1, "name"),
    ):
        done = desk.call(*command)
        assert done.returncode == code, (command, done)
        assert said in one_line(done), (command, done)
    alone = subprocess.run(
        [sys.executable, str(verifier), "--proof", "proof", "--record", "record",
         "--key", other.key],
        cwd=desk.folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (alone.returncode, alone.stderr) == (1, "")
    assert wrong in one_line(alone)
    assert desk.state() == before


def test_a_head_and_a_proof_of_another_log_are_named(desk: Desk, other: Desk) -> None:
    before = desk.state()
    head = ("--head", str(other.folder / "head"), "--key", other.key)

    done = desk.call("audit", "verify", *head)

    assert done.returncode == 1
    assert "the signed head is of cortex.local/" in one_line(done)
    assert ", the log is cortex.local/" in done.stdout + done.stderr
    assert desk.state() == before


def test_a_replay_with_a_process_whose_handler_is_nowhere_is_refused(desk: Desk) -> None:
    execution = desk.execution()
    before = desk.state()

    done = desk.call("replay", execution, "--process", "lacking.yaml")

    assert done.returncode == 1
    assert "no component serves the action `read_tea_leaves`" in one_line(done)
    assert desk.state() == before


def one_line(done: "subprocess.CompletedProcess[str]") -> str:
    """What a command said, which is one line."""
    said = done.stdout + done.stderr
    assert said.count("\n") == 1, said
    return said
