"""A failing CI run, from its trigger to the report; and logs that are no logs."""

import gzip
import os
from pathlib import Path

import msgspec
import pytest

from cortex.bus.events import (
    ContextCompiled,
    ExecutionCompleted,
    ExecutionHalted,
    ExecutionRequest,
    GateEvaluated,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepFailed,
    TriggerMatched,
    TriggerReceived,
)
from cortex.runtime.context import (
    Manifest,
    prompt_text,
)

from ..staff_world import Run, World

EXAMPLES = Path(__file__).parents[2] / "examples"
LOG = EXAMPLES / "tomlkit-ci-failure.log"
CHECKOUT = EXAMPLES / "tomlkit-0.11.8"
FAILING = [  # as examples/SOURCES.md has them
    "tests/test_items.py::test_dates_behave_like_dates",
    "tests/test_items.py::test_times_behave_like_times",
]
SHORT = "running\nFAILED tests/test_cart.py::test_total - assert 3 == 4\n1 failed\n"


@pytest.fixture(scope="module")
def triaged(whole: World) -> Run:
    """The example, triaged because a trigger came in."""
    if not LOG.is_file():
        pytest.skip("examples/ is not beside these tests")
    after = whole.client.publish(
        TriggerReceived(
            trigger_id="ci-42",
            fields={"source": "ci", "status": "failure", "branch": "main"},
            inputs={"log": str(LOG), "checkout": str(CHECKOUT)},
            goal="say why the build is red",
            workspace=str(EXAMPLES),
        )
    )
    matched = whole.wait(lambda said: isinstance(said.event, TriggerMatched), after).event
    assert isinstance(matched, TriggerMatched)
    assert matched.process == "triage_ci_failure"
    return whole.stopped(matched.execution_id, after)


def triage(whole: World, log: str, workspace: Path) -> Run:
    return whole.run("triage_ci_failure", {"log": log}, workspace=str(workspace), goal="triage")


def test_a_trigger_of_a_failing_build_starts_the_triage(triaged: Run) -> None:
    (request,) = triaged.all(ExecutionRequest)

    assert triaged.outcome == "completed"
    assert (request.trigger, request.goal) == ("ci-42", "say why the build is red")
    assert {answer.outcome for answer in triaged.all(GateEvaluated)} == {"passed"}


def test_the_report_names_the_failing_tests_the_error_and_the_line(triaged: Run) -> None:
    outputs = triaged.last(ExecutionCompleted).outputs
    diagnosis = triaged.last(StepCompleted).result

    assert sorted(outputs["failing"]) == FAILING
    assert diagnosis["locations"][0] == "tomlkit/items.py:1031"
    assert "tests/test_items.py:687" in diagnosis["locations"]
    for named in (*FAILING, "TypeError: Time.__init__() missing 2", "tomlkit/items.py:1031"):
        assert named in outputs["report"]


def test_the_lines_that_prove_it_stand_in_the_log_under_their_numbers(triaged: Run) -> None:
    lines = LOG.read_text().splitlines()
    read = triaged.all(StepCompleted)[0].result

    shown = 0
    for finding in read["findings"]:
        for evidence in finding["evidence"]:
            for number, text in enumerate(evidence["text"].split("\n"), evidence["first"]):
                shown += 1
                assert text.strip() in lines[number - 1]
    assert shown
    assert (read["lines"], read["size_bytes"]) == (4_721, LOG.stat().st_size)


def test_a_small_part_of_the_log_is_compiled_into_the_context_before_the_model_is_asked(
    triaged: Run, whole: World
) -> None:
    compiled, asked = triaged.last(ContextCompiled), triaged.last(ModelInvoke)
    read = triaged.all(StepCompleted)[0].result
    topics = triaged.topics()

    assert topics.index("context.compiled") < topics.index("model.invoke")
    assert asked.prompt == compiled.prompt
    assert compiled.tokens * 10 < read["tokens"]
    manifest = msgspec.json.decode(whole.blobs.get(compiled.manifest), type=Manifest)
    kinds = {entry.kind for entry in manifest.items if entry.state != "out"}
    assert kinds == {"knowledge", "evidence", "code"}


