"""`cortex diff`: two executions, two moments and two logs, and where they diverge."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import as_map
from cortex.runtime.diff import diff_executions, diff_moments, state_of
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home

from .command_lines import environment, run_many

pytestmark = pytest.mark.wheel

GREET = """
process: greet
version: 1
inputs:
  who: {type: string, default: world}
steps:
  - id: say
    action: shell
    with: {run: [echo, hello]}
  - id: name
    action: shell
    with: {run: [echo, "${inputs.who}"]}
"""


class Ran:
    """A home in which a process ran three times, the last time with another input."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.env = folder, environment(folder)
        self.home = Home(folder / ".cortex")
        self.done("init")
        (self.home.processes / "greet.yaml").write_text(GREET, "utf-8")
        for more in ("", "", " -i who=moon"):
            self.done(f"run greet --quiet -y{more}")
        listed = json.loads(self.done("execution list --json"))
        self.third, self.second, self.first = (str(each["id"]) for each in listed)
        with History.open(self.home) as history:
            self.head = sum(1 for _ in history.read())
            self.began = {
                record.correlation: record.position
                for record in history.read()
                if record.topic == "execution.request"
            }

    def call(self, line: str) -> tuple[int, str, str]:
        ((code, out, err),) = run_many(self.folder, self.env, [line.split()])
        return code, out, err

    def done(self, line: str, expected: int = 0) -> str:
        code, out, err = self.call(line)
        assert code == expected, out + err
        return out

    def document(self, line: str, expected: int = 1) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.done(f"diff {line} --json", expected))
        return found


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("ran"))


def test_two_executions_part_at_the_first_event_that_is_not_the_same(ran: Ran) -> None:
    same = ran.document(f"{ran.first} {ran.second}", 0)
    other = ran.document(f"{ran.second[:8]} {ran.third}")

    assert (same["kind"], same["parted"]) == ("executions", None)
    assert other["a"]["first"]["topic"] == other["b"]["first"]["topic"] == "execution.request"
    assert [change["field"] for change in other["changes"]] == ["inputs.who"]
    assert other["b"]["kinds"]["step.completed"] == 2
    assert other["a"]["status"] == "completed"
    shown = ran.done(f"diff {ran.second} {ran.third}", 1)
    assert "they diverge at event 1\n" in shown
    assert "inputs.who\n    a (absent)\n    b moon\n" in shown


def test_between_two_moments_the_state_is_compared(ran: Ran) -> None:
    at = ran.began[ran.third] - 1

    found = ran.document(f"{at} {ran.head}")
    back = ran.document(f"{ran.head} {at}")

    assert (found["common"], found["parted"], found["b"]["after"]) == (at, at + 1, ran.head - at)
    assert sum(found["b"]["kinds"].values()) == ran.head - at
    assert found["a"]["first"] is None
    assert found["state"]["executions"]["appeared"] == {ran.third: "greet 1, completed"}
    assert back["state"]["executions"]["gone"] == {ran.third: "greet 1, completed"}
    assert found["state"]["processes"] == {"appeared": {}, "gone": {}, "changed": []}
    whole = ran.document(f"0 {ran.head}")["state"]
    assert set(whole["models"]["appeared"]) == {"extractive"}
    assert "greet" in whole["processes"]["appeared"]
    middle = ran.document(f"{at + 2} {ran.head}")["state"]["executions"]["changed"]
    assert [(each["name"], each["now"]) for each in middle] == [(ran.third, "greet 1, completed")]
    assert ran.document(f"{at} {at}", 0)["state"]["executions"]["changed"] == []
    ran.document("1d 0s")


def test_the_state_at_every_position_leads_to_the_last_one(ran: Ran) -> None:
    with History.open(ran.home) as history:
        last = state_of(history)

    for position in range(0, ran.head + 1, 5):
        found = diff_moments(ran.home, position, ran.head)
        with History.open(ran.home.at(position)) as history:
            then = state_of(history).executions
        assert found.state is not None
        changed = found.state["executions"]
        then = {name: said for name, said in then.items() if name not in changed.gone}
        then |= changed.appeared | {each.name: each.now for each in changed.changed}
        assert then == last.executions


def test_two_logs_part_where_their_leaf_hashes_do(ran: Ran, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(ran.home.path, other, ignore=shutil.ignore_patterns("*.sock"))
    copied = ran.document(f"{ran.home.path} {other}/log.db", 0)
    assert (copied["kind"], copied["common"]) == ("logs", ran.head)
    code, out, err = ran.call("run greet --quiet -y -i who=mars")
    assert code == 0, out + err

    found = ran.document(f"{ran.folder} {other}")

    assert (found["common"], found["parted"]) == (ran.head, ran.head + 1)
    assert found["b"] == {**found["b"], "after": 0, "first": None, "kinds": {}}
    assert found["a"]["kinds"]["execution.completed"] == 1
    assert found["state"] is None
    elsewhere = Ran(tmp_path)
    assert ran.document(f"{ran.folder} {elsewhere.folder}")["parted"] == 1


def test_what_cannot_be_compared_is_one_line(ran: Ran) -> None:
    for line, code, said in (
        (f"3 {ran.first}", 2, "name two of one kind"),
        (f"./nowhere {ran.home.path}", 4, "does not exist"),
        (f"{ran.first} nonesuch", 3, "nonesuch"),
        ("1 99999", 3, "is not there yet"),
        (f"{ran.home.path} {ran.home.path / 'config.toml'}", 4, ""),
    ):
        ended, out, err = ran.call(f"diff {line}")
        assert (ended, out) == (code, ""), err
        assert said in err
        assert err.count("\n") == 1, err


def test_a_program_compares_as_the_command_does(ran: Ran) -> None:
    with History.open(ran.home) as history:
        assert diff_executions(history, ran.first, ran.second).same
        assert not diff_executions(history, ran.first, ran.third).same


def test_two_equal_prompts_are_equal_whatever_positions_their_manifests_have(ran: Ran) -> None:
    (ran.folder / "ci.log").write_text("FAILED tests/test_sum.py::test_sum - assert 3 == 4\n")
    before = len(json.loads(ran.done("execution list --json")))
    for log in ("ci.log", "ci.log", "other.log"):
        if log == "other.log":
            (ran.folder / log).write_text("FAILED tests/test_sum.py::test_more - assert 5 == 6\n")
        ran.done(f"run triage_ci_failure --quiet -y -i log={log}")
    listed = json.loads(ran.done("execution list --json"))
    other, again, once = (each["id"] for each in listed[: len(listed) - before])

    with History.open(ran.home) as history:
        prompts = [r for r in history.read() if r.topic == "context.compiled"]
        assert len({as_map(r)["manifest"] for r in prompts}) == len(prompts) == 3
        assert diff_executions(history, once, again).same
        assert not diff_executions(history, once, other).same
