"""A folder with a home on which a hub is up, for tests from end to end."""

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cortex.runtime.kernel import Home
from cortex.runtime.serving import connected, found

from ..installed_packages import install
from ..waiting import held_by
from ..waiting import until as until
from .command_lines import CORTEX, run_many

STUCK_S = 120.0
STEPS = '''
import msgspec, os, time
from collections.abc import Iterator
from pathlib import Path
from cortex.bus.events import StepCompleted, StepExecute
from cortex.runtime.kernel import Component, Delivery, Serves, on


def done(event: StepExecute, text: str) -> Iterator[StepCompleted]:
    result = {"text": text}
    yield StepCompleted(execution_id=event.execution_id, step_id=event.step_id, result=result)


class Greeting(msgspec.Struct):
    who: str = ""


class Greet(Component):
    workers = 2
    serves = (Serves("action", "greet", Greeting, effect="none"),)

    @on(StepExecute, where={"action": "greet"})
    def greet(self, event: StepExecute, delivery: Delivery) -> Iterator[StepCompleted]:
        yield from done(event, "hello")


class Far(Component):
    workers = 1
    serves = (Serves("action", "far", effect="none"),)

    @on(StepExecute, where={"action": "far"})
    def far(self, event: StepExecute, delivery: Delivery) -> Iterator[StepCompleted]:
        yield from done(event, "from afar")


class Hold(Component):
    """The first worker that gets the step says who it is and holds it until it is killed."""

    workers = 1
    lease_s = 0.5
    serves = (Serves("action", "hold", effect="idempotent"),)

    @on(StepExecute, where={"action": "hold"})
    def hold(self, event: StepExecute, delivery: Delivery) -> Iterator[StepCompleted]:
        try:
            with open("held", "x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            yield from done(event, f"attempt {delivery.attempt}")
        else:
            time.sleep(600)
'''
PROCESSES = {
    "far": "steps:\n  - { id: there, action: far }\n",
    "echo": "trigger: { type: event, match: { source: test } }\nsteps:\n"
    "  - { id: say, action: shell, with: { run: echo one } }\n",
    "greeting": "steps:\n  - { id: hello, action: greet }\n",
    "holding": "steps:\n  - { id: held, action: hold }\n",
    # Its first step lasts until the test has it end: see `Desk.wake`.
    "sleeping": f"steps:\n  - {{ id: nap, action: shell, with: {{ run: {held_by('awake')} }} }}\n"
    "  - { id: rest, action: shell, with: { run: echo two } }\n",
    "inbox": "trigger: { type: file, paths: inbox/*.csv, changes: [added, modified] }\n"
    "inputs: { path: string }\nsteps:\n"
    "  - { id: say, action: shell, with: { run: [echo, '${inputs.path}'] } }\n",
}


class Desk:
    """A folder with a home on which a hub is up, and processes that use it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = Home.create(folder / ".cortex")
        self.env = {**os.environ, "XDG_DATA_HOME": str(folder / "data")}
        for name in ("CORTEX_HOME", "CORTEX_DEBUG"):
            self.env.pop(name, None)
        (folder / "steps.py").write_text(STEPS)
        for name, body in PROCESSES.items():
            (self.home.processes / f"{name}.yaml").write_text(
                f"process: {name}\nversion: 1\n{body}"
            )
        (folder / "inbox").mkdir()
        self.workers: list[subprocess.Popen[str]] = []
        self.up: dict[str, Any] = {}  # what the hub said when it came up

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(CORTEX), *args],
            cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=STUCK_S,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def all(self, *calls: Sequence[str]) -> list[subprocess.CompletedProcess[str]]:
        """As `run` of each of *calls*, one after the other, by one process."""
        ended = run_many(self.folder, self.env, calls)
        return [
            subprocess.CompletedProcess(list(call), *each)
            for call, each in zip(calls, ended, strict=True)
        ]

    def many(self, *calls: Sequence[str]) -> list[tuple[int, Any, str]]:
        """Exit code, document and standard error of each of *calls*, one after the other."""
        ended = run_many(self.folder, self.env, ([*call, "--json"] for call in calls))
        return [(code, json.loads(out), err) for code, out, err in ended]

    def begin(self, *args: str) -> "subprocess.Popen[str]":
        """A command that goes on."""
        process = subprocess.Popen(
            [str(CORTEX), *args], cwd=self.folder, env=self.env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.workers.append(process)
        return process

    def worker(self, *args: str) -> "subprocess.Popen[str]":
        """A worker that is ready."""
        process = self.begin("worker", "--path", ".", *args)
        assert process.stdout is not None
        assert process.stdout.readline().startswith("ready"), process.communicate()
        return process

    def install(self, name: str, code: str) -> None:
        """Install the plugin *name*, whose manifest is PLUGIN in *code*, beside Cortex."""
        site = self.folder / "site"
        install(site, name, plugins=f"{name} = {name}:PLUGIN")
        (site / f"{name}.py").write_text(code)
        self.env["PYTHONPATH"] = str(site)

    def serve(self) -> None:
        """Have a hub up in the foreground; in the background it leaves out PYTHONPATH."""
        self.begin("up")
        until(lambda: found(self.home))

    def end(self) -> None:
        """End what it began, and the hub."""
        for process in self.workers:
            process.kill()
            process.communicate()
        if found(self.home):
            self.run("down", "--kill")

    def run_sleeping(self, *args: str) -> "subprocess.Popen[str]":
        """A command that runs `sleeping` and follows it: its first step is under way."""
        (self.folder / "awake").unlink(missing_ok=True)
        before = self.topics().count("step.execute")
        process = self.begin("run", "sleeping", *args)
        until(lambda: self.topics().count("step.execute") > before)
        return process

    def wake(self) -> None:
        """Let the first step of `sleeping` end."""
        (self.folder / "awake").touch()

    def topics(self) -> list[str]:
        with connected(self.home) as client:
            return [record.topic for record in client.read()]


@contextmanager
def opened(folder: Path) -> Iterator[Desk]:
    """A `Desk` in *folder*; nothing that it began is left behind."""
    desk = Desk(folder)
    try:
        yield desk
    finally:
        desk.end()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with opened(tmp_path_factory.mktemp("up")) as desk:
        desk.up = json.loads(up(desk, "--json").stdout)
        yield desk


def up(desk: Desk, *more: str) -> subprocess.CompletedProcess[str]:
    listen = ("--listen", "tls+tcp://127.0.0.1:0", "--listen", "tcp://127.0.0.1:0", "--insecure")
    done = desk.run("up", "--background", *listen, *more)
    assert done.returncode == 0, done.stderr
    return done
