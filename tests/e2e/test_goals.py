"""`cortex run --goal`: a model, or a person, works towards a goal in a real checkout."""

import contextlib
import json
import os
import signal
import time
from pathlib import Path

import pytest

from ..integration.repair_world import git
from ..servers import ScriptedOpenAI
from .goal_world import (
    AGAIN,
    ANY_TESTS,
    DONE,
    EARLY,
    LOOK,
    MEND,
    TEST,
    TESTS,
    call,
    scripted,
    user,
)
from .repair_world import User, model, need_sdk, print_of, server, use

__all__ = ["server", "user"]  # fixtures


def tools_of(server: ScriptedOpenAI, number: int) -> list[str]:
    return [tool["function"]["name"] for tool in server.asked[number].body["tools"]]


def test_a_model_works_until_the_check_passes_and_only_in_a_work_tree(
    user: User, server: ScriptedOpenAI
) -> None:
    scripted(user, server, LOOK, TEST, EARLY, MEND, AGAIN, DONE)
    before = print_of(user.checkout)

    done = user.json("run", "--goal", "the test passes", "--check", TESTS, *ANY_TESTS)

    assert done["status"] == "completed"
    assert done["outputs"] == {"answer": "prices are added up"}
    chosen = [(each["action"], each["status"]) for each in done["chosen"]]
    assert chosen == [("run_tests", "completed")] * 2
    assert print_of(user.checkout) == before
    assert "result += price" in (Path(done["worktree"]) / "cart.py").read_text()
    assert {"run_tests", "read_file", "apply_patch", "goal_reached", "give_up"} <= set(
        tools_of(server, 0)
    )
    assert "shell" not in tools_of(server, 0)
    told = [json.dumps(asked.body["messages"]) for asked in server.asked]
    assert "test_total_adds_up" in told[2]  # what its action gave
    assert "The goal is not reached: command did not pass" in told[3]
    assert all("the test passes" in each for each in told)
    shown = user.cortex("execution", "show", done["id"])
    assert "goal.1" in shown
    assert "run_tests" in shown
    traced = user.cortex("trace", done["id"])
    assert "step goal.1 (run_tests) completed" in traced
    assert "gate command" in traced


def test_a_prompt_of_a_turn_begins_with_the_one_before(user: User, server: ScriptedOpenAI) -> None:
    scripted(user, server, TEST, MEND, AGAIN, DONE)

    user.json("run", "--goal", "the test passes", "--check", TESTS, *ANY_TESTS)

    sent = [json.dumps(asked.body["messages"][0]) for asked in server.asked]
    assert len(set(sent)) == 1  # the system message, which has the goal's stable parts


def test_without_a_check_a_person_is_asked_whether_the_goal_is_reached(
    user: User, server: ScriptedOpenAI
) -> None:
    scripted(user, server, EARLY, MEND, DONE)

    asked = user.json("run", "--goal", "the test passes", code=5)
    denied = user.json(
        "execution", "resume", asked["id"], "--deny", "--note", "run it and see", code=5
    )
    done = user.json("execution", "resume", asked["id"], "--approve")

    assert asked["question"] == "Is the goal reached? nothing is wrong"
    assert denied["question"] == "Is the goal reached? prices are added up"
    assert "run it and see" in json.dumps(server.asked[1].body["messages"])
    assert done["status"] == "completed"
    assert done["results"]["goal"]["by"] == "approved"


def test_turns_bound_the_work_and_a_person_may_end_it_all_the_same(
    user: User, server: ScriptedOpenAI
) -> None:
    scripted(user, server, *[LOOK] * 10)

    halted = user.json("run", "--goal", "the test passes", "--turns", "3", code=1)
    done = user.json("execution", "finish", halted["id"], "--note", "good enough")

    assert halted["status"] == "halted"
    assert "took the 3 turns" in halted["reason"]
    assert len(server.asked) == 3
    assert done["status"] == "completed"
    assert done["results"]["goal"]["by"] == "owner"


def test_money_bounds_the_work(user: User, server: ScriptedOpenAI) -> None:
    server.script.answers[:] = [LOOK] * 10
    dear = {"price_input": 1_000.0, "price_output": 1_000.0}
    use(user.home, model("smith", server, **dear))

    halted = user.json("run", "--goal", "the test passes", "--max-cost", "0.000001", code=5)

    assert "smith lacks a price below" in halted["question"]
    assert server.asked == []


def test_what_may_happen_once_is_asked_about_where_a_gate_says_so_and_a_no_is_told(
    user: User, server: ScriptedOpenAI
) -> None:
    (user.home.processes / "mend.yaml").write_text(
        "process: mend\nversion: 1\nsteps:\n"
        "  - id: fix\n    goal: say hello\n"
        "    may: [{action: shell, gates: [approved]}]\n    check: []\n"
    )
    hello = call("shell", 1, run=["touch", "hello"])
    scripted(user, server, hello, hello, call("goal_reached", 3, summary="said"))

    asked = user.json("run", "mend", code=5)
    again = user.json("execution", "resume", asked["id"], "--deny", "--note", "not yet", code=5)
    done = user.json("execution", "resume", asked["id"], "--approve")

    assert asked["question"] == 'Shall shell be done with {"run":["touch","hello"]}?'
    assert again["steps"] == {"fix.1": "failed"}
    assert "not yet" in json.dumps(server.asked[1].body["messages"])
    assert done["steps"] == {"fix.1": "failed", "fix.2": "completed", "fix": "completed"}
    assert not (user.checkout / "hello").exists()
    assert (Path(done["worktree"]) / "hello").exists()


