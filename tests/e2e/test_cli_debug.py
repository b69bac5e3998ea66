"""`cortex debug`: what waits at a breakpoint, in one command; step and continue; a kill."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.runtime.access.trust import give_trust
from cortex.runtime.executions import resume, run, set_breakpoints
from cortex.runtime.executions.view import History, debug_of
from cortex.runtime.kernel import RefusedError
from cortex.runtime.serving import connected, found

from ..waiting import until
from .up_world import STUCK_S, Desk, opened

pytestmark = pytest.mark.once  # long waits, and commands that others run from the wheel

LOOK = """process: look
version: 1
gates: [{ file_exists: { path: look.txt } }]
steps:
  - { id: first, action: shell, with: { run: echo one } }
  - id: look
    action: answer_question
    description: Say what is asked.
    gates: [{ file_exists: { path: look.txt } }]
    with: { question: What colour is the sky? }
    breakpoint: true
  - { id: last, action: shell, with: { run: echo done } }
"""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened(tmp_path) as desk:
        (desk.home.processes / "look.yaml").write_text(LOOK)
        (tmp_path / "look.txt").write_text("The sky is blue.\n")
        yield desk


def debug(desk: Desk, *args: str) -> dict[str, Any]:
    done = desk.run("debug", *args, "--json")
    assert done.returncode == 0, done
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_one_command_shows_prompt_gates_and_history_and_its_tokens_add_up(desk: Desk) -> None:
    execution_id = json.loads(desk.run("run", "look", "--json").stdout)["id"]

    found_ = debug(desk)
    printed = desk.run("debug", execution_id).stdout

    prompt = found_["prompt"]
    assert (found_["id"], found_["status"], found_["reason"]) == (
        execution_id, "paused", "breakpoint",
    )  # fmt: skip
    assert (found_["step"], found_["breakpoints"]) == ("look", ["look"])
    assert [message["role"] for message in prompt["messages"]] == ["system", "user"]
    assert prompt["tokens"] == sum(message["tokens"] for message in prompt["messages"])
    assert prompt["tokens"] == sum(section["tokens"] for section in prompt["sections"])
    parts = [part for message in prompt["messages"] for part in message["parts"]]
    assert prompt["tokens"] == sum(part["tokens"] for part in parts)
    sent = desk.run("prompt", "show", f"{execution_id}/look").stdout
    assert "".join(part["text"] for part in parts) == sent
    assert [(g["gate"], g["step"], g["outcome"]) for g in found_["gates"]] == [
        ("file_exists", "", "passed"), ("file_exists", "look", "passed"),
    ]  # fmt: skip
    assert found_["gates"][1]["evidence"]["kind"] == "file"
    kinds = [(row["kind"], row["name"]) for row in found_["history"]["rows"]]
    assert ("step", "first") in kinds
    assert ("context", "look") in kinds
    for text in (
        "at the breakpoint before step look",
        "passed   file_exists  look, ",
        f"the prompt for extractive: {prompt['tokens']:,} of 24,000 tokens",
        "  system  ",
        "    | question: What colour is the sky?",
        "0 of 0 items considered are in it",
        f"cortex execution resume {execution_id} --step",
        f"cortex execution edit {execution_id}",
    ):
        assert text in printed


def test_an_edit_is_shown_with_who_made_it_and_the_past_without_it(desk: Desk) -> None:
    execution_id = json.loads(desk.run("run", "look", "--json").stdout)["id"]
    log = [json.loads(line) for line in desk.run("events", "query", "--json").stdout.splitlines()]
    edit = ("execution", "edit", execution_id, "--replace", "What colour", "What hue")
    desk.run(*edit, "--note", "clearer")

    now, then = debug(desk), debug(desk, "--at", str(log[-1]["position"]))

    def text(document: dict[str, Any]) -> str:
        messages = document["prompt"]["messages"]
        return "".join(part["text"] for each in messages for part in each["parts"])

    assert ("What hue" in text(now), "What colour" in text(then)) == (True, True)
    assert [(each["by"], each["note"]) for each in now["prompt"]["edits"]] == [("owner", "clearer")]
    edited = [
        part["section"] for each in now["prompt"]["messages"] for part in each["parts"]
        if part["edited_by"] == ["owner"]
    ]  # fmt: skip
    assert set(edited) == {"step"}
    assert then["edits"] == []
    assert "edited by owner" in desk.run("debug").stdout


def test_it_goes_on_by_one_step_and_then_to_the_end(desk: Desk) -> None:
    execution_id = json.loads(desk.run("run", "look", "--break", "first", "--json").stdout)["id"]
    go_on = ("execution", "resume", execution_id)

    at_first = debug(desk)
    stepped = [desk.run(*go_on, "--step") for _ in range(2)]
    at_last = debug(desk)
    mixed = desk.run(*go_on, "--step", "--answer", "x")
    done = desk.run(*go_on, "--json")

    assert at_first["next"] == {
        "step": "first", "does": "shell", "parameters": {"run": "echo one"},
    }  # fmt: skip
    assert [each.returncode for each in stepped] == [5, 5]
    assert "resumed  by one step, by owner" in stepped[0].stderr
    assert "the context that Cortex sends when step look continues" in stepped[0].stdout
    assert (at_last["step"], at_last["next"]["does"], at_last["prompt"]) == ("last", "shell", None)
    assert mixed.returncode == 2
    assert json.loads(done.stdout)["status"] == "completed"
    assert debug(desk)["status"] == "completed"


def test_a_hub_that_is_killed_at_a_breakpoint_shows_the_same_and_goes_on(desk: Desk) -> None:
    desk.run("up", "--background")
    following = desk.run_sleeping()
    execution_id = debug(desk)["id"]
    set_ = desk.run("execution", "break", execution_id, "rest", "--note", "look")
    desk.wake()
    following.communicate(timeout=STUCK_S)
    before = debug(desk)

    kill(desk)
    after = debug(desk)
    removed = desk.run("execution", "break", execution_id, "rest", "--remove", "--json")
    resumed = desk.run("execution", "resume", execution_id, "--json")

    assert (set_.returncode, set_.stdout) == (0, "pauses before rest\n")
    assert following.returncode == 5
    assert (before["step"], before["reason"], before["breakpoints"]) == (
        "rest", "breakpoint", ["rest"],
    )  # fmt: skip
    assert after == before
    assert json.loads(removed.stdout)["breakpoints"] == []
    document = json.loads(resumed.stdout)
    assert document["status"] == "completed"
    assert [each["changed"] for each in document["edits"]] == [
        {"added": ["rest"], "removed": []}, {"added": [], "removed": ["rest"]},
    ]  # fmt: skip
    assert topics(desk).count("step.execute") == 2


def test_a_step_in_the_middle_of_which_the_hub_is_killed_still_stops_behind_it(desk: Desk) -> None:
    desk.run("up", "--background")
    execution_id = json.loads(desk.run("run", "sleeping", "--break", "nap", "--json").stdout)["id"]
    go_on = ("execution", "resume", execution_id)
    following = desk.begin(*go_on, "--step")
    until(lambda: "effect.intended" in desk.topics())

    kill(desk)
    following.communicate(timeout=STUCK_S)
    desk.wake()
    continued = desk.run(*go_on)  # the next runtime hears how the program ended
    stands = debug(desk)
    done = desk.run(*go_on)

    assert continued.returncode == 5, continued
    assert (stands["step"], stands["reason"], stands["breakpoints"]) == (
        "rest",
        "breakpoint",
        ["nap"],
    )
    assert done.returncode == 0, done
    assert topics(desk).count("step.execute") == 2


def kill(desk: Desk) -> None:
    note = found(desk.home)
    assert note is not None
    os.kill(note.pid, signal.SIGKILL)
    until(lambda: found(desk.home) is None)


def topics(desk: Desk) -> list[str]:
    done = desk.run("events", "query", "--json")
    return [json.loads(line)["topic"] for line in done.stdout.splitlines()]


def test_what_is_no_step_or_no_execution_is_refused_in_one_line(desk: Desk) -> None:
    execution_id = json.loads(desk.run("run", "look", "--json").stdout)["id"]
    break_ = ("execution", "break", execution_id)
    before = topics(desk)

    ended = desk.all(
        ("debug", "nobody"),
        (*break_, "lok"),
        (*break_, "look"),
        break_,
        ("execution", "break", "nobody", "look"),
    )

    assert [each.returncode for each in ended] == [3, 3, 1, 2, 3]
    said = [each.stderr.splitlines() for each in ended]
    assert all(len(lines) == 1 for lines in said), said
    assert "step 'lok' is not in look: did you mean `look`?" in said[1][0]
    assert "it would change nothing" in said[2][0]
    assert [each for each in topics(desk) if each == "execution.breakpoints_changed"] == []
    assert "execution.breakpoints_changed" not in before


def test_from_python_it_stops_steps_and_goes_on(desk: Desk) -> None:
    desk.run("up", "--background")
    desk.run("process", "list")
    (desk.folder / "awake").touch()

    with connected(desk.home) as client:
        first = run(client, "sleeping", workspace=desk.folder, breakpoints=["nap"])
        with History.open(desk.home) as history:
            shown = debug_of(history, first.execution_id)
        second = resume(client, first.execution_id, stepping=True)
        with pytest.raises(RefusedError, match="has no step 'nop': did you mean `nap`"):
            set_breakpoints(client, first.execution_id, add=["nop"])
        left = set_breakpoints(client, first.execution_id, add=["rest"], remove=["nap"])
        third = resume(client, first.execution_id)
        with pytest.raises(RefusedError, match="only what is paused"):
            resume(client, first.execution_id)

    assert (first.status, first.step_id, second.status, second.step_id) == (
        "paused", "nap", "paused", "rest",
    )  # fmt: skip
    assert shown.next is not None
    assert (shown.next.does, shown.breakpoints) == ("shell", ["nap"])
    assert left == ("rest",)
    assert third.status == "completed"


EACH = """process: each
version: 1
inputs: { list: { type: list, default: [one, two] } }
steps:
  - id: each
    for_each: "${inputs.list}"
    as: n
    action: answer_question
    description: Say what is asked.
    with: { question: "What is ${n}?" }
    breakpoint: true
  - { id: last, action: shell, with: { run: echo done } }
