"""Steps with several items on the command line: run, show, resume, trace, inspect, dry run."""

import json
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config

from .up_world import Desk

STOP = """process: stop
version: 1
inputs: { names: list }
steps:
  - id: look
    for_each: ${inputs.names}
    as: word
    action: answer_question
    description: Say what is asked.
    with: { question: "What ${word} is the sky?" }
    breakpoint: true
"""


def each(process: str, *lines: str) -> str:
    """The source of *process*, whose step `each` does for each of the names what *lines* say."""
    head = f"process: {process}\nversion: 1\ninputs: {{ names: list }}\nsteps:\n"
    step = ("id: each", "for_each: ${inputs.names}", "as: name", *lines)
    return f"{head}  - " + "\n    ".join(step) + "\n"


CHECK = (
    each(
        "check",
        "at_once: 4",
        "action: shell",
        """with: { run: [sh, -c, 'test -e mended || test "$0" != bad', "${name}"] }""",
    )
    + """  - id: both
    parallel:
      - { id: one, action: shell, with: { run: echo one } }
      - { id: two, action: shell, with: { run: echo two } }
outputs: { results: list }
"""
)
SLOW = each(
    "slow",
    "at_once: 1",
    "action: shell",
    """with: { run: [sh, -c, 'test -e mended && sleep 1 || test "$0" != bad', "${name}"] }""",
)
ASK = each(
    "ask",
    'gates: [{ approved: { question: "may ${name} pass?" } }]',
    "action: shell",
    'with: { run: [echo, "${name}"] }',
)
COLLECT = each(
    "collect",
    "failures: collect",
    "action: shell",
    """with: { run: [sh, -c, 'test "$0" != bad', "${name}"] }""",
)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    sources = {"check": CHECK, "slow": SLOW, "stop": STOP, "ask": ASK, "collect": COLLECT}
    for name, source in sources.items():
        (desk.home.processes / f"{name}.yaml").write_text(source)
    return desk


def names(*values: str) -> tuple[str, str]:
    return "-i", f"names={json.dumps(values)}"


def begun(desk: Desk, *command: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(desk.run("run", *command, "--json").stdout)
    return found


def test_items_that_failed_are_named_when_the_step_is_done_all_the_same(desk: Desk) -> None:
    document = begun(desk, "collect", *names("a", "bad", "c"))
    shown = desk.run("execution", "show", document["id"]).stdout

    (failed,) = document["results"]["each"]["failures"]
    assert document["status"] == "completed"
    assert f"item 2  {failed['execution']}  failed: sh ended with 1" in shown


def test_a_failed_item_halts_the_run_and_a_resume_does_only_that(desk: Desk) -> None:
    document = begun(desk, "check", *names("a", "bad", "c", "d", "e", "f"))

    assert document["status"] == "halted"
    failed = document["items"]["waiting"][0]
    assert (failed["item"], failed["status"]) == (2, "halted")
    assert failed["execution"] in document["reason"]
    shown = desk.run("execution", "show", document["id"]).stdout
    assert f"item 2  {failed['execution']}  halted: sh ended with 1" in shown
    (desk.folder / "mended").touch()
    resumed = desk.run("execution", "resume", document["id"], "--json")

    assert resumed.returncode == 0, resumed.stderr
    after = json.loads(resumed.stdout)
    assert [each["exit_code"] for each in after["outputs"]["results"]] == [0] * 6
    assert after["steps"] == dict.fromkeys(("each", "both", "one", "two"), "completed")
    done = desk.run("trace", document["id"], "--json")
    traced = desk.run("trace", document["id"]).stdout
    assert "step both (2 branches, 2 at once) completed" in traced
    assert f"  part of    item 2 of step each of {document['id']}" in traced
    assert f"  part of    branch one of step both of {document['id']}" in traced
    assert traced.count("by kind of work") == 1
    children = [each["execution"]["id"] for each in json.loads(done.stdout)["children"]]
    assert len(children) == len(set(children)) == 8  # six items and two branches, each once
    listed = json.loads(desk.run("execution", "list", "--json").stdout)
    assert [each["id"] for each in listed] == [document["id"]]
    (fared,) = json.loads(desk.run("process", "history", "check", "--json").stdout)
    assert (fared["runs"], fared["completed"]) == (1, 1)


def test_items_that_ask_are_named_and_answered_one_by_one(desk: Desk) -> None:
    done = desk.run("run", "ask", *names("a", "b"))
    assert done.returncode == 5
    assert "2 waiting" in done.stdout
    document = json.loads(desk.run("execution", "list", "--json").stdout)[0]
    shown = json.loads(desk.run("execution", "show", document["id"], "--json").stdout)
    first, second = shown["items"]["waiting"]
    assert first["question"] == "may a pass?"

    both = desk.run("execution", "resume", document["id"], "--approve")
    plain = desk.run("execution", "resume", document["id"])
    assert both.returncode != 0
    assert f"cortex execution resume {first['execution']} --approve" in both.stderr
    assert first["execution"] in plain.stderr
    assert desk.run("execution", "resume", first["execution"], "--approve").returncode == 0
    last = desk.run("execution", "resume", document["id"], "--approve")

    assert last.returncode == 0, last.stderr
    state = json.loads(desk.run("execution", "show", document["id"], "--json").stdout)
    assert state["status"] == "completed"
    assert json.loads(desk.run("execution", "show", second["execution"], "--json").stdout)[
        "parent"
    ] == str(document["id"])


def test_many_items_are_told_in_few_lines(desk: Desk) -> None:
    done = desk.run("run", "check", *names(*map(str, range(40))))

    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stderr.splitlines() if "each" in line]
    assert "items    each: 40 items, 4 at once" in lines
    assert len(lines) < 15
    trace = desk.run("trace")
    assert "42 items that completed are left out: --full shows them" in trace.stdout
    assert trace.stdout.count("by kind of work") == 1
    assert "step each (40 items, 4 at once) completed" in trace.stdout


