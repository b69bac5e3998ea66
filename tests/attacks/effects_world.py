"""A home whose hub, workers, programs and tool servers are killed in the middle of an effect.

Each effect appends a line to one file outside the home: what may happen once leaves one line,
however often its hub, worker or server is killed, unless a person says that it is to be done again.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from cortex.bus.events import ExecutionRequest, ProcessSubmit
from cortex.runtime.executions import Execution, execution_of
from cortex.runtime.kernel import Home
from cortex.runtime.log import BlobStore
from cortex.runtime.serving import connected, found

from ..waiting import until as until

CORTEX = Path(sys.executable).parent / "cortex"
STUCK_S = 120.0
SERVER = Path(__file__).with_name("effects_server.py")
PARTS = Path(__file__).with_name("effects_parts.py")
# Takes its time, but no longer than until the test says that it is over.
PROGRAM = """
import os, sys, time
with open(sys.argv[1], "a") as file:
    file.write("mark\\n")
ends = time.monotonic() + float(sys.argv[2])
while time.monotonic() < ends and not os.path.exists(sys.argv[1] + ".over"):
    time.sleep(0.01)
"""
PROCESSES = {
    "act": "inputs: {{ seconds: {{ type: number }} }}\nsteps:\n"
    "  - {{ id: act, action: mark, with: {given} }}\n",
    "again": "inputs: {{ seconds: {{ type: number }} }}\nsteps:\n"
    "  - id: act\n    action: mark\n    timeout: 1s\n    retry: {{ attempts: 3, backoff_s: 0 }}\n"
    "    with: {given}\n",
    "read": "inputs: {{ seconds: {{ type: number }} }}\nsteps:\n"
    "  - {{ id: look, action: look, with: {given} }}\n",
    "far": "inputs: {{ seconds: {{ type: number }} }}\nsteps:\n"
    "  - {{ id: act, action: far, with: {given} }}\n",
    "program": "inputs: {{ seconds: {{ type: string }} }}\nsteps:\n  - id: act\n    action: shell\n"
    "    with: {{ run: ['{python}', '{program}', '{marks}', '${{inputs.seconds}}'] }}\n",
    "tell": "inputs: {{ seconds: {{ type: string }} }}\nsteps:\n  - id: act\n"
    "    action: send_notification\n    with:\n      message: it is done\n"
    "      command: ['{python}', '{program}', '{marks}', '${{inputs.seconds}}']\n",
    "think": "inputs: {{ seconds: {{ type: number }} }}\nsteps:\n  - id: act\n    action: reply\n"
    "    description: Mark it\n    tools: [slowly.*]\n"
    "    with: {{ seconds: '${{inputs.seconds}}' }}\n",
}
CONFIG = """
[models]
default = "thinker"

[[components]]
use = "effects_parts:Mark"

[[components]]
use = "effects_parts:Look"

[[components]]
use = "effects_parts:Store"

[[components]]
use = "effects_parts:Reply"

[[components]]
use = "effects_parts:Thinker"

