"""Keys reach no program that was not given them, and nothing that Cortex keeps or shows."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

pytestmark = pytest.mark.wheel  # it is about the Pythons that Cortex starts

STARTED_IN_FULL = True  # it is about what happens between `exec` and the first import

CORTEX = Path(sys.executable).parent / "cortex"
STUCK_S = 120.0
# Root may read every process, whatever that says; without its capabilities it is one user of many.
POWERLESS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.getuid() == 0 else []

# By configuration alone: neither the names of the variables nor the values say what they are.
EMBEDDER, HOOK, PLUGIN = "correct-horse-battery-1", "tiger,lion&zebra 22", "mandarin/kumquat=7"
MODEL = "opensesame-opensesame"
GITHUB = "ghp_Zq3vX9tLw2Ub7Rk5Ns8Yd4Jm6Hc1Pf0GaEiO"
AWS_ID, AWS = "AKIAQ7ZJX4MWT2LKPR6D", "vJ8x/Qd3mZk+T5rWbN1yLgP7cUeF0sHaXo9iKt2R"
GUESSED = "0f2e4d6c8b0a1f3e5d7c9b"
KNOWN = {"EMB": EMBEDDER, "SIGN": HOOK, "PLUG": PLUGIN, "MOD": MODEL, "TEAM_TOKEN": GUESSED}
EVERY = (*KNOWN.values(), GITHUB, AWS_ID, AWS)
SHOWN = (*KNOWN.values(), f"token {GITHUB}", f"{AWS_ID} aws_secret_access_key={AWS}")

CONFIG = """\
[knowledge]
embedder = "endpoint"
model = "m"
base_url = "http://127.0.0.1:9/v1"
key_env = "EMB"
[models]
default = "extractive"
[[models.use]]
name = "away"
provider = "openai"
base_url = "http://127.0.0.1:9/v1"
key_env = "MOD"
window = 8000
[[components]]
use = "mine:Mine"
config = { hooks = [{ secret_env = "SIGN" }] }
[plugins.webhook]
key_env = "PLUG"
"""
MINE = """\
from cortex.bus.events import RuntimeStarted
from cortex.runtime.kernel import Component, on
class Mine(Component):
    @on(RuntimeStarted)
    def started(self, event, delivery):
        import structlog
        structlog.get_logger().error("started", beside="WORDS")
"""
LEAKING = """\
process: leaking
version: 1
steps:
  - { id: leak, action: shell, with: { run: [cat, leaked.txt] } }
  - { id: read, action: read_text, with: { path: leaked.txt } }
  - { id: fail, action: shell, with: { run: [sh, -c, "tail -n 3 leaked.txt >&2; cat leaked.txt"] } }
  - id: quote
    action: answer_question
    carry: [leak, read, fail]
    with: { question: Which keys are there? }
"""
SNOOPING = """\
process: snooping
version: 1
steps:
  - { id: snoop, action: shell, with: { run: [sh, snoop.sh] } }
"""
# What it found stands in a file, past everything that masks.
SNOOP = """\
env > found.env
for place in /proc/[0-9]*; do
  [ "$place" = "/proc/$$" ] && continue
  cat "$place/environ" >> found.proc 2>/dev/null && echo "$place" >> opened
  dd if="$place/mem" of=/dev/null bs=1 count=0 2>/dev/null && tr '\\0' ' ' < "$place/cmdline" >> mem
