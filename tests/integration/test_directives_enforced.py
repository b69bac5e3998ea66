"""Directives are enforced: a model that always tries what is forbidden gets nowhere."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.bus.events import (
    ContextCompile,
    ContextCompiled,
    ContextRefused,
    DirectiveApplied,
    DirectiveSubmit,
    ExecutionCompleted,
    ExecutionPaused,
    ExecutionRequest,
    ExecutionResume,
    ExecutionResumed,
    GateEvaluated,
    ModelInvoke,
    ModelSelected,
    StepFailed,
    ToolCall,
    ToolDenied,
)
from cortex.runtime.context import prompt_text, read_prompt, tools_of

from ..directives_world import ASK, CHECKED, MEEK, STUBBORN, Adversary, directed, lay_down
from ..staff_world import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with directed(tmp_path) as found:
        yield found


def prompts(world: World, run: Any) -> list[str]:
    return [prompt_text(world.blobs.get(each.prompt)) for each in run.all(ContextCompiled)]


def test_a_prohibited_tool_is_neither_offered_nor_executed(world: World) -> None:
    lay_down(world, "prohibit Docker", "process:ask")

    run = world.run("ask", {"question": "what is it?"})

    assert run.outcome == "completed", run.topics()
    (denied,) = run.all(ToolDenied)
    assert denied.tool == "deploy.docker"
    assert "`prohibit docker` of the scope process:ask" in denied.reason
    assert [call.tool for call in run.all(ToolCall)] == ["look"]
    offered = prompts(world, run)[0]
    assert "look" in offered
    assert "deploy.docker" not in offered
    assert "=== directives ===" in offered
    assert "prohibit docker" in offered
    assert any("deploy.docker is not offered" in n for n in run.all(ContextCompiled)[0].notes)


def test_without_a_directive_the_same_tool_is_used(world: World) -> None:
    lay_down(world, "prohibit docker", "process:other")

    run = world.run("ask", {"question": "what is it?"})

    assert [call.tool for call in run.all(ToolCall)] == ["deploy.docker", "look"]
    assert "=== directives ===" not in prompts(world, run)[0]
    assert run.all(ContextCompiled)[0].directives == ""


def test_no_model_is_asked_while_a_question_is_open_and_the_answer_lets_it_go_on(
    world: World,
) -> None:
    lay_down(world, "use podman instead of lxc")

    run = world.run("ask", {"question": "what is it?"})

    paused = run.end
    assert isinstance(paused, ExecutionPaused)
    assert paused.waits_for == ("user",)
    assert "Do you want to use" in paused.reason
    assert "cortex directive step --scope user yes" in paused.reason
    assert not Adversary.asked
    again = world.client.publish(ExecutionResume(execution_id=run.execution_id, seen=1 << 40))
    world.wait(lambda said: isinstance(said.event, ExecutionPaused), again)
    assert not Adversary.asked

    assert isinstance(lay_down(world, "yes"), DirectiveApplied)
    world.wait(lambda said: isinstance(said.event, ExecutionCompleted), again)

    said = [each.event for each in world.said()]
    resumed = [each for each in said if isinstance(each, ExecutionResumed)]
    assert resumed[-1].by == "DirectiveEngine"
    sent = [each for each in said if isinstance(each, ModelInvoke)]
    first = prompt_text(world.blobs.get(sent[0].prompt))
    assert "use podman" in first  # it was compiled before, and once more after the answer


def test_a_change_between_two_turns_is_in_the_next_prompt(world: World) -> None:
    lay_down(world, "set premise short answers")
    lay_down(world, "use lxc")

    run = world.run("ask", {"question": "what is it?"})

    texts = prompts(world, run)
    assert all("premise: short answers" in text for text in texts)
    assert len({each.directives for each in run.all(ContextCompiled)}) == 1
    assert all(each.directives for each in run.all(ContextCompile))


def test_a_model_that_is_to_be_used_is_selected_and_a_prohibited_one_is_not(world: World) -> None:
    for other in (MEEK, STUBBORN):
        lay_down(world, f"use {other}", f"process:{other}")
        world.compiled(ASK.replace("process: ask", f"process: {other}"))

        run = world.run(other, {"question": "what is it?"})

        assert {each.model for each in run.all(ModelSelected)} == {other}
        because = {each.because for each in run.all(ModelSelected) if each.attempt == 1}
        assert f"`use {other}` of the scope process:{other}" in " ".join(because)


def test_where_every_model_is_prohibited_nothing_answers_in_its_place(world: World) -> None:
    lay_down(world, "prohibit meek")
    run = world.run("ask", {"question": "what is it?"})
    (selected, *_) = run.all(ModelSelected)
    assert selected.model == STUBBORN
    assert any("meek is prohibited: `prohibit meek`" in each for each in selected.rejected)
    lay_down(world, "prohibit stubborn")

    run = world.run("ask", {"question": "what is it?"})

    assert not run.all(ModelSelected)
    refused = run.all(ContextRefused)[0].reason
    assert refused.startswith("no model may answer: ")
    assert "`prohibit meek` of the scope user" in refused
    assert "`prohibit stubborn` of the scope user" in refused


def test_the_gate_on_models_passes_over_those_that_are_prohibited(world: World) -> None:
    world.compiled(CHECKED.replace("directives_clarified", "model_available"))
    lay_down(world, f"use {MEEK}")
    first = world.run("checked", {"question": "?"}).all(GateEvaluated)[0]
    assert (first.outcome, first.evidence["model"]) == ("passed", MEEK)
    lay_down(world, f"prohibit {MEEK}", "process:checked")
    second = world.run("checked", {"question": "?"}).all(GateEvaluated)[0]
    assert (second.outcome, second.evidence["model"]) == ("passed", STUBBORN)
    lay_down(world, f"prohibit {STUBBORN}")

    run = world.run("checked", {"question": "?"})

    failed = run.last(GateEvaluated)
    assert (failed.gate, failed.outcome) == ("model_available", "failed")
    assert failed.reason.startswith("no model may answer: ")
    assert f"`prohibit {MEEK}` of the scope process:checked" in failed.reason
    assert not run.all(ContextCompile)


def test_a_tool_that_is_to_be_used_comes_first_and_only_where_the_step_may_use_it(
    world: World,
) -> None:
    lay_down(world, "use look", "process:ask")

    run = world.run("ask", {"question": "what is it?"})

    compiled = run.all(ContextCompiled)[0]
    blocks = read_prompt(world.blobs.get(compiled.prompt))
    assert [tool["name"] for tool in tools_of(blocks)] == ["look", "deploy__docker"]
    assert any("first among the tools: look: `use look`" in note for note in compiled.notes)
    world.compiled(ASK.replace("process: ask", "process: few").replace(", look", ""))
    lay_down(world, "use look", "process:few")
    few = world.run("few", {"question": "what is it?"})
    blocks = read_prompt(world.blobs.get(few.all(ContextCompiled)[0].prompt))
    assert [tool["name"] for tool in tools_of(blocks)] == ["deploy__docker"]


@pytest.mark.parametrize(
    ("text", "breach"),
    [
        ("We avoid docker.", ""),
        ("Run it:\n```sh\nsudo docker run shop\n```\n", "sudo docker run shop"),
    ],
)
def test_the_gate_quotes_the_sentence_and_the_directive(
    world: World, monkeypatch: pytest.MonkeyPatch, text: str, breach: str
) -> None:
    monkeypatch.setattr(Adversary, "text", text)
    monkeypatch.setattr(Adversary, "calls", False)
    world.compiled(CHECKED)
    lay_down(world, "prohibit Docker")

    run = world.run("checked", {"question": "what is it?"})

    held = next(e for e in run.all(GateEvaluated) if e.gate == "directives_hold")
    assert held.outcome == ("failed" if breach else "passed"), held.reason
    if breach:
        assert (
            f'step answer: "{breach}" breaches `prohibit docker` of the scope user' in held.reason
        )
        assert held.evidence["breaches"][0]["kind"] == "text"
        assert run.outcome == "halted"


def test_a_process_can_require_that_all_is_clarified(world: World) -> None:
    world.compiled(CHECKED)
    lay_down(world, "use podman instead of lxc", "process:checked")

    run = world.run("checked", {"question": "?"})

    failed = run.last(GateEvaluated)
    assert (failed.gate, failed.outcome) == ("directives_clarified", "failed")
    assert "cortex directive step --scope process:checked yes" in failed.reason
    assert not Adversary.asked


def test_the_parts_of_an_execution_keep_to_what_is_laid_down_for_it(world: World) -> None:
    world.compiled(ASK.replace("process: ask", "process: part"))
    world.compiled(
        "process: whole\nversion: 1\ninputs: {question: string}\nsteps:\n"
        '  - {id: do, process: part, with: {question: "${inputs.question}"}}\n'
    )
    upcoming = "laid-down-before"
    lay_down(world, "prohibit docker", f"execution:{upcoming}")
    asked = world.client.publish(
        ExecutionRequest(execution_id=upcoming, process="whole", inputs={"question": "?"})
    )

    world.wait(
        lambda said: (
            isinstance(said.event, ExecutionCompleted) and said.event.execution_id == upcoming
        ),
        asked,
    )

    said = [each.event for each in world.said(asked)]
    assert [each.tool for each in said if isinstance(each, ToolDenied)] == ["deploy.docker"]
    assert [each.tool for each in said if isinstance(each, ToolCall)] == ["look"]


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (300, "directives takes 2,123 tokens, 1,523 over the 600"),
        (6_000, "6,000 directives are in force, and no prompt holds as many"),
    ],
)
def test_more_directives_than_a_prompt_holds_refuse_it_and_say_so(
    world: World, number: int, says: str
) -> None:
    policies = ",".join(f'"item number {n}":"prohibit"' for n in range(number))
    state = f'{{"policies":{{{policies}}},"premise":null,"version":2}}'
    asked = world.client.publish(DirectiveSubmit(state_blob=world.blobs.put(state.encode())))
    world.wait(lambda said: said.record.causation == asked, asked)

    run = world.run("ask", {"question": "what is it?"})

    assert run.outcome == "halted"
    assert says in run.last(StepFailed).error
    assert not Adversary.asked


RUNS = """\
process: runs
version: 1
steps:
  - {id: say, action: shell, with: {run: [echo, docker]}}
  - {id: end, gates: [directives_hold], action: shell, with: {run: [ls]}}
"""


@pytest.mark.parametrize(
    ("laid_down", "outcome"), [("prohibit echo", "failed"), ("prohibit docker", "passed")]
)
def test_the_gate_looks_at_what_actions_ran_and_not_at_their_words(
    world: World, laid_down: str, outcome: str
) -> None:
    world.compiled(RUNS)
    lay_down(world, laid_down)

    run = world.run("runs", {})

    held = run.last(GateEvaluated)
    assert (held.gate, held.outcome) == ("directives_hold", outcome), held.reason
    if outcome == "failed":
        assert 'action shell of step say: "echo docker" breaches `prohibit echo`' in held.reason


def test_a_tool_that_only_reads_may_look_at_what_is_prohibited(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Adversary, "arguments", {"path": "compose.yaml", "command": "ls"})
    monkeypatch.setattr(Adversary, "text", "It is there.")
    world.compiled(CHECKED.replace("with: {q", "tools: [look]\n    with: {q", 1))
    lay_down(world, "prohibit docker")

    run = world.run("checked", {"question": "what is it?"})

    assert [call.tool for call in run.all(ToolCall)] == ["look"]
    held = next(e for e in run.all(GateEvaluated) if e.gate == "directives_hold")
    assert held.outcome == "passed", held.reason
