"""A person steers work towards a goal from the command line: what it says, and how it ends."""

import sys
from pathlib import Path

import pytest

from ..servers import ScriptedOpenAI
from .goal_world import DONE, LOOK, MEND, TESTS, call, scripted, user
from .repair_world import User, model, server, use

__all__ = ["server", "user"]  # fixtures


def said(user: User, *args: str, code: int) -> str:
    """All that a command prints, in one line."""
    with user.start(*args) as process:
        out, err = process.communicate(timeout=120)
    assert process.returncode == code, out + err
    assert "Traceback" not in err
    return " ".join((out + err).split())


def test_a_goal_that_no_model_is_paid_for_goes_on_once_it_may_spend_more(
    user: User, server: ScriptedOpenAI
) -> None:
    server.script.answers[:] = [MEND, DONE]
    use(user.home, model("smith", server, price_input=1.0, price_output=1.0))

    waiting = user.json(
        "run", "--goal", "the test passes", "--check", TESTS, "--max-cost", "0.000001", code=5
    )
    done = user.json("execution", "resume", waiting["id"], "--max-cost", "1")

    assert waiting["reason"] == "goal"
    assert f"cortex execution resume {waiting['id']} --max-cost USD" in waiting["question"]
    assert done["status"] == "completed"
    assert done["max_cost"] == 1.0
    assert len(done["edits"]) == 1


def test_do_ends_as_run_does_where_the_execution_waits_or_halts(
    user: User, server: ScriptedOpenAI
) -> None:
    by_hand = user.json("run", "--goal", "the test passes", "--by-hand", code=5)
    waits = user.json("execution", "do", by_hand["id"], "read_text", "-i", "path=cart.py", code=5)
    failed = user.json("execution", "do", by_hand["id"], "read_text", "-i", "path=none", code=1)
    scripted(user, server, LOOK, call("give_up", 2, reason="no"))
    led = user.json(
        "run", "--goal", "the test passes", "--may", "read_text", "--turns", "1", code=1
    )
    halts = user.json("execution", "do", led["id"], "read_text", "-i", "path=cart.py", code=1)

    assert (waits["status"], waits["reason"]) == ("paused", "goal")
    assert (failed["status"], failed["steps"]["goal.2"]) == ("paused", "failed")
    assert (halts["status"], halts["steps"]["goal.1"]) == ("halted", "completed")


def test_giving_up_ends_as_a_failed_execution_does(user: User) -> None:
    opened = user.json("run", "--goal", "the moon is full", "--by-hand", code=5)

    given_up = user.json("execution", "finish", opened["id"], "--give-up", "--note", "wait", code=1)

    assert (given_up["status"], given_up["reason"]) == ("failed", "owner gave the goal up: wait")


def test_without_a_model_it_is_said_why_a_person_acts_and_all_that_may_be_done(user: User) -> None:
    told = said(user, "run", "--goal", "the test passes", code=5)
    execution_id = user.json("execution", "list")[0]["id"]
    may = user.json("execution", "show", execution_id)["may"]
    listed = said(user, "execution", "do", execution_id, code=0)

    assert "no model that can act is configured" in told
    assert "more)" not in told
    assert len(may) > 8
    assert all(name in told for name in may)
    assert all(name in listed for name in may)
    assert "command" in listed  # what run_tests takes


def test_a_name_that_is_not_granted_is_answered_with_the_nearest(user: User) -> None:
    kid = (
        "process: kidfix\nversion: 1\nsteps:\n  - {id: look, action: read_text, with: {path: a}}\n"
    )
    (user.home.processes / "kidfix.yaml").write_text(kid)
    opened = user.json("run", "--goal", "x", "--by-hand", "--may", "process:kidfix", code=5)

    misspelt = said(user, "execution", "do", opened["id"], "shel", code=1)
    process = said(user, "execution", "do", opened["id"], "process:kidfx", code=1)
    alike = user.json("execution", "do", opened["id"], "process:kidfix", code=1)

    assert "did you mean shell?" in misspelt
    assert "did you mean kidfix?" in process
    assert alike["steps"] == {"goal.1": "failed"}  # it began, and has no file to read


def test_what_has_no_goal_says_what_it_is_instead(user: User) -> None:
    plain = (
        "process: plain\nversion: 1\nsteps:\n  - {id: look, action: shell, with: {run: 'false'}}\n"
    )
    (user.home.processes / "plain.yaml").write_text(plain)
    halted = user.json("run", "plain", code=1)
    over = user.json("run", "--goal", "x", "--by-hand", code=5)
    user.cortex("execution", "finish", over["id"])

    no_goal = said(user, "execution", "do", halted["id"], "shell", code=1)
    no_finish = said(user, "execution", "finish", halted["id"], code=1)
    ended = said(user, "execution", "do", over["id"], "shell", code=1)

    assert "is a run of plain, which has no goal" in no_goal
    assert f"cortex execution resume {halted['id']}" in no_goal
    assert "is a run of plain, which has no goal" in no_finish
    assert f"execution {over['id']} is completed" in ended