def test_without_a_model_a_person_acts_and_says_when_it_is_done(user: User) -> None:
    before = print_of(user.checkout)

    opened = user.json("run", "--goal", "the test passes", code=5)
    do = ("execution", "do", opened["id"])
    user.cortex(*do, "run_tests", "-i", f"command={TESTS}", code=5)
    user.cortex(*do, "shell", "-i", "run=sed -i s/-=/+=/ cart.py", "--note", "x", code=5)
    again = user.json("execution", "resume", opened["id"], code=5)  # nobody else can go on
    wrong = user.cortex(*do, "run_tests", "-i", "no=1", code=2)
    unknown = user.cortex(*do, "fly", code=1)
    done = user.json("execution", "finish", opened["id"], "--note", "it adds")

    assert (opened["status"], opened["reason"]) == ("paused", "goal")
    assert "run_tests" in opened["may"]
    assert (again["status"], again["reason"]) == ("paused", "goal")
    assert (wrong, unknown) == ("", "")
    chosen = [(each["action"], each["by"], each["status"]) for each in done["chosen"]]
    assert chosen == [("run_tests", "owner", "completed"), ("shell", "owner", "completed")]
    assert done["status"] == "completed"
    assert print_of(user.checkout) == before


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--may", "run_test"), "did you mean `run_tests`?"),
        (("--may", "process:nothing"), "there is no process"),
        (("--tool", "red_file"), "no component or server offers the tool or pack `red_file`"),
        (("--within", "soon"), "`--within` is the text 'soon', not a duration"),
        (("--max-cost", "dear"), "'dear' is not a number"),
        (("--turns", "many"), "'many' is not a whole number"),
        (("--turns", "0"), "0 is less than 1"),
        (("--check", "command={}"), "gate `command` needs `run`"),
        (("--check", "command={"), "a JSON object with parameters is expected"),
        (("-i", "a=b"), "inputs and a version need a PROCESS"),
    ],
)
def test_what_does_not_fit_is_said_before_anything_is_recorded(
    user: User, options: tuple[str, ...], why: str
) -> None:
    with user.start("run", "--goal", "x", *options) as process:
        _, err = process.communicate(timeout=120)

    assert process.returncode == 2
    assert why in " ".join(err.split())
    assert "Traceback" not in err
    assert user.json("execution", "list") == []


def test_a_workspace_that_is_no_checkout_stays_as_it_is(
    tmp_path: Path, server: ScriptedOpenAI
) -> None:
    need_sdk("openai")
    plain = tmp_path / "plain"
    plain.mkdir()
    person = User(plain)
    hello = call("shell", 1, run=["touch", "hello"])
    scripted(person, server, hello, call("give_up", 2, reason="no work tree"))

    halted = person.json("run", "--goal", "say hello", "--may", "shell", code=1)

    assert halted["steps"]["goal.1"] == "failed"
    assert "not a git checkout" in halted["chosen"][0]["said"]
    assert not (plain / "hello").exists()


@pytest.mark.parametrize("asked", range(1, 5))
def test_killed_between_turns_it_goes_on_and_nothing_is_done_twice(
    user: User, server: ScriptedOpenAI, asked: int
) -> None:
    mark = call("shell", 2, run=["sh", "-c", "echo x >> marks"])
    answers = [LOOK, mark, MEND, DONE]
    scripted(user, server, *answers)
    killed = user.start("run", "--goal", "the test passes", "--may", "shell", "--check", TESTS)
    deadline = time.monotonic() + 60
    while len(server.asked) < asked and time.monotonic() < deadline:
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    execution_id = user.json("execution", "list")[0]["id"]
    shown = user.json("execution", "show", execution_id)

    if shown["status"] != "completed":
        # The answer to a call that was cut off was not recorded: it is asked for again.
        answered = sum(each["turns"] for each in shown["dialogues"])
        server.script.answers[:] = answers[answered:]
        for _ in range(3):
            with user.start("execution", "resume", execution_id, "--json") as process:
                out, err = process.communicate(timeout=120)
            shown = json.loads(out)
            if shown["effects"]:
                with user.start(
                    "execution", "resume", execution_id, "--do-it-again", "--json"
                ) as process:
                    out, err = process.communicate(timeout=120)
                shown = json.loads(out)
            if shown["status"] == "completed":
                break
            assert shown["status"] in ("running", "paused"), err

    assert shown["status"] == "completed", shown
    assert [each["action"] for each in shown["chosen"]] == ["shell"]
    assert (Path(shown["worktree"]) / "marks").read_text() == "x\n"
    assert git(user.checkout, "status", "--porcelain", "--", "cart.py") == ""
