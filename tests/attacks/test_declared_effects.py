"""What is declared of an effect decides what a kill leads to: a repetition, or a question."""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from ..waiting import until
from . import effects_world
from .effects_world import EffectsWorld

TELLS = """
process: tells
version: 1
steps:
  - id: tell
    action: send_notification
    with: {{ message: It is green, webhook: '{url}'{effect} }}
"""
RUNS = """
process: runs
version: 1
steps:
  - id: run
    action: shell
    with: {{ run: ['{python}', '{program}', '{keys}'] }}
"""
# Writes the key that it runs under; the first run then waits to be killed.
PROGRAM = """
import os, sys, time
with open(sys.argv[1], "a+") as file:
    file.write(os.environ["CORTEX_EFFECT_KEY"] + "\\n")
    file.flush()
    file.seek(0)
    first = len(file.readlines()) == 1
if first:
    time.sleep(600)
"""


class Receiver(ThreadingHTTPServer):
    """A web hook that takes each post, and leaves the first ones without an answer."""

    daemon_threads = True

    def __init__(self, unanswered: int) -> None:
        super().__init__(("127.0.0.1", 0), _Hook)
        self.unanswered = unanswered
        self.keys: list[str] = []
        self.over = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}/hook"


class _Hook(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:  # as the library calls it
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.keys.append(self.headers["Idempotency-Key"])
        if len(self.server.keys) <= self.server.unanswered:
            self.server.over.wait()
            return
        self.send_response(204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its name there
        """Tests are quiet."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[EffectsWorld]:
    yield from effects_world.opened(tmp_path)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver(unanswered=1) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.over.set()
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("declared", ["once", "idempotent"])
def test_a_post_that_was_taken_when_its_hub_was_killed(
    world: EffectsWorld, receiver: Receiver, declared: str
) -> None:
    effect = ", effect: idempotent" if declared == "idempotent" else ""
    text = TELLS.format(url=receiver.url, effect=effect)
    (world.home.processes / "tells.yaml").write_text(text)
    world.up()
    execution_id = world.begin("tells")
    until(lambda: receiver.keys)
    world.kill(whole=True)
    world.up()

    state = world.until_status(execution_id, "paused", "completed", "halted", "failed")

    if declared == "idempotent":
        assert state.status == "completed"
        assert len(receiver.keys) == 2
        assert len(set(receiver.keys)) == 1
        return
    assert (state.status, state.reason, len(receiver.keys)) == ("paused", "effect", 1)
    told = {"by": "webhook", "status": 204, "key": receiver.keys[0]}
    done = world.run("execution", "resume", execution_id, "--it-happened", json.dumps(told))
    assert done.returncode == 0, done.stdout + done.stderr
    assert world.state(execution_id).status == "completed"
    assert len(receiver.keys) == 1


@pytest.mark.parametrize("declared", ["once", "idempotent"])
def test_a_program_that_was_killed_with_its_hub(world: EffectsWorld, declared: str) -> None:
    program, keys = world.folder / "keyed.py", world.folder / "keys"
    program.write_text(PROGRAM)
    text = RUNS.format(python=sys.executable, program=program, keys=keys)
    (world.home.processes / "runs.yaml").write_text(text)
    with (world.home.path / "config.toml").open("a") as config:
        config.write(f'\n[handlers.shell]\neffect = "{declared}"\n')
    world.up()
    execution_id = world.begin("runs")
    until(lambda: keys.exists() and keys.read_text())
    world.kill(whole=True)
    world.up()

    state = world.until_status(execution_id, "paused", "completed", "halted", "failed")

    begun = keys.read_text().splitlines()
    if declared == "idempotent":
        assert (state.status, len(begun), len(set(begun))) == ("completed", 2, 1)
    else:
        assert (state.status, state.reason, len(begun)) == ("paused", "effect", 1)


def test_a_receiver_that_dies_before_it_answers_is_asked_about(world: EffectsWorld) -> None:
    """The hub lives on; what it posted to is a process that is killed with the post in hand."""
    taken = world.folder / "taken"
    code = (
        "import socket, sys, time\n"
        "listening = socket.create_server(('127.0.0.1', 0))\n"
        "print(listening.getsockname()[1], flush=True)\n"
        "connection, _ = listening.accept()\n"
        "data = b''\n"
        "while b'It is green' not in data:\n    data += connection.recv(65536)\n"
        "open(sys.argv[1], 'w').write('taken')\n"
        "time.sleep(600)\n"
    )
    reading, writing = os.pipe()
    pid = os.posix_spawn(
        sys.executable, [sys.executable, "-c", code, str(taken)], os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, writing, 1)],
    )  # fmt: skip
    os.close(writing)
    with os.fdopen(reading) as said:
        port = int(said.readline())
        text = TELLS.format(url=f"http://127.0.0.1:{port}/hook", effect="")
        (world.home.processes / "tells.yaml").write_text(text)
        world.up()
        execution_id = world.begin("tells")
        until(taken.exists)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    state = world.until_status(execution_id, "paused", "completed", "halted", "failed")

    assert (state.status, state.reason) == ("paused", "effect")
    assert "did not answer" in state.question
