"""What raises in a worker: its terminal, the log and `status` say so, without its secrets."""

import json

from ..waiting import until
from .up_world import STUCK_S, Desk, desk

__all__ = ["desk"]  # a fixture

SECRET = "s3cr3t-of-the-team-0042"
FAILING = """
import os
from collections.abc import Iterator

from cortex.bus.events import StepCompleted, StepExecute
from cortex.runtime.kernel import Component, Delivery, Serves, on


class Fail(Component):
    workers = 1
    serves = (Serves("action", "fail", effect="none"),)

    @on(StepExecute, where={"action": "fail"})
    def fail(self, event: StepExecute, delivery: Delivery) -> Iterator[StepCompleted]:
        deep_in(os.environ["TEAM_API_KEY"])
        yield from ()


class FailOnce(Component):
    workers = 1
    serves = (Serves("action", "fail_once", effect="once"),)

    @on(StepExecute, where={"action": "fail_once"})
    def fail(self, event: StepExecute, delivery: Delivery) -> Iterator[StepCompleted]:
        deep_in(os.environ["TEAM_API_KEY"])
        yield from ()


def deep_in(key: str) -> None:
    raise ValueError(f"{key} opens nothing")
"""


def test_an_exception_of_a_worker_is_shown_with_its_traceback_and_counted(desk: Desk) -> None:
    desk.env["TEAM_API_KEY"] = SECRET
    (desk.folder / "failing.py").write_text(FAILING)
    for action in ("fail", "fail_once"):
        source = f"process: {action}s\nversion: 1\nsteps:\n  - {{ id: it, action: {action} }}\n"
        (desk.home.processes / f"{action}s.yaml").write_text(source)
    worker = desk.worker("failing:Fail", "failing:FailOnce")

    assert desk.run("run", "fails").returncode
    desk.run("run", "fail_onces")
    until(lambda: "effect.unknown" in desk.topics())
    parts = desk.many(("status",), ("doctor", "--quick"))
    queried = desk.run("events", "query", "--topic", "*.*", "--traceback", "--json")
    shown = desk.run("status").stdout
    worker.terminate()
    _, printed = worker.communicate(timeout=STUCK_S)

    (_, status, _), (_, doctor, _) = parts
    counted = {each["component"]: each["failures"] for each in status["failing"]}
    assert counted == {"Fail": 1, "FailOnce": 1}
    assert "failing    Fail: ValueError: " in shown
    assert "(1 failure)" in shown
    (check,) = [each for each in doctor if each["name"] == "failures"]
    assert check["state"] == "warn"
    assert "Fail: 1 failure" in check["found"]
    lines = [json.loads(line) for line in queried.stdout.splitlines()]
    traced = {each["topic"]: each["traceback"] for each in lines if each["traceback"]}
    assert set(traced) == {"component.failed", "effect.unknown"}
    for text in (*traced.values(), printed):
        assert "Traceback (most recent call last)" in text
        assert 'failing.py", line' in text
        assert "in deep_in" in text
    for text in (queried.stdout, printed, shown, json.dumps(doctor)):
        assert SECRET not in text