def test_the_answer_says_that_it_is_extractive_and_every_span_stands_in_the_prompt(
    triaged: Run, whole: World
) -> None:
    answer = triaged.last(ModelResponded)
    prompt = prompt_text(whole.blobs.get(answer.prompt))

    assert answer.answer["extractive"]
    assert answer.answer["spans"]
    assert all(span["text"] in prompt for span in answer.answer["spans"])


def test_a_packed_log_is_triaged_without_a_checkout(whole: World, tmp_path: Path) -> None:
    (tmp_path / "ci.log.gz").write_bytes(gzip.compress(SHORT.encode()))

    run = triage(whole, "ci.log.gz", tmp_path)

    assert run.outcome == "completed"
    assert run.last(ExecutionCompleted).outputs["failing"] == ["tests/test_cart.py::test_total"]


def test_a_triage_goes_on_where_the_checkout_cannot_be_read(whole: World, tmp_path: Path) -> None:
    (tmp_path / "ci.log").write_text(SHORT)
    inputs = {"log": "ci.log", "checkout": "gone"}

    run = whole.run("triage_ci_failure", inputs, workspace=str(tmp_path), goal="triage")

    assert run.outcome == "completed"
    assert run.last(StepFailed).step_id == "locate_source"
    assert "test_total" in run.last(ExecutionCompleted).outputs["report"]


def test_an_empty_log_is_reported_as_one_that_says_nothing(whole: World, tmp_path: Path) -> None:
    (tmp_path / "ci.log").touch()

    run = triage(whole, "ci.log", tmp_path)

    assert run.outcome == "completed"
    outputs = run.last(ExecutionCompleted).outputs
    assert outputs["failing"] == []
    assert "log is empty" in outputs["report"].splitlines()[0]
    assert "What failed" not in outputs["report"]


def test_a_log_that_is_not_there_halts_at_the_gate_before_any_step(
    whole: World, tmp_path: Path
) -> None:
    run = triage(whole, "gone.log", tmp_path)

    assert run.outcome == "halted"
    halted = run.last(ExecutionHalted)
    assert halted.gate == "file_exists"
    assert f"{tmp_path}/gone.log is not there" in halted.reason
    assert "step.execute" not in run.topics()


@pytest.mark.parametrize("kind", ["binary", "packed and cut", "folder", "pipe"])
def test_what_is_no_log_halts_with_one_clear_line(kind: str, whole: World, tmp_path: Path) -> None:
    log = tmp_path / "ci.log"
    if kind == "binary":
        log.write_bytes(bytes(range(256)) * 99)
    elif kind == "packed and cut":
        log.write_bytes(gzip.compress(SHORT.encode() * 999)[:-20])
    elif kind == "folder":
        log.mkdir()
    else:
        os.mkfifo(log)

    run = triage(whole, "ci.log", tmp_path)

    assert run.outcome == "halted"
    halted = run.last(ExecutionHalted)
    assert halted.step_id == "read_failure"
    assert str(log) in halted.reason
    assert "\n" not in halted.reason


def test_a_log_that_vanishes_after_its_gate_halts_and_goes_on_once_it_is_back(
    whole: World, tmp_path: Path
) -> None:
    # The runtime's own order is used: the gate has passed when this process pauses for a person.
    whole.compiled(
        "process: careful_triage\nversion: 1\ndescription: Ask before the log is read\n"
        "extends: triage_ci_failure\nsteps:\n  - inherit: all\n"
        "  - id: read_failure\n    action: read_ci_log\n    description: Read it\n"
        "    gates: [approved]\n    with: {log: '${inputs.log}'}\n"
    )
    log = tmp_path / "ci.log"
    log.write_text(SHORT)
    inputs = {"log": "ci.log"}
    paused = whole.run("careful_triage", inputs, workspace=str(tmp_path), goal="triage")
    log.unlink()

    halted = whole.resume(paused, "approved", "ada")
    log.write_text(SHORT)
    asked_again = whole.resume(halted)
    done = (
        whole.resume(asked_again, "approved", "ada")
        if asked_again.outcome == "paused"
        else (asked_again)
    )

    assert (paused.outcome, halted.outcome, done.outcome) == ("paused", "halted", "completed")
    assert f"cannot read the log {log}: No such file or directory" in (
        halted.last(ExecutionHalted).reason
    )


def test_after_all_that_no_component_has_failed(whole: World) -> None:
    topics = {said.record.topic for said in whole.said()}

    assert topics.isdisjoint({"component.failed", "component.restarted"})