done
true
"""


class User:
    """A folder with a home, and commands on it by somebody who is not root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / ".cortex"
        self.env = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            "HOME": str(folder),
            "XDG_DATA_HOME": str(folder / "data"),
            **KNOWN,
        }

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*POWERLESS, str(CORTEX), *args],
            cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=STUCK_S,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def said(self, *args: str) -> str:
        done = self.run(*args)
        assert done.returncode == 0, done.stderr + done.stdout
        return done.stdout + done.stderr

    def document(self, *args: str) -> Any:
        return json.loads(self.run(*args, "--json").stdout)

    def begin(self, *args: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [*POWERLESS, str(CORTEX), *args],
            cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def kept(self) -> Iterator[tuple[Path, bytes]]:
        """All that the home keeps, blobs as what they hold."""
        for path in sorted(self.home.rglob("*")):
            if not path.is_file() or (self.home / "plugins") in path.parents:
                continue
            data = path.read_bytes()
            if path.is_relative_to(self.home / "blobs"):
                data = zstandard.ZstdDecompressor().decompress(data)
            yield path, data


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    made = User(tmp_path)
    made.said("init")
    made.write(".cortex/config.toml", CONFIG)
    made.write(".cortex/plugins/mine.py", MINE.replace("WORDS", " ".join(SHOWN)))
    try:
        yield made
    finally:
        made.run("down", "--kill")


def test_what_leaks_into_a_steps_output_is_nowhere_in_clear(user: User) -> None:
    user.write("leaked.txt", "\n".join(["before", *SHOWN, json.dumps(SHOWN), "after", ""]))
    user.write(".cortex/processes/leaking.yaml", LEAKING)

    user.said("up", "--background")
    ran = user.run("run", "leaking")
    (row,) = user.document("execution", "list")
    shown = [
        ran.stdout + ran.stderr,
        *(user.said(*words, row["id"]) for words in (("trace", "--full"), ("execution", "show"))),
        *(user.said("events", "query", "-n", "1000", *more) for more in ((), ("--json",))),
        *(user.said("prompt", "show", p["prompt"]) for p in user.document("prompt", "list")),
    ]
    user.said("down")

    assert row["status"] == "completed", ran.stderr
    assert any("before" in text and "after" in text for text in shown)  # the rest is there
    for secret in EVERY:
        assert not any(secret in text for text in shown), secret
        assert [path for path, data in user.kept() if secret.encode() in data] == [], secret


def test_a_program_finds_no_key_in_its_environment_or_in_that_of_any_process(user: User) -> None:
    user.write("snoop.sh", SNOOP)
    user.write(".cortex/processes/snooping.yaml", SNOOPING)

    for hub in (False, True):
        if hub:
            user.said("up", "--background")
        user.said("run", "snooping")
        found = b"".join((user.folder / f"found.{name}").read_bytes() for name in ("env", "proc"))

        assert b"HOME=" in found
        assert [name for name, value in KNOWN.items() if value.encode() in found] == []
        memory = user.folder / "mem"
        # A process that has just begun holds no key and is open; the command and the hub are not.
        assert not memory.exists() or b"/bin/cortex" not in memory.read_bytes()


def test_every_process_of_cortex_is_closed_to_its_neighbours(user: User) -> None:
    hub = user.document("up", "--background")["pid"]
    worker = user.begin("worker", "cortex.actors.gates:FileExists", "--name", "ann")
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline().startswith(b"ready")
        user.write("notes.txt", "A key is under the mat.")
        user.said("run", "answer_from_notes", "-i", "notes=notes.txt", "-i", "question=Where?")
        own = [str(hub), str(worker.pid), *_children_of(hub)]
        found = _opened(own)
    finally:
        worker.terminate()
        worker.communicate()

    assert len(own) >= 3  # the hub, the worker, and a component in a process of its own
    assert found == []


def test_who_debugs_may_attach(user: User) -> None:
    user.env["CORTEX_DEBUGGABLE"] = "1"

    hub = str(user.document("up", "--background")["pid"])

    assert _opened([hub]) == [hub]


def test_a_program_that_uses_cortex_as_a_library_is_left_as_it_is(user: User) -> None:
    code = (
        "import sys; from cortex.runtime.kernel import Runtime\n"
        "with Runtime(components=[]): print('in', flush=True); sys.stdin.read()"
    )
    program = subprocess.Popen(
        [*POWERLESS, sys.executable, "-I", "-c", code],
        cwd=user.folder, env=user.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert program.stdout is not None
    assert program.stdout.readline() == b"in\n"

    found = _opened([str(program.pid)])

    program.communicate()
    assert found == [str(program.pid)]


OPENED = """
import sys
for pid in sys.argv[1:]:
    try:
        open(f"/proc/{pid}/environ", "rb").read()
    except OSError:
        continue
    print(pid)
"""


def _opened(pids: list[str]) -> list[str]:
    """Those of *pids* whose environment a program of the same user reads."""
    command = [*POWERLESS, sys.executable, "-I", "-c", OPENED, *pids]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def _children_of(pid: int) -> list[str]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [child for task in tasks for child in task.read_text().split()]
