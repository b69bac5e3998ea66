"""At a breakpoint: the prompt is edited, a step skipped, a result given; none of it is lost."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ..waiting import until
from .command_lines import CORTEX
from .up_world import STUCK_S, Desk

LOOK = """process: look
version: 1
steps:
  - { id: first, action: shell, with: { run: echo one } }
  - id: look
    action: answer_question
    description: Say what is asked.
    with: { question: What colour is the sky? }
    breakpoint: true
  - { id: last, action: shell, with: { run: echo done } }
"""
HUE = """process: hue
version: 1
inputs: { word: string }
steps:
  - id: look
    action: answer_question
    description: Say what is asked.
    with: { question: "What ${inputs.word} is the sky?" }
    breakpoint: true
"""
OPEN = """process: opened
version: 1
steps:
  - { id: one, action: shell, with: { run: exit 3 } }
  - { id: two, action: shell, with: { run: echo done } }
"""
ASK = """process: ask
version: 1
gates: [approved]
steps:
  - { id: one, action: shell, with: { run: echo one } }
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path)
    for name, source in (("look", LOOK), ("hue", HUE), ("opened", OPEN), ("ask", ASK)):
        (desk.home.processes / f"{name}.yaml").write_text(source)
    return desk


def begun(desk: Desk, process: str) -> str:
    execution_id: str = json.loads(desk.run("run", process, "--json").stdout)["id"]
    return execution_id


