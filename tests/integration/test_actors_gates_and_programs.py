"""Gates and programs in executions that run: what passes, what stops, and what is recorded."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from cortex.actors.gates import Command
from cortex.actors.handlers import Shell
from cortex.bus.events import (
    ExecutionCancel,
    ExecutionHalted,
    ExecutionPaused,
    ExecutionRequest,
    GateEvaluated,
    ProcessList,
    StepCompleted,
    StepExecute,
    StepFailed,
)
from cortex.runtime.kernel import Config, Home, Runtime

from ..staff_world import QUICK, World
from ..unit.actors_world import ends_with_its_group


@pytest.fixture
def spawned_here(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Gate and handler of the same kind in processes of their own, imported as a plugin's are."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "spawned"))
    return import_module("cpu_programs")


def process(name: str, step: str, *, gates: str = "", more: str = "") -> str:
    """A process of one step; *step* are the lines of it, indented by four."""
    return (
        f"process: {name}\nversion: 1\ndescription: For a test\n{more}"
        f"{f'gates: [{gates}]' if gates else ''}\n"
        f"steps:\n  - id: only\n    description: The only step\n{step}"
    )


def shell(*lines: str, run: str = "'true'") -> str:
    return "".join(f"    {line}\n" for line in ("action: shell", "with:", f"  run: {run}", *lines))


def gated(name: str, gates: str, more: str = "") -> str:
    return process(name, shell(), gates=gates, more=more)


def checkout(folder: Path) -> Path:
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    for words in (["init", "-q", "-b", "main"], [*who, "commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return folder


# Gates.


def test_all_gates_pass_with_their_evidence_before_the_first_step(
    quick: World, tmp_path: Path
) -> None:
    (checkout(tmp_path) / ".git" / "info" / "exclude").write_text("a.txt\n")
    (tmp_path / "a.txt").touch()
    quick.compiled(
        gated(
            "all_gates",
            "execution_context_exists, branch_clean, {file_exists: {path: a.txt}}, "
            "{command: {run: test -f a.txt}}",
        )
    )

    run = quick.run("all_gates", workspace=str(tmp_path))

    assert run.outcome == "completed"
    answers = run.all(GateEvaluated)
    assert [(a.gate, a.index, a.outcome) for a in answers] == [
        ("execution_context_exists", 0, "passed"),
        ("branch_clean", 1, "passed"),
        ("file_exists", 2, "passed"),
        ("command", 3, "passed"),
    ]
    assert all(answer.evidence for answer in answers)
    topics = run.topics()
    assert max(i for i, t in enumerate(topics) if t == "gate.evaluated") < topics.index(
        "step.execute"
    )


@pytest.mark.parametrize(
    ("gate", "reason"),
    [
        ("execution_context_exists", "the execution has no goal"),
        ("branch_clean", "is not a git checkout"),
        ("{file_exists: {path: gone.txt}}", "gone.txt is not there"),
        ("{command: {run: 'false'}}", "false ended with 1"),
    ],
)
def test_a_gate_that_fails_halts_with_its_reason_and_evidence_before_any_step(
    gate: str, reason: str, quick: World, tmp_path: Path
) -> None:
    name = gate.strip("{").partition(":")[0]
    quick.compiled(gated(f"fails_{name}", gate))

    run = quick.run(f"fails_{name}", workspace=str(tmp_path), goal="")

    assert run.outcome == "halted"
    halted, answer = run.last(ExecutionHalted), run.last(GateEvaluated)
    assert halted.gate == answer.gate == name
    assert halted.reason == f"gate {name} did not pass: {answer.reason}"
    assert reason in halted.reason
    assert halted.evidence == answer.evidence
    assert "step.execute" not in run.topics()


def test_a_gate_that_failed_is_asked_again_on_resume(quick: World, tmp_path: Path) -> None:
    quick.compiled(gated("later", "{file_exists: {path: late.txt}}"))
    halted = quick.run("later", workspace=str(tmp_path))
    (tmp_path / "late.txt").touch()

    resumed = quick.resume(halted)

    assert (halted.outcome, resumed.outcome) == ("halted", "completed")
    assert [a.outcome for a in resumed.all(GateEvaluated)] == ["failed", "passed"]


def test_a_gate_whose_parameter_came_out_wrong_halts_with_one_clear_line(quick: World) -> None:
    quick.compiled(
        gated(
            "wrong_parameter",
            '{file_exists: {path: "${inputs.where.path}"}}',
            more="inputs: {where: {type: map, default: {path: [a]}}}\n",
        )
    )

    run = quick.run("wrong_parameter")

    assert run.outcome == "halted"
    assert "file_exists: `path` is a list, expected a string" in run.last(ExecutionHalted).reason


@pytest.mark.parametrize(("answer", "outcome"), [("approved", "completed"), ("denied", "halted")])
def test_a_person_is_waited_for_and_the_answer_is_recorded_with_who_gave_it(
    answer: str, outcome: str, quick: World
) -> None:
    quick.compiled(gated(f"asks_{answer}", "{approved: {question: Shall it run?}}"))

    paused = quick.run(f"asks_{answer}")
    ended = quick.resume(paused, answer, by="ada")

    assert paused.outcome == "paused"
    assert paused.last(ExecutionPaused).question == "Shall it run?"
    assert ended.outcome == outcome
    verdict = ended.last(GateEvaluated)
    assert "ada" in (verdict.evidence.get("by"), verdict.reason.removesuffix(" denied it"))


@pytest.mark.parametrize("spawned", [False, True])
def test_a_cancel_ends_the_program_of_a_gate(
    spawned: bool, tmp_path: Path, spawned_here: Any
) -> None:
    home = Home.create(tmp_path / ".cortex")
    components = [each for each in QUICK if each is not Command]
    components.append(spawned_here.SpawnedCommand if spawned else Command)
    with Runtime(home, components=components) as runtime:
        world = World(runtime)
        with ends_with_its_group(tmp_path) as (shell_, option, script):
            argv = [shell_, option, script.replace("sleep 600", "touch begun; sleep 600")]
            world.compiled(gated("long_gate", f"{{command: {{run: {json.dumps(argv)}}}}}"))
            asked = ExecutionRequest(
                execution_id="long", process="long_gate", workspace=str(tmp_path)
            )
            world.client.publish(asked)
            while not (tmp_path / "begun").exists():
                world.client.ask(ProcessList())

            world.client.publish(ExecutionCancel(execution_id="long"))


# Programs.


@pytest.mark.parametrize("spawned", [False, True])
@pytest.mark.parametrize("how", ["cancel", "timeout"])
def test_the_program_of_a_step_ends_with_the_attempt(
    how: str, spawned: bool, tmp_path: Path, spawned_here: Any
) -> None:
    home = Home.create(tmp_path / ".cortex")
    components = [each for each in QUICK if each is not Shell]
    components.append(spawned_here.SpawnedShell if spawned else Shell)
    with Runtime(home, components=components) as runtime:
        world = World(runtime)
        with ends_with_its_group(tmp_path) as (shell_, option, script):
            argv = [shell_, option, script.replace("sleep 600", "touch begun; sleep 600")]
            more = ["timeout: 3s"] if how == "timeout" else []
            world.compiled(process("warm", shell(run="echo warm")))
            assert world.run("warm", workspace=str(tmp_path)).outcome == "completed"
            world.compiled(process("long_step", shell(*more, run=json.dumps(argv))))
            asked = ExecutionRequest(
                execution_id="long", process="long_step", workspace=str(tmp_path)
            )
            world.client.publish(asked)
            while not (tmp_path / "begun").exists():
                world.client.ask(ProcessList())

            if how == "cancel":
                world.client.publish(ExecutionCancel(execution_id="long"))


def test_a_program_is_run_and_its_output_can_be_read_by_the_next_step(
    quick: World, tmp_path: Path
) -> None:
    source = process("prints", shell(run="echo hello")) + (
        "  - id: keep\n    description: Keep it\n    action: write_text\n"
        "    with: {path: out.txt, text: '${steps.only.stdout}'}\n"
    )
    quick.compiled(source)

    run = quick.run("prints", workspace=str(tmp_path))

    assert run.outcome == "completed"
    assert (tmp_path / "out.txt").read_text() == "hello\n"
    first = run.all(StepCompleted)[0]
    assert quick.blobs.get(first.result["stdout_blob"]) == b"hello\n"


KEYED = """
[[models.use]]
name = "a"
provider = "openai"
base_url = "http://127.0.0.1:1/v1"
key_env = "TLLMAUTH"
"""


@pytest.mark.parametrize(
    ("env", "told"), [([], "none"), (["TLLMAUTH"], "sent")], ids=["unnamed", "named"]
)
def test_the_key_of_a_model_reaches_a_step_and_a_gate_only_where_they_name_it(
    env: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TLLMAUTH", "sentinel")
    home = Home.create(tmp_path / ".cortex")
    # The key itself would be masked in what is recorded.
    argv = json.dumps(["sh", "-c", 'test -n "$TLLMAUTH" && echo sent || echo none'])
    gate = f"{{command: {{run: {argv}, env: {json.dumps(env)}}}}}"
    step = shell(f"  env: {json.dumps(env)}", run=argv)

    with Runtime(home, config=Config.parse(KEYED), components=QUICK) as runtime:
        world = World(runtime)
        world.compiled(process("keyed", step, gates=gate))
        run = world.run("keyed", workspace=str(tmp_path))

    assert run.last(StepCompleted).result["stdout"] == f"{told}\n"
    assert run.last(GateEvaluated).evidence["output"] == told


def test_a_program_that_fails_halts_the_execution_with_what_it_said(quick: World) -> None:
    quick.compiled(process("fails", shell(run="ls /no/such/file")))

    run = quick.run("fails")

    assert run.outcome == "halted"
    reason = run.last(ExecutionHalted).reason
    assert reason.startswith("ls ended with ")
    assert "/no/such/file" in reason


def test_a_program_that_may_fail_gives_its_exit_code(quick: World) -> None:
    source = process("may_fail", shell("  may_fail: true", run="'false'")) + (
        "outputs:\n  code: {type: integer, value: '${steps.only.exit_code}'}\n"
    )
    quick.compiled(source)

    run = quick.run("may_fail")

    assert run.outcome == "completed"
    assert getattr(run.end, "outputs", None) == {"code": 1}


def test_a_program_that_fails_is_tried_again_as_often_as_the_step_says(
    quick: World, tmp_path: Path
) -> None:
    (tmp_path / "third.py").write_text(
        "from pathlib import Path\n"
        "runs = Path('runs'); runs.open('a').write('.')\n"
        "raise SystemExit(len(runs.read_text()) < 3)\n"
    )
    step = shell("retry: {attempts: 3, backoff_s: 0}", run=f"{sys.executable} third.py")
    quick.compiled(process("retried", step))

    run = quick.run("retried", workspace=str(tmp_path))

    assert run.outcome == "completed"
    assert [each.attempt for each in run.all(StepExecute)] == [1, 2, 3]
    assert (tmp_path / "runs").read_text() == "..."


def test_a_program_that_takes_too_long_fails_as_a_timeout(quick: World) -> None:
    quick.compiled(process("slow", shell("  timeout_s: 0.3", run="sleep 600")))

    run = quick.run("slow")

    assert run.outcome == "halted"
    assert run.last(StepFailed).kind == "timeout"
    assert run.last(ExecutionHalted).reason == "sleep was ended after 0.3 s"


def test_a_failure_that_may_be_passed_over_lets_the_next_step_run(quick: World) -> None:
    source = process("goes_on", shell("on_failure: continue", run="'false'")) + (
        "  - id: after\n    description: After it\n    action: shell\n    with: {run: 'true'}\n"
    )
    quick.compiled(source)

    run = quick.run("goes_on")

    assert run.outcome == "completed"
    assert [each.step_id for each in run.all(StepFailed)] == ["only"]
    assert [each.step_id for each in run.all(StepCompleted)] == ["after"]


def test_a_step_whose_parameter_came_out_wrong_is_refused_in_one_line(quick: World) -> None:
    source = process(
        "wrong_step",
        shell("  folder: '${inputs.what.folder}'"),
        more="inputs: {what: {type: map, default: {folder: 3}}}\n",
    )
    quick.compiled(source)

    run = quick.run("wrong_step")

    failed = run.last(StepFailed)
    assert (failed.kind, failed.retry) == ("refused", False)
    assert failed.error.startswith("shell: `folder` is the number 3, expected a string")
