"""`cortex fork`: earlier outcomes are taken and not run again, whatever kills the program."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import Recorded, as_map
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home

from .command_lines import CORTEX, environment, run_many

pytestmark = pytest.mark.once  # many kills of the same code
STARTED_IN_FULL = True  # what is killed is a program of its own

PROCESS = """
process: thrice
version: 1
inputs:
  ran: {type: string}
steps:
  - id: one
    action: shell
    with: {run: [sh, -c, 'echo one | tee -a "$0"', "${inputs.ran}"]}
  - id: two
    action: shell
    with: {run: [sh, -c, 'echo two >> "$0"; sleep 0.3', "${inputs.ran}"]}
  - id: three
    action: shell
    with: {run: [sh, -c, 'echo three >> "$0"', "${inputs.ran}"]}
outputs:
  first: {type: string, value: "${steps.one.stdout}"}
"""
MOMENTS = ("execution.request", "step.inherited", "gate.evaluate", "effect.intended")
PATIENCE_S = 60.0
LOOK_S = 0.002


class Ran:
    """A home in which a process ran, and the file where its steps write down that they run."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.env = folder, environment(folder)
        self.home, self.file = Home(folder / ".cortex"), folder / "ran"
        self.done("init")
        (self.home.processes / "thrice.yaml").write_text(PROCESS, "utf-8")
        self.done(f"run thrice --quiet -y -i ran={self.file}")
        self.execution = str(json.loads(self.done("execution list --json"))[0]["id"])

    def call(self, line: str) -> tuple[int, str, str]:
        ((code, out, err),) = run_many(self.folder, self.env, [line.split()])
        return code, out, err

    def done(self, line: str, expected: int = 0) -> str:
        code, out, err = self.call(line)
        assert code == expected, out + err
        return out

    def show(self, execution_id: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.done(f"execution show {execution_id} --json"))
        return found

    def ran(self) -> list[str]:
        return self.file.read_text().split()

    def stream(self, execution_id: str) -> list[Recorded]:
        with History.open(self.home) as history:
            return history.stream(f"execution/{execution_id}")

    def fork(self) -> str:
        """The id of the newest fork; "" if there is none."""
        with History.open(self.home) as history:
            asked = [r for r in history.read() if r.topic == "execution.request"]
        forks = [r for r in asked if as_map(r).get("fork_of")]
        return str(forks[-1].correlation) if forks else ""


@pytest.fixture
def ran(tmp_path: Path) -> Ran:
    return Ran(tmp_path)


def test_a_fork_takes_the_outcomes_before_its_step_and_asks_before_effects(ran: Ran) -> None:
    before = ran.stream(ran.execution)

    asks = ran.done(f"fork {ran.execution[:6]} --from two --quiet --again", 5)

    fork = ran.fork()
    assert "Step two may have an effect outside" in asks
    assert ran.ran() == ["one", "two", "three"]
    ran.done(f"execution resume {fork} --approve", 5)
    assert ran.ran() == ["one", "two", "three", "two"]
    ran.done(f"execution resume {fork} --approve")
    assert ran.ran() == ["one", "two", "three", "two", "three"]
    found = ran.show(fork)
    assert (found["status"], found["outputs"]) == ("completed", {"first": "one\n"})
    assert (found["fork_of"], found["from_step"]) == (ran.execution, "two")
    assert f"fork of    {ran.execution}, from step two\n" in ran.done(f"execution show {fork}")
    traced = ran.done(f"trace {fork}")
    assert f"fork of    {ran.execution}, from step two\n" in traced
    assert "step.inherited one" in traced
    assert ran.stream(ran.execution) == before
    ran.done(f"replay {fork}")
    ran.done("replay")
    again = ran.folder / "same.yaml"
    again.write_text(PROCESS, "utf-8")
    ran.done(f"replay {fork} --process {again}")


def test_what_succeeded_on_record_does_not_happen_a_second_time(ran: Ran) -> None:
    before = ran.stream(ran.execution)

    ran.done(f"fork {ran.execution} --from two --quiet")

    fork = ran.fork()
    assert ran.ran() == ["one", "two", "three"]
    found = ran.show(fork)
    assert (found["status"], found["outputs"]) == ("completed", {"first": "one\n"})
    assert (found["fork_of"], found["what_if"]) == (ran.execution, False)
    assert ran.stream(ran.execution) == before
    ran.done(f"diff {ran.execution} {fork}", 1)
    ran.done(f"replay {fork}")
    again = ran.folder / "same.yaml"
    again.write_text(PROCESS, "utf-8")
    ran.done(f"replay {fork} --process {again}")


def test_a_denied_effect_does_not_happen(ran: Ran) -> None:
    ran.done(f"fork {ran.execution} --from three --quiet --again", 5)

    ran.done(f"execution resume {ran.fork()} --deny", 1)

    assert ran.ran() == ["one", "two", "three"]


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_any_moment_it_goes_on_and_runs_no_earlier_step(ran: Ran, moment: str) -> None:
    original = ran.stream(ran.execution)
    program = subprocess.Popen(
        [str(CORTEX), "fork", ran.execution, "--from", "two", "--quiet", "-y", "--again"],
        cwd=ran.folder, env=ran.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until = time.monotonic() + PATIENCE_S
    while not (fork := ran.fork()) or moment not in {r.topic for r in ran.stream(fork)}:
        assert time.monotonic() < until
        assert program.poll() is None, "it ended before it was killed"
        time.sleep(LOOK_S)
    os.kill(program.pid, signal.SIGKILL)
    assert program.wait() == -signal.SIGKILL

    for _ in range(8):
        found = ran.show(fork)
        if found["status"] in ("completed", "failed", "halted"):
            break
        answer = " --do-it-again" if found["effects"] else " --approve" if found["gate"] else ""
        code, out, err = ran.call(f"execution resume {fork}{answer}")
        assert code in (0, 5), out + err

    assert found["status"] == "completed"
    assert found["outputs"] == {"first": "one\n"}
    assert ran.ran().count("one") == 1
    assert [r.topic for r in ran.stream(fork)].count("step.inherited") == 1
    assert ran.stream(ran.execution) == original
    ran.done(f"replay {fork}")


def test_what_cannot_be_forked_is_one_line(ran: Ran) -> None:
    ran.done("run --goal look --by-hand --quiet", 5)
    goal = json.loads(ran.done("execution list --json"))[0]["id"]
    head = len(ran.stream(ran.execution))
    for line, code, said in (
        ("fork nonesuch --from two", 3, "nonesuch"),
        (f"fork {ran.execution} --from four", 3, "step 'four' is not in thrice"),
        (f"fork {ran.execution}", 2, "--from"),
        (f"fork {ran.execution} --from two --break four", 3, "step 'four' is not in thrice"),
        (f"fork {ran.execution} --from two --max-cost many", 2, "--max-cost"),
        (f"fork {goal} --from goal", 1, "ran no process"),
    ):
        ended, out, err = ran.call(line)
        assert (ended, out) == (code, ""), out + err
        assert said in err
        assert err.count("\n") == 1, err
    assert not ran.fork()
    assert len(ran.stream(ran.execution)) == head
