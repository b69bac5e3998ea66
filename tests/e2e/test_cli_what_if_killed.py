"""A what-if that is killed goes on from its events, and sends nothing that is on record."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..servers import Answer, ScriptedOpenAI
from .command_lines import CORTEX
from .what_if_desk import Desk

pytest.importorskip("openai", reason="needs the extra `openai`")
pytestmark = pytest.mark.once  # many kills of the same code
STARTED_IN_FULL = True  # what is killed is a program of its own

PATIENCE_S = 60.0
LOOK_S = 0.002


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with ScriptedOpenAI(default=Answer(text=("Under", " the mat."))) as server:
        yield Desk(tmp_path, server)


@pytest.mark.parametrize("moment", ["execution.request", "context.compiled", "model.invoke"])
def test_killed_at_any_moment_it_goes_on_and_sends_nothing_that_is_on_record(
    desk: Desk, moment: str
) -> None:
    original = desk.stream(desk.execution)
    program = subprocess.Popen(
        [str(CORTEX), "what-if", desk.execution, "--quiet"],
        cwd=desk.folder, env=desk.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until = time.monotonic() + PATIENCE_S
    while (what_if := desk.newest()) == desk.execution or moment not in {
        r.topic for r in desk.stream(what_if)
    }:
        assert time.monotonic() < until
        assert program.poll() is None, "it ended before it was killed"
        time.sleep(LOOK_S)
    os.kill(program.pid, signal.SIGKILL)
    assert program.wait() == -signal.SIGKILL

    for _ in range(4):
        shown = json.loads(desk.done(f"execution show {what_if} --json"))
        if shown["status"] == "completed":
            break
        desk.call("execution", "resume", what_if)

    assert shown["status"] == "completed", desk.done(f"trace {what_if}")
    assert desk.server.asked == []
    assert desk.said.read_text() == "Under the mat.\n"
    assert desk.stream(desk.execution) == original
