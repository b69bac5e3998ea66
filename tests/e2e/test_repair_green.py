"""A real checkout, a real server, a real SDK: a failing test becomes a green commit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cortex.bus.events import (
    ExecutionCompleted,
    ExecutionHalted,
    ExecutionResume,
    GateEvaluated,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepReopened,
    StepWake,
    ToolReturned,
)

from ..servers import Answer, Tool
from .repair_workshop import Workshop, workshop
from .repair_world import (
    PYTHON,
    SHAPES,
    SHOPS,
    assert_green,
    checkout_of,
    diagnosis,
    patch,
    print_of,
)

ALL_BEFORE = 1 << 62  # of a resume: whoever sends it has seen what was recorded before it

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
ONE_SHAPE = pytest.mark.parametrize("shop_floor", ["openai"], indirect=True)


@pytest.fixture(scope="module", params=SHAPES)
def shop_floor(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workshop]:
    folder = tmp_path_factory.mktemp("repair")
    with workshop(request.param, folder, behind_a_gate=STOPPED_BY_GATE) as opened:
        yield opened


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


@ONE_SHAPE
def test_a_wrong_patch_halts_at_the_gate_and_a_resume_tries_again(
    shop_floor: Workshop, tmp_path: Path
) -> None:
    checkout = checkout_of(PYTHON, tmp_path)
    before = print_of(checkout)
    shop_floor.script(diagnosis(), patch(PYTHON.wrong), patch(PYTHON.fix))

    run = shop_floor.repair(checkout, "fix_behind_a_gate")
    assert run.last(ExecutionHalted).gate == "tests_pass"
    assert print_of(checkout) == before
    again = ExecutionResume(
        seen=ALL_BEFORE, execution_id=run.execution_id, from_step="implement_fix"
    )
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


@ONE_SHAPE
def test_a_model_reads_the_files_as_its_edits_will_find_them(
    shop_floor: Workshop, tmp_path: Path
) -> None:
    checkout = checkout_of(PYTHON, tmp_path)
    looks = tuple(Tool(f"call{n}", "read_file", {"path": "cart.py"}) for n in (1, 2))
    shop_floor.script(
        diagnosis(),
        Answer(tools=looks[:1]),
        patch(PYTHON.wrong),
        Answer(tools=looks[1:]),
        patch(PYTHON.fix),
    )

    run = shop_floor.repair(checkout)

    assert run.outcome == "completed", run.end
    assert_green(PYTHON, checkout, run.last(ExecutionCompleted).outputs["branch"], tmp_path)
    seen = [
        shop_floor.world.blobs.get(returned.result).decode() for returned in run.all(ToolReturned)
    ]
    assert len(seen) == 2
    # What was wrong is dropped, so it is not what the model sees when it tries again.
    assert all("result -= price" in text and "result *= price" not in text for text in seen)
    first, second, *_ = shop_floor.prompts(run, "implement_fix")
    assert "result -= price" in second.removeprefix(first)


@ONE_SHAPE
def test_a_change_that_stays_wrong_halts_and_is_never_committed(
    shop_floor: Workshop, tmp_path: Path
) -> None:
    checkout = checkout_of(PYTHON, tmp_path)
    before = print_of(checkout)
    shop_floor.script(diagnosis(), *[patch(PYTHON.wrong)] * 3)

    run = shop_floor.repair(checkout)

    assert run.outcome == "halted", run.end
    assert run.last(ExecutionHalted).reason.endswith(
        "(went back to implement_fix 2 times; resume --from implement_fix tries again)"
    )
    assert "commit" not in [event.step_id for event in run.all(StepCompleted)]
    assert print_of(checkout) == before


def test_a_busy_a_full_and_a_dying_server_are_asked_again(
    shop_floor: Workshop, tmp_path: Path
) -> None:
    checkout = checkout_of(PYTHON, tmp_path)
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