@pytest.mark.parametrize(
    ("check", "why"),
    [
        (
            "tests_pas",
            "`tests_pas` is neither a gate nor a program: did you mean the gate `tests_pass`?",
        ),
        ("tests_pas={}", "there is no gate `tests_pas`: did you mean `tests_pass`?"),
        ("tests_pass now", "`tests_pass` is a gate, which takes no words"),
        ("mkdirr x", "`mkdirr` is neither a gate nor a program: did you mean the program `mkdir`?"),
        ("./no-such-script", "`./no-such-script` is not a program: there is no such file"),
        ("", "is empty"),
        ("command={", "a JSON object"),
    ],
)
def test_a_check_that_is_no_gate_and_no_program_is_refused(
    user: User, check: str, why: str
) -> None:
    assert why in said(user, "run", "--goal", "x", "--check", check, code=2)
    assert user.json("execution", "list") == []


def test_a_pause_before_what_may_not_be_done_is_refused(user: User) -> None:
    wrong = said(user, "run", "--goal", "x", "--by-hand", "--break", "shel", code=3)

    assert "step 'shel' is not in the work towards the goal: did you mean `shell`?" in wrong
    assert user.json("execution", "list") == []
    assert user.json("run", "--goal", "x", "--by-hand", "--break", "shell", code=5)["id"]


def test_a_check_may_be_a_gate_or_a_program_or_both(user: User) -> None:
    (user.checkout / "ok.sh").write_text("#!/bin/sh\n")
    (user.checkout / "ok.sh").chmod(0o755)

    for check in ("tests_pass", "./ok.sh now", f"{sys.executable} -V", 'command={"run": "later"}'):
        opened = user.json("run", "--goal", "x", "--by-hand", "--check", check, code=5)
        assert opened["reason"] == "goal"


def test_no_money_at_all_is_said_as_that(user: User, server: ScriptedOpenAI) -> None:
    use(user.home, model("smith", server, price_input=1.0, price_output=1.0))

    waiting = user.json("run", "--goal", "x", "--max-cost", "0", code=5)

    assert "there is nothing to spend" in waiting["question"]
    assert server.asked == []


def test_a_model_runs_the_tests_as_the_files_or_a_person_say_and_no_program_of_its_own(
    user: User, server: ScriptedOpenAI
) -> None:
    other = call("run_tests", 1, command="touch own")
    laid_down = call("run_tests", 2)
    answers = (other, laid_down, call("give_up", 3, reason="x"))

    scripted(user, server, *answers)
    found = user.json("run", "--goal", "x", code=1)
    scripted(user, server, *answers)
    may = 'run_tests={"command": "touch told"}'
    given = user.json("run", "--goal", "x", "--may", may, code=1)
    scripted(user, server, *answers)
    wide = user.json("run", "--goal", "x", "--may", "run_tests=any", code=1)

    assert len(found["chosen"]) == len(given["chosen"]) == 1
    assert "unittest" in str(found["results"]["goal.1"]["command"])
    assert given["chosen"][0]["parameters"] == {"command": "touch told"}
    assert not (Path(found["worktree"]) / "own").exists()
    assert (Path(given["worktree"]) / "told").exists()
    assert (Path(wide["worktree"]) / "own").exists()
    assert "for people to choose" in str(server.asked[1].body["messages"])


def test_of_a_process_the_goal_of_the_step_is_named_and_what_is_laid_down_is_not_taken(
    user: User,
) -> None:
    source = (
        "process: mend\nversion: 1\ninputs: {what: string}\nsteps:\n  - id: fix\n"
        "    goal: the ${inputs.what} passes\n    by_hand: true\n"
        "    may: [{action: run_tests, with: {command: 'true'}}]\n"
    )
    (user.home.processes / "mend.yaml").write_text(source)

    told = said(user, "run", "mend", "-i", "what=test", code=5)
    execution_id = user.json("execution", "list")[0]["id"]
    listed = user.json("execution", "do", execution_id)
    refused = said(user, "execution", "do", execution_id, "run_tests", "-i", "command=x", code=2)

    assert "towards the goal: the test passes" in told
    assert listed[0]["laid_down"] == ["command"]
    assert "command of run_tests is fixed: leave it out" in refused
