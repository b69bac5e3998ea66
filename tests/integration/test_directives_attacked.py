"""Ways round what is laid down: other names of a tool, lost blobs, full disks."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cortex.bus.events import (
    ContextCompiled,
    DirectiveAnswer,
    DirectiveApplied,
    DirectiveGet,
    DirectiveRedo,
    DirectiveRefused,
    DirectiveSubmit,
    DirectiveUndo,
    ExecutionFailed,
    GateEvaluated,
    ModelInvoke,
    ModelSelected,
    ToolCall,
    ToolDenied,
)
from cortex.runtime.context import read_prompt, tools_of
from cortex.runtime.registry import wire_name

from ..directives_world import ASK, MEEK, STUBBORN, Adversary, directed, lay_down
from ..staff_world import World

MANY = 9_000  # policies, more than an event holds
MANY = 9_000  # policies, more than an event holds
LXC = "build/lxc", "ops.on.lxc", "list_all"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with directed(tmp_path) as found:
        yield found


@pytest.mark.parametrize("tool", LXC)
@pytest.mark.parametrize("listed", [", ".join(f'"{each}"' for each in LXC), "lxc.*", "lxc"])
def test_a_prohibited_tool_is_denied_by_whatever_name_a_model_calls_it(
    world: World, monkeypatch: pytest.MonkeyPatch, tool: str, listed: str
) -> None:
    tries = (tool, wire_name(tool), "look")
    monkeypatch.setattr(Adversary, "tries", tries)
    world.compiled(ASK.replace("process: ask", "process: way").replace("deploy.docker", listed))
    lay_down(world, "prohibit lxc")

    run = world.run("way", {"question": "what is it?"})

    assert run.outcome == "completed", run.topics()
    assert [call.tool for call in run.all(ToolCall)] == ["look"]
    assert len(run.all(ToolDenied)) == 2
    for compiled in run.all(ContextCompiled):
        offered = [each["name"] for each in tools_of(read_prompt(world.blobs.get(compiled.prompt)))]
        assert offered == ["look"]
    assert not any("build/lxc, " in denied.reason for denied in run.all(ToolDenied))


def test_a_prohibited_pack_cannot_be_enabled(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Adversary, "tries", ("enable_pack",))
    monkeypatch.setattr(Adversary, "arguments", {"pack": "lxc"})
    world.compiled(ASK.replace("process: ask", "process: way").replace("deploy.docker", "lxc"))
    lay_down(world, "prohibit lxc")

    run = world.run("way", {"question": "what is it?"})

    (denied,) = run.all(ToolDenied)
    assert "`prohibit lxc` of the scope user" in denied.reason
    assert "tool.enabled" not in run.topics()


def test_where_a_blob_of_changes_is_lost_nothing_runs_as_if_it_were_not_laid_down(
    tmp_path: Path,
) -> None:
    policies = ",".join(f'"item {n}":"use"' for n in range(MANY))
    whole = f'{{"policies":{{{policies},"docker":"prohibit"}},"premise":null,"version":2}}'
    with directed(tmp_path) as world:
        state = world.blobs.put(whole.encode())
        asked = world.client.publish(DirectiveSubmit(state_blob=state))
        applied = world.wait(lambda said: said.record.causation == asked, asked).event
        assert isinstance(applied, DirectiveApplied)
        lost = tmp_path / ".cortex" / "blobs" / applied.changes_blob[:2] / applied.changes_blob[2:]
    lost.unlink()

    with directed(tmp_path) as world:
        for text in ("use vim", "clear state"):
            refused = lay_down(world, text)
            assert isinstance(refused, DirectiveRefused)
            assert applied.changes_blob in refused.reason
            assert "backup" in refused.reason
        answer = world.client.ask(DirectiveGet(), 60.0)
        assert isinstance(answer, DirectiveAnswer)
        assert applied.changes_blob in answer.problem
        assert isinstance(lay_down(world, "use vim", "project:other"), DirectiveApplied)

        run = world.run("ask", {"question": "what is it?"})

        assert isinstance(run.end, ExecutionFailed)
        assert applied.changes_blob in run.end.reason
        assert not run.all(ModelInvoke)


def test_changes_that_cannot_be_written_are_refused_and_nothing_is_laid_down(
    world: World, tmp_path: Path
) -> None:
    policies = ",".join(f'"p{n}":"use"' for n in range(MANY))
    blobs = tmp_path / ".cortex" / "blobs"
    aside = blobs.rename(blobs.with_name("aside"))
    blobs.write_bytes(b"")  # as if no more could be written

    refused = lay_down(world, "", state=f'{{"policies":{{{policies}}},"premise":null,"version":2}}')
    blobs.unlink()
    aside.rename(blobs)

    assert isinstance(refused, DirectiveRefused)
    assert "its changes cannot be kept" in refused.reason
    answer = world.client.ask(DirectiveGet(), 60.0)
    assert isinstance(answer, DirectiveAnswer)
    assert answer.state["directives"] == []
    assert isinstance(lay_down(world, "use vim"), DirectiveApplied)


def test_a_model_is_meant_by_its_name_at_the_endpoint_as_well(world: World) -> None:
    for other in (MEEK, STUBBORN):
        lay_down(world, f"use house/{other}-7b", f"process:{other}")
        world.compiled(ASK.replace("process: ask", f"process: {other}"))

        run = world.run(other, {"question": "what is it?"})

        assert {each.model for each in run.all(ModelSelected)} == {other}
    lay_down(world, "prohibit meek-7b")
    run = world.run("ask", {"question": "what is it?"})
    assert {each.model for each in run.all(ModelSelected)} == {STUBBORN}
    lay_down(world, "prohibit house")
    run = world.run("ask", {"question": "what is it?"})
    assert not {MEEK, STUBBORN} & {each.model for each in run.all(ModelSelected)}


@pytest.mark.parametrize("lifted", [True, False])
def test_a_call_while_a_prohibition_was_lifted_breaches_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, lifted: bool
) -> None:
    class Asked(list[ModelInvoke]):
        """Changes what is laid down between two turns, when the tool was called."""

        def append(self, asked: ModelInvoke) -> None:
            super().append(asked)
            if asked.turn == 1 and asked.step_id == "answer":
                laid = world.client.publish(DirectiveRedo() if lifted else DirectiveUndo())
                world.wait(lambda said: said.record.causation == laid, laid)

    monkeypatch.setattr(Adversary, "asked", Asked())
    monkeypatch.setattr(Adversary, "tries", ("look",))
    checked = ASK.replace("process: ask", "process: checked_twice").rstrip()
    world.compiled(
        f"{checked}\n  - id: end\n    gates: [directives_hold]\n    action: answer_question\n"
        '    with: {question: "${inputs.question}"}\n'
    )
    lay_down(world, "prohibit look", "user")
    lay_down(world, "remove policy look", "user")  # an undo lays it down again
    if lifted:
        world.client.publish(DirectiveUndo(), DirectiveUndo())

    run = world.run("checked_twice", {"question": "what is it?"})

    assert [call.tool for call in run.all(ToolCall)] == ["look"]
    held = next(each for each in run.all(GateEvaluated) if each.gate == "directives_hold")
    assert held.outcome == "passed", held.reason
