"""A home with everything around it that may be killed; `chaos_effects.py` kills it."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from cortex.runtime.kernel import Home
from cortex.runtime.serving import found

from ..attacks.effects_world import CORTEX, PROGRAM, alive, descendants
from ..installed_packages import install
from ..waiting import until
from .chaos_parts import EACH

HERE = Path(__file__).parent
STUCK_S = 120.0

TOOL = "action: reply, description: Mark it, tools: [marks.*]"
RUN = "$PYTHON, $PROGRAM, '$EACH/${execution.id}', '${inputs.seconds}'"
# Kind of execution: the process, and what its one step is made of.
STEPS = {
    "once": ("chaos_once", "action: mark, with: { seconds: '${inputs.seconds}' }"),
    "far": ("chaos_far", "action: far, with: { seconds: '${inputs.seconds}' }"),
    "plug": ("chaos_plug", "action: plug, with: { seconds: '${inputs.seconds}' }"),
    "read": ("chaos_read", "action: look, with: { seconds: '${inputs.seconds}' }"),
    "stored": ("chaos_store", "action: store, with: { seconds: '${inputs.seconds}' }"),
    "tool": ("chaos_tool", f"{TOOL}, with: {{ seconds: '${{inputs.seconds}}' }}"),
    "program": ("chaos_program", f"action: shell, with: {{ run: [{RUN}] }}"),
    "seen": ("chaos_seen", "action: mark, with: { seconds: 0.3 }"),
    "tick": ("chaos_tick", "action: mark, with: { seconds: 0.3 }"),
}
FILES = "trigger: { type: file, paths: inbox/*.txt, changes: [added] }\ninputs: { path: string }\n"
MINUTES = "trigger: { type: schedule, cron: '* * * * *', missed: all }\n"
INPUTS = {"seen": FILES, "tick": MINUTES, "program": "inputs: { seconds: string }\n"}
CONFIG = """
[[components]]
use = "chaos_parts:Mark"

[[components]]
use = "chaos_parts:Look"

[[components]]
use = "chaos_parts:Store"

[[components]]
use = "chaos_parts:Reply"

[[components]]
use = "chaos_parts:Thinker"

[[tools.mcp]]
name = "marks"
command = ["{python}", "{server}", "{each}"]

[models]
default = "thinker"

[plugins.chaos]
folder = "{each}"
"""


class ChaosWorld:
    """The home, and the processes around it."""

    def __init__(self, folder: Path, durability: str) -> None:
        self.folder, self.work = folder, folder / "work"
        self.home = Home.create(self.work / ".cortex")
        self.each = self.work / EACH
        self.inbox = self.work / "inbox"
        for made in (self.each, self.inbox, folder / "site"):
            made.mkdir(parents=True)
        self.env = {**os.environ, "XDG_DATA_HOME": str(folder / "data")}
        self.env["PYTHONPATH"] = str(folder / "site")
        for name in ("CORTEX_HOME", "CORTEX_DEBUG"):
            self.env.pop(name, None)
        self.synced = folder / "synced"  # up to where the log was
        self._noting = (sys.executable, str(HERE / "chaos_command.py"), str(self.synced))
        self.hub: subprocess.Popen[bytes] | None = None
        self.beside: dict[str, subprocess.Popen[bytes]] = {}  # worker, watcher, follower, runner
        self._write(durability)

    def _write(self, durability: str) -> None:
        site, parts = self.folder / "site", (HERE / "chaos_parts.py").read_text()
        (self.home.plugins / "chaos_parts.py").write_text(parts)
        (self.work / "chaos_parts.py").write_text(parts)
        (site / "chaos_plugin.py").write_text((HERE / "chaos_plugin.py").read_text())
        install(site, "cortex-chaos", plugins="chaos = chaos_plugin:PLUGIN")
        program = self.folder / "program.py"
        program.write_text(PROGRAM)
        config = self.home.config_path.read_text()
        assert 'durability = "full"' in config
        config = config.replace('durability = "full"', f'durability = "{durability}"')
        said = {"python": sys.executable, "server": HERE / "chaos_server.py", "each": self.each}
        self.home.config_path.write_text(config + CONFIG.format(**said))
        for kind, (name, step) in STEPS.items():
            inputs = INPUTS.get(kind, "inputs: { seconds: number }\n")
            source = f"process: {name}\nversion: 1\n{inputs}steps:\n  - {{ id: act, {step} }}\n"
            for word, value in (("PYTHON", sys.executable), ("PROGRAM", program)):
                source = source.replace(f"${word}", f"'{value}'")
            source = source.replace("$EACH", str(self.each))
            (self.home.processes / f"{name}.yaml").write_text(source)

    @property
    def pid(self) -> int:
        """The process of the hub."""
        return self.hub.pid if self.hub else 0

    def up(self) -> None:
        """Start the hub; it listens when this returns."""
        self.hub = self._begin("hub", *self._noting, "up")
        until(self._listens)

    def _listens(self) -> bool:
        assert self.hub is not None
        assert self.hub.poll() is None, (self.folder / "hub.log").read_text()[-2_000:]
        note = found(self.home)
        return note is not None and note.pid in (self.hub.pid, 0)

    def down(self) -> None:
        """End the hub in good order."""
        assert self.hub is not None
        self.hub.send_signal(signal.SIGTERM)
        assert self.hub.wait(STUCK_S) == 0, (self.folder / "hub.log").read_text()[-2_000:]

    def put_up(self, name: str) -> None:
        """Start who stands beside the hub: "worker", "watcher", "follower"."""
        if name == "follower":
            script, file = str(HERE / "chaos_follower.py"), str(self.folder / "followed")
            self.beside[name] = self._begin(name, sys.executable, script, str(self.home.path), file)
            return
        component = {"worker": "Far", "watcher": "Watch"}[name]
        words = ("worker", "--path", ".", "--name", name, f"chaos_parts:{component}")
        self.beside[name] = self._begin(name, str(CORTEX), *words)
        log = self.folder / f"{name}.log"
        until(lambda: "ready" in log.read_text() or self.beside[name].poll() is not None)

    def runs(self, process: str, seconds: float) -> None:
        """Start `cortex run`, and wait until it tells of the execution."""
        words = (*self._noting, "run", process, "-i", f"seconds={seconds}")
        self.beside["runner"] = runner = self._begin("runner", *words)
        log = self.folder / "runner.log"
        until(lambda: runner.poll() is not None or log.stat().st_size)

    def _begin(self, name: str, *words: str) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                words, cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True,
            )  # fmt: skip

    def kill(self, process: "subprocess.Popen[bytes]", *, whole: bool = False) -> None:
        """SIGKILL a process; with *whole* all that it started, too, as the services' unit does."""
        doomed = [process.pid, *(descendants(process.pid) if whole else ())]
        for pid in doomed:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
        until(lambda: not any(map(alive, doomed)))

    def below(self, word: str) -> list[int]:
        """The processes that the hub started with that word among theirs."""
        return [pid for pid in descendants(self.pid) if word in command_of(pid)]

    def close(self) -> None:
        """End all that was started."""
        for process in (*self.beside.values(), *([self.hub] if self.hub else [])):
            if process.poll() is None:
                self.kill(process, whole=True)

    def left_behind(self) -> list[str]:
        """The command lines of processes of this world that are still there."""
        everybody = (int(entry.name) for entry in Path("/proc").glob("[0-9]*"))
        said = [command_of(pid) for pid in everybody if alive(pid)]
        return [each for each in said if str(self.folder) in each]


def command_of(pid: int) -> str:
    """The words of a process; none of one that is gone."""
    with suppress(OSError):
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    return ""