def test_what_a_process_will_do_says_how_many_at_once(desk: Desk) -> None:
    inspected = desk.run("process", "inspect", "check").stdout
    rehearsed = desk.run("process", "dry-run", "check", *names("a", "b")).stdout

    assert "for each name of ${inputs.names}, 4 at once" in inspected
    assert "one, two at the same time" in inspected
    assert "for each name of ${inputs.names}, 4 at once; 2 of them, the first is shown" in rehearsed


def test_who_resumes_an_item_without_a_hub_sees_its_execution_to_its_stop(desk: Desk) -> None:
    document = begun(desk, "slow", *names("bad", "b", "c", "d"))
    item = document["items"]["waiting"][0]["execution"]
    (desk.folder / "mended").touch()

    resumed = desk.run("execution", "resume", item, "--json")

    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout)["id"] == item
    assert f"execution {document['id']} is completed" in resumed.stderr
    shown = desk.run("execution", "show", document["id"], "--json")
    assert json.loads(shown.stdout)["status"] == "completed"


def test_breakpoints_of_items_are_looked_at_and_edited_one_by_one(desk: Desk) -> None:
    done = desk.run("run", "stop", *names("hue", "tone"))
    document = json.loads(desk.run("execution", "list", "--json").stdout)[0]["id"]
    items = json.loads(desk.run("execution", "show", document, "--json").stdout)["items"]
    first, second = (each["execution"] for each in items["waiting"])

    several = desk.run("execution", "edit", document, "--replace", "sky", "sea")
    edited = desk.run("execution", "edit", first, "--replace", "sky", "sea")
    resumed = desk.run("execution", "resume", first)
    last = desk.run("execution", "edit", document, "--replace", "sky", "sun")

    assert f"cortex execution show {first}   (what is sent; edit changes it" in done.stdout
    assert several.returncode == 1
    assert f"edit that of one of them ({first}, {second})" in several.stderr
    assert (edited.returncode, resumed.returncode) == (0, 0), (edited, resumed)
    assert "What hue is the sea?" in edited.stdout
    assert last.returncode == 0, last.stderr
    assert "What tone is the sun?" in last.stdout


def test_many_called_executions_are_replayed_as_a_few_are(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    execution = begun(desk, "check", *names("a", "b", "c"))["id"]
    asked: list[Any] = []
    replay: Any = import_module("cortex.runtime.replay.replay")

    with History.open(desk.home) as history:
        monkeypatch.setattr(replay, "A_PASS", 0)
        few = replay.replay_execution(history, execution, Config())
        monkeypatch.setattr(replay, "A_PASS", 1_000)
        monkeypatch.setattr(history, "select", partial(_counted, history.select, asked))
        many = replay.replay_execution(history, execution, Config())

    assert many == few
    assert (many.same, many.executions) == (True, 6)
    assert len(asked) == 1  # the deciders' folds; nothing for each of the executions


def _counted(select: Any, asked: list[Any], *given: Any) -> Any:
    asked.append(given)
    return select(*given)
