"""A real checkout, a real server, a real SDK: a failing test becomes a green commit."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.actors.library import library_sources
from cortex.bus.events import (
    ContextCompiled,
    ExecutionCompleted,
    ExecutionHalted,
    ExecutionResume,
    GateEvaluated,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepFailed,
    StepReopened,
    StepWake,
)
from cortex.runtime.kernel import Home, Runtime

from ..staff_world import Run, World
from .repair_world import (
    DIAGNOSIS,
    KEY,
    KEY_ENV,
    PYTHON,
    SERVERS,
    SHAPES,
    SHOPS,
    Answer,
    Server,
    Shop,
    assert_green,
    checkout_of,
    diagnosis,
    model,
    need_sdk,
    patch,
    print_of,
    use,
)

STOPPED_BY_GATE = """\
process: fix_behind_a_gate
extends: fix_ci_failure
version: 1
description: The same, where a red run of tests is a result and the gate looks at it
steps:
  - inherit: all
  - id: verify
    action: run_tests
    description: Run the tests on the repaired code
    with: {command: "${inputs.test_command}", checkout: "${inputs.checkout}"}
"""


class Workshop:
    """A runtime whose one model is a scripted server."""

    def __init__(self, server: Server, world: World) -> None:
        self.server, self.world = server, world

    def script(self, *answers: Answer) -> None:
        self.server.script.answers[:] = answers
        self.server.asked.clear()

    def repair(self, checkout: Path, process: str = "fix_ci_failure", **inputs: Any) -> Run:
        inputs = {"log": str(checkout.parent / "ci.log"), **inputs}
        return self.world.run(process, inputs, workspace=str(checkout), goal="make main green")

    def prompts(self, run: Run, step_id: str) -> list[str]:
        """What the log says was sent for a step, in order."""
        return [
            self.world.blobs.get(each.prompt).decode()
            for each in run.all(ContextCompiled)
            if each.step_id == step_id
        ]


@pytest.fixture(scope="module", params=SHAPES)
def shop_floor(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workshop]:
    need_sdk(request.param)
    home = Home.create(tmp_path_factory.mktemp("repair") / ".cortex")
    with contextlib.ExitStack() as stack:
        patched = stack.enter_context(pytest.MonkeyPatch.context())
        patched.setenv(KEY_ENV, KEY)
        server = stack.enter_context(SERVERS[request.param]())
        runtime = stack.enter_context(Runtime(use(home, model("scripted", server))))
        world = World(runtime)
        world.submit_files({**library_sources(), "behind_a_gate": STOPPED_BY_GATE})
        yield Workshop(server, world)


@pytest.mark.parametrize("language", SHOPS)
def test_a_failing_test_becomes_a_green_commit(
    shop_floor: Workshop, language: str, tmp_path: Path
) -> None:
    shop = SHOPS[language]
    checkout = checkout_of(shop, tmp_path)
    before = print_of(checkout)
    shop_floor.script(diagnosis(), patch(shop.fix))

    run = shop_floor.repair(checkout)

    assert run.outcome == "completed", run.end
    assert_green(shop, checkout, run.last(ExecutionCompleted).outputs["branch"], tmp_path)
    assert print_of(checkout) == before
    assert [asked.step_id for asked in run.all(ModelInvoke)] == ["diagnose", "implement_fix"]
    assert len(shop_floor.server.asked) == 2


def test_a_wrong_patch_halts_at_the_gate_and_a_resume_tries_again(
    shop_floor: Workshop, tmp_path: Path
) -> None:
    checkout = checkout_of(PYTHON, tmp_path)
    before = print_of(checkout)
    shop_floor.script(diagnosis(), patch(PYTHON.wrong), patch(PYTHON.fix))

    run = shop_floor.repair(checkout, "fix_behind_a_gate")
    assert run.last(ExecutionHalted).gate == "tests_pass"
    assert print_of(checkout) == before
    again = ExecutionResume(execution_id=run.execution_id, from_step="implement_fix")
    run = shop_floor.world.stopped(run.execution_id, shop_floor.world.client.publish(again))

    assert run.outcome == "completed", run.end
    assert_green(PYTHON, checkout, run.last(ExecutionCompleted).outputs["branch"], tmp_path)
    assert [g.outcome for g in run.all(GateEvaluated) if g.gate == "tests_pass"] == [
        "failed",
        "passed",
    ]
    first, second = shop_floor.prompts(run, "implement_fix")
    assert "tests_pass" not in first
    assert "The gate tests_pass of commit did not pass" in second
    assert "test_total_adds_up" in second


def test_a_wrong_patch_is_tried_again_by_itself_with_its_failure_in_the_prompt(
    shop_floor: Workshop, tmp_path: Path
) -> None:
    checkout = checkout_of(PYTHON, tmp_path)
    shop_floor.script(diagnosis(), patch(PYTHON.wrong), patch(PYTHON.fix))

    run = shop_floor.repair(checkout)

    assert run.outcome == "completed", run.end
    assert_green(PYTHON, checkout, run.last(ExecutionCompleted).outputs["branch"], tmp_path)
    (reopened,) = run.all(StepReopened)
    assert (reopened.step_id, reopened.by, reopened.times) == ("implement_fix", "verify", 1)
    first, second = shop_floor.prompts(run, "implement_fix")
    assert "tests_failed" not in first
    assert "Attempt 1 of verify failed (tests_failed)" in second
    assert "AssertionError: 0 != 3" in second
    assert "result *= price" in second  # the change that was tried


def test_a_change_that_stays_wrong_halts_and_is_never_committed(
    shop_floor: Workshop, tmp_path: Path
) -> None:
    checkout = checkout_of(PYTHON, tmp_path)
    before = print_of(checkout)
    shop_floor.script(diagnosis(), *[patch(PYTHON.wrong)] * 3)

    run = shop_floor.repair(checkout)

    assert run.outcome == "halted", run.end
    assert run.last(ExecutionHalted).reason.endswith("(went back to implement_fix 2 times)")
    assert "commit" not in [event.step_id for event in run.all(StepCompleted)]
    assert print_of(checkout) == before


def test_a_busy_a_full_and_a_dying_server_are_asked_again(
    shop_floor: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = checkout_of(PYTHON, tmp_path)
    # A tenth of a second for the first wait: what is waited for is in the log.
    monkeypatch.setattr("cortex.runtime.processes.execution.retrying.MODEL_BACKOFF_S", 0.1)
    shop_floor.script(
        Answer(status=429, error="rate_limit_error", retry_after="0.2"),
        Answer(status=529, error="overloaded_error"),
        diagnosis(),
        patch(PYTHON.fix, die_after=2),
        patch(PYTHON.fix),
    )

    run = shop_floor.repair(checkout)

    assert run.outcome == "completed", run.end
    assert_green(PYTHON, checkout, run.last(ExecutionCompleted).outputs["branch"], tmp_path)
    failed = run.all(ModelFailed)
    assert [(each.step_id, each.kind) for each in failed] == [
        ("diagnose", "rate_limited"),
        ("diagnose", "overloaded"),
        ("implement_fix", "cut_off"),
    ]
    assert failed[0].retry_after_s == 0.2
    woken = [each for each in run.all(StepWake) if each.what == "model"]
    assert [(each.step_id, each.index) for each in woken] == [
        ("diagnose", 1),
        ("diagnose", 2),
        ("implement_fix", 1),
    ]
    assert [(each.step_id, each.call) for each in run.all(ModelResponded)] == [
        ("diagnose", 3),
        ("implement_fix", 2),
    ]