def document(desk: Desk, execution_id: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(desk.run("execution", "show", execution_id, "--json").stdout)
    return found


def test_an_edited_prompt_is_shown_explained_and_sent(desk: Desk) -> None:
    execution_id = begun(desk, "look")
    edit = ("execution", "edit", execution_id)

    done, *wrong = desk.all(
        (*edit, "--replace", "What colour", "What hue", "--note", "clearer"),
        edit,
        (*edit, "--replace", "sky", "sky"),
        (*edit, "--replace", "no such text", "x"),
        (*edit, "--replace", "=== step ===", "=== end ==="),
        (*edit, "--replace", "What hue", "ghp_0123456789abcdefghij0123"),
        (*edit, "--file", "missing.txt"),
        ("execution", "edit", "nobody", "--replace", "a", "b"),
    )
    shown = document(desk, execution_id)
    printed_, manifest_, rebuilt = desk.all(
        ("execution", "show", execution_id),
        ("prompt", "show", f"{execution_id}/look", "--manifest"),
        ("prompt", "show", f"{execution_id}/look", "--rebuild"),
    )
    printed, manifest = printed_.stdout, manifest_.stdout
    before, after = shown["edits"][0]["before"], shown["edits"][0]["prompt"]
    diff = desk.run("prompt", "diff", before, after).stdout
    resumed = desk.run("execution", "resume", execution_id, "--json")

    assert done.returncode == 0, done
    assert "resumed" not in done.stderr
    assert "What hue is the sky?" in done.stdout
    assert f"cortex execution resume {execution_id}" in done.stdout
    assert [each.returncode for each in wrong] == [2, 1, 1, 1, 1, 2, 3]
    assert all("Traceback" not in each.stderr and each.stderr for each in wrong)
    assert [(e["by"], e["note"], e["step"]) for e in shown["edits"]] == [
        ("owner", "clearer", "look")
    ]
    assert "changed    the context of look: the step itself; by owner; clearer" in printed
    assert "edited        the step itself, by owner: clearer" in manifest
    assert rebuilt.returncode == 0, rebuilt
    assert "What hue is the sky?" in rebuilt.stdout
    assert "edited by owner: clearer" in diff
    assert "+question: What hue is the sky?" in diff
    assert json.loads(resumed.stdout)["status"] == "completed"
    assert "ghp_" not in desk.run("events", "query", "--topic", "*.*", "--json").stdout


def test_another_input_shows_the_prompt_again_with_the_edits_that_still_fit(desk: Desk) -> None:
    begun_ = json.loads(desk.run("run", "hue", "-i", "word=hue", "--json").stdout)
    execution_id = begun_["id"]
    resume = ("execution", "resume", execution_id)
    desk.run("execution", "edit", execution_id, "--replace", "the sky", "the sea")
    desk.run("execution", "edit", execution_id, "--replace", "What hue", "Which hue")

    done = desk.run(*resume, "-i", "word=tone")
    manifest = desk.run("prompt", "show", f"{execution_id}/look", "--manifest").stdout
    rebuilt = desk.run("prompt", "show", f"{execution_id}/look", "--rebuild")
    asked = topics(desk, execution_id).count("model.invoke")
    resumed = desk.run(*resume, "--json")

    assert done.returncode == 5, done
    assert "question: What tone is the sea?" in done.stdout
    assert "without the change of the step itself, by owner: its old text" in done.stdout
    assert "without the change of the step itself, by owner: its old text" in done.stderr
    assert manifest.count("not in this prompt") == 1
    assert rebuilt.returncode == 0, rebuilt
    assert asked == 0
    document_ = json.loads(resumed.stdout)
    assert document_["status"] == "completed"
    assert len(document_["contexts"][-1]["unedited"]) == 1
    assert topics(desk, execution_id).count("model.invoke") == 1


def test_an_edit_is_there_after_its_command_was_killed(desk: Desk) -> None:
    execution_id = begun(desk, "look")
    edited = desk.folder / "edited.txt"
    prompt = document(desk, execution_id)["prompt"]
    edited.write_text(prompt.replace("What colour", "What hue"))
    command = [str(CORTEX), "execution", "edit", execution_id, "--file", str(edited)]

    killed = subprocess.Popen(
        command, cwd=desk.folder, env=desk.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )  # fmt: skip
    until(lambda: "context.edit" in topics(desk, execution_id))
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate(timeout=STUCK_S)
    resumed = desk.run("execution", "resume", execution_id)
    if "context.edited" in topics(desk, execution_id) and resumed.returncode == 5:
        resumed = desk.run("execution", "resume", execution_id)  # it was compiled, and shown, now

    assert resumed.returncode == 0, resumed
    sent = desk.run("prompt", "show", f"{execution_id}/look").stdout
    assert "What hue is the sky?" in sent
    assert topics(desk, execution_id).count("context.edited") == 1
    assert topics(desk, execution_id).count("model.invoke") == 1


def topics(desk: Desk, execution_id: str) -> list[str]:
    done = desk.run("events", "query", "--execution", execution_id, "--json")
    return [json.loads(line)["topic"] for line in done.stdout.splitlines()]


def test_a_breakpoint_before_an_action_shows_what_it_is_about_to_do(desk: Desk) -> None:
    paused = desk.run("run", "opened", "--break", "two")
    resume = desk.run("run", "opened", "--break", "one")
    execution_id = resume.stdout.split("execution resume ")[1].split()[0]
    found, shown = document(desk, execution_id), desk.run("execution", "show", execution_id)
    done = desk.run("execution", "resume", execution_id)

    assert "halted" in paused.stdout  # its first step fails before that
    for said in (resume, shown):
        assert "step one continues with shell:\n  run: exit 3\n" in said.stdout
    assert "paused: breakpoint at step one" in resume.stdout
    assert found["next"] == {"step": "one", "does": "shell", "parameters": {"run": "exit 3"}}
    assert "continues with" not in done.stdout
    assert document(desk, execution_id)["next"] is None


def test_a_step_is_skipped_or_its_result_given_and_who_did_is_shown(desk: Desk) -> None:
    skipped, given = begun(desk, "opened"), begun(desk, "opened")
    resume = ("execution", "resume")

    wrong = desk.all(
        (*resume, skipped, "--skip", "onne"),
        (*resume, skipped, "--skip", "one", "--approve"),
        (*resume, skipped, "--skip", "one", "--result", "one=x"),
        (*resume, given, "--result", "one"),
        (*resume, given, "--result", 'one={"output": 3}'),
        (*resume, given, "--result", f'one={{"output": {"[" * 3000}{"]" * 3000}}}'),
        (*resume, given, "--result", f"one={'[' * 60_000}"),
        (*resume, given, "--result", "onne=1"),
    )
    done = desk.run(*resume, skipped, "--skip", "one", "--note", "by hand")
    fields = {"exit_code": 0, "stdout": "fine", "stderr": "", "stdout_blob": "", "stderr_blob": ""}
    result = f"one={json.dumps(fields)}"
    gave = desk.run(*resume, given, "--result", result)

    assert [each.returncode for each in wrong] == [1, 2, 2, 2, 1, 1, 1, 1], wrong
    assert "did you mean `one`?" in wrong[0].stderr
    assert "opened has no step 'onne': did you mean `one`?" in wrong[-1].stderr
    assert all("Traceback" not in each.stderr for each in wrong)
    assert all(each.stderr.count("\n") == 1 and len(each.stderr) < 2_000 for each in wrong[4:])
    assert (done.returncode, gave.returncode) == (0, 0), (done, gave)
    assert document(desk, skipped)["steps"] == {"one": "skipped", "two": "completed"}
    assert document(desk, given)["results"]["one"]["stdout"] == "fine"
    shown = desk.run("execution", "show", skipped).stdout
    assert "changed    one is skipped; by owner; by hand" in shown


def test_a_cancelled_execution_asks_nobody_any_more(desk: Desk) -> None:
    execution_id = begun(desk, "ask")

    cancelled = desk.run("execution", "cancel", execution_id)
    shown = desk.run("execution", "show", execution_id)
    edited = desk.run("execution", "edit", execution_id, "--replace", "a", "b")
    again = desk.run("execution", "cancel", execution_id)

    assert (edited.returncode, again.returncode) == (1, 1)
    assert f"{execution_id} is cancelled: it sends no more prompts" in edited.stderr
    assert f"{execution_id} is cancelled: there is nothing to cancel" in again.stderr
    for said in (cancelled.stdout, shown.stdout):
        assert "Shall this go on?" not in said
        assert "resume" not in said
    assert document(desk, execution_id)["question"] == ""