"""


def test_items_that_wait_each_with_a_prompt_are_named_and_shown_one_by_one(desk: Desk) -> None:
    (desk.home.processes / "each.yaml").write_text(EACH)
    execution_id = json.loads(desk.run("run", "each", "--json").stdout)["id"]

    whole, printed = debug(desk), desk.run("debug").stdout
    items = [row["execution"] for row in whole["items"]["waiting"]]
    one = debug(desk, items[1])
    stepped = json.loads(desk.run("execution", "resume", execution_id, "--step", "--json").stdout)

    assert (whole["id"], whole["prompt"], len(items)) == (execution_id, None, 2)
    assert "each  0 of 2 completed, 2 waiting" in printed
    assert f"cortex debug {items[0]}" in printed
    assert (one["parent"], one["step"], one["breakpoints"]) == (execution_id, "each", ["each"])
    texts = [part["text"] for each in one["prompt"]["messages"] for part in each["parts"]]
    assert "question: What is two?\n" in texts
    assert (stepped["status"], stepped["reason"], stepped["step"]) == (
        "paused", "breakpoint", "last",
    )  # fmt: skip


def test_what_is_left_out_or_cut_is_listed_once_with_its_size_and_reason(desk: Desk) -> None:
    (desk.folder / "notes.md").write_text(
        "".join(f"# Part {n}\n\n{n} words.\n\n" for n in range(300))
    )
    (desk.home.config_path).write_text("[context.budgets]\nhistory = 300\n")
    (desk.home.processes / "cut.yaml").write_text(
        "process: cut\nversion: 1\nsteps:\n"
        "  - { id: read, action: read_text, with: { path: notes.md } }\n"
        "  - { id: say, action: answer_question, description: Say it., breakpoint: true,\n"
        "      with: { question: What is in part 7? }, carry: [read] }\n"
    )
    give_trust(desk.home.path, by="the test")
    ran = desk.run("run", "cut", "--json")
    assert ran.returncode == 5, ran

    found_, printed = debug(desk)["prompt"], desk.run("debug").stdout

    (cut,) = found_["left_out"]
    assert cut["state"] in ("partial", "out")
    assert cut["whole_tokens"] > 300 >= cut["tokens"]
    assert printed.count(cut["why"]) == 1
    assert next(each for each in found_["sections"] if each["section"] == "history")["most"] == 300