[[tools.mcp]]
name = "slowly"
command = ["{python}", "{server}", "{marks}"]
{more}
"""


class EffectsWorld:
    """A folder with a home, and what its executions left in the file outside."""

    def __init__(self, folder: Path, more: str = "") -> None:
        self.folder, self.marks = folder, folder / "marks"
        self.home = Home.create(folder / "work" / ".cortex")
        self.env = {**os.environ, "XDG_DATA_HOME": str(folder / "data")}
        for name in ("CORTEX_HOME", "CORTEX_DEBUG"):
            self.env.pop(name, None)
        said: dict[str, object] = {"python": sys.executable, "server": SERVER, "marks": self.marks}
        said["given"] = f"{{ file: '{self.marks}', seconds: '${{inputs.seconds}}' }}"
        said["program"] = folder / "program.py"
        (folder / "program.py").write_text(PROGRAM)
        for name, body in PROCESSES.items():
            text = f"process: {name}\nversion: 1\n{body.format(**said)}"
            (self.home.processes / f"{name}.yaml").write_text(text)
        (self.home.plugins / "effects_parts.py").write_text(PARTS.read_text())
        (folder / "work" / "effects_parts.py").write_text(PARTS.read_text())
        with (self.home.path / "config.toml").open("a") as config:
            config.write(CONFIG.format(**said, more=more))
        self.started: list[subprocess.Popen[str]] = []
        self.pid = 0  # of the hub

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        """A command, to its end."""
        return subprocess.run(
            [str(CORTEX), *args],
            cwd=self.folder / "work", env=self.env, capture_output=True, text=True,
            timeout=STUCK_S, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def up(self) -> int:
        """Start the hub in the background; its process comes back."""
        done = self.run("up", "--background", "--json")
        assert done.returncode == 0, done.stderr
        self.pid = json.loads(done.stdout)["pid"]
        return self.pid

    def worker(self, component: str) -> "subprocess.Popen[str]":
        """A worker that is ready."""
        process = subprocess.Popen(
            [str(CORTEX), "worker", "--path", ".", component],
            cwd=self.folder / "work", env=self.env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready"), process.communicate()
        return process

    def kill(self, *, whole: bool = False) -> None:
        """SIGKILL the hub; with *whole* all that it started, too, as the services' unit does."""
        doomed = [self.pid, *(descendants(self.pid) if whole else ())]
        for pid in doomed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: not any(map(alive, doomed)))

    def begin(self, process: str, **inputs: Any) -> str:
        """Ask for an execution on the hub that is up."""
        source = (self.home.processes / f"{process}.yaml").read_bytes()
        with connected(self.home) as client:
            client.publish(ProcessSubmit(sources={process: BlobStore(self.home.blobs).put(source)}))
            stream = f"process/{process}"
            until(lambda: any("compiled" in r.topic for r in client.read_stream(stream)))
            execution_id = client.new_id()
            client.publish(
                ExecutionRequest(
                    execution_id=execution_id,
                    process=process,
                    inputs=inputs,
                    workspace=str(self.folder / "work"),
                )
            )
        return execution_id

    def state(self, execution_id: str) -> Execution:
        """An execution on the hub that is up."""
        with connected(self.home) as client:
            return execution_of(client, execution_id)

    def until_status(self, execution_id: str, *statuses: str) -> Execution:
        """Wait until an execution is in one of *statuses*."""

        def there() -> Execution | None:
            state = self.state(execution_id)
            return state if state.status in statuses else None

        state: Execution = until(there)
        return state

    def until_marked(self, times: int = 1) -> None:
        """Wait until an effect has left its line: it is under way."""
        until(lambda: self.count() >= times)

    def end_program(self) -> None:
        """Let the program that is under way end."""
        Path(f"{self.marks}.over").touch()

    def count(self) -> int:
        """How often an effect has begun."""
        with suppress(FileNotFoundError):
            return len(self.marks.read_text().splitlines())
        return 0

    def topics(self, execution_id: str) -> list[str]:
        """What was said of an execution."""
        with connected(self.home) as client:
            return [record.topic for record in client.read_stream(f"execution/{execution_id}")]

    def shown(self, execution_id: str) -> Mapping[str, Any]:
        """What `execution show --json` says."""
        done = self.run("execution", "show", execution_id, "--json")
        assert done.returncode == 0, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def close(self) -> None:
        """End all that was started."""
        for process in self.started:
            process.kill()
            process.communicate()
        if found(self.home):
            self.run("down", "--kill")


def descendants(pid: int) -> list[int]:
    """The processes that *pid* started, and that those started, whatever their session."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            _, _, rest = (entry / "stat").read_text().rpartition(") ")
            parents.setdefault(int(rest.split()[1]), []).append(int(entry.name))
    below = parents.get(pid, [])
    return [*below, *(each for child in below for each in descendants(child))]


def alive(pid: int) -> bool:
    """Whether a process is there, and no zombie whose threads have all ended.

    Until they have, what it locked stays locked.
    """
    try:
        _, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")
        return not rest.startswith("Z") or len(list(Path(f"/proc/{pid}/task").iterdir())) > 1
    except OSError:
        return False


def opened(folder: Path) -> Iterator[EffectsWorld]:
    """A world for one test."""
    world = EffectsWorld(folder)
    try:
        yield world
    finally:
        world.close()
