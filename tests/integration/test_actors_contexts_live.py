"""Contexts in executions that run: compiled before a model is asked, stored, and cited from."""

from pathlib import Path

import msgspec
import pytest

from cortex.bus.events import (
    ContextCompiled,
    ContextRefused,
    ExecutionHalted,
    ModelInvoke,
    ModelResponded,
    ModelSelected,
    StepCompleted,
    StepFailed,
)
from cortex.runtime.context import Manifest
from cortex.runtime.kernel import Home

from ..staff_world import World

NOTES = "# House\n\nBreakfast is at eight.\nTea is served at four in the garden.\nBring a coat.\n"


def asking(name: str, *, more: str = "", step: str = "", path: str = "notes.md") -> str:
    return (
        f"process: {name}\nversion: 1\ndescription: Answer from notes\n{more}steps:\n"
        f"  - id: read\n    description: Read the notes\n    action: read_text\n"
        f"    with: {{path: {path}}}\n"
        "  - id: answer\n    description: Answer from the notes\n    action: answer_question\n"
        f"    carry: [read]\n    with: {{question: When is tea served?}}\n{step}"
    )


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "notes.md").write_text(NOTES)
    return str(tmp_path)


def test_a_question_is_answered_from_the_prompt_and_cites_it_verbatim(
    answering: World, folder: str
) -> None:
    answering.compiled(asking("tea"))

    run = answering.run("tea", workspace=folder)

    assert run.outcome == "completed"
    result = run.last(StepCompleted).result
    assert "Tea is served at four in the garden. [read:4]" in result["text"]
    assert result["extractive"]
    responded = run.last(ModelResponded)
    prompt = answering.blobs.get(responded.prompt).decode()
    assert responded.answer["spans"]
    assert all(span["text"] in prompt for span in responded.answer["spans"])


def test_the_prompt_and_its_manifest_can_be_read_long_after(answering: World, folder: str) -> None:
    answering.compiled(asking("stored"))

    compiled = answering.run("stored", workspace=folder).last(ContextCompiled)

    prompt = answering.blobs.get(compiled.prompt).decode()
    manifest = msgspec.json.decode(answering.blobs.get(compiled.manifest), type=Manifest)
    assert NOTES.strip() in prompt
    assert "question: When is tea served?" in prompt
    assert [entry.id for entry in manifest.items if entry.state == "in"] == ["read"]
    assert compiled.tokens + compiled.headroom <= compiled.window


def test_a_model_is_chosen_with_a_reason_before_its_prompt(answering: World, folder: str) -> None:
    answering.compiled(asking("chosen"))

    run = answering.run("chosen", workspace=folder)

    selected = run.last(ModelSelected)
    assert (selected.model, selected.because) == ("extractive", "the cheapest that meets the needs")
    asked = [t for t in run.topics() if t.startswith(("context.", "model."))]
    assert asked == [
        "context.compile",
        "model.selected",
        "context.compiled",
        "model.invoke",
        "model.responded",
    ]


@pytest.mark.parametrize(
    ("name", "step", "reason"),
    [
        ("needs", "    needs: {reasoning: high}\n", "no model meets what the step needs"),
        ("budget", "    budget: {tokens: 40}\n", "over the"),
    ],
)
def test_a_context_that_cannot_be_made_halts_with_the_reason_and_asks_no_model(
    name: str, step: str, reason: str, answering: World, folder: str
) -> None:
    answering.compiled(asking(f"refused_{name}", step=step))

    run = answering.run(f"refused_{name}", workspace=folder)

    assert run.outcome == "halted"
    assert reason in run.last(ContextRefused).reason
    assert reason in run.last(ExecutionHalted).reason
    assert run.last(StepFailed).kind == "refused"
    assert "model.invoke" not in run.topics()


def test_knowledge_is_in_the_prompt_and_a_change_since_linking_is_told(
    answering: World, folder: str
) -> None:
    home = answering.runtime.home
    assert isinstance(home, Home)
    rota = home.path / "knowledge" / "house" / "rota.md"
    rota.parent.mkdir(parents=True, exist_ok=True)
    rota.write_text("Ada pours.\n")
    answering.compiled(asking("knows", more="knowledge: [house.rota]\n"))

    first = answering.run("knows", workspace=folder).last(ContextCompiled)
    rota.write_text("Bob pours.\n")
    second = answering.run("knows", workspace=folder).last(ContextCompiled)
    rota.unlink()
    third = answering.run("knows", workspace=folder)

    assert "Ada pours." in answering.blobs.get(first.prompt).decode()
    assert first.actions == ()
    assert "Bob pours." in answering.blobs.get(second.prompt).decode()
    assert second.actions == ("house.rota changed since the process was linked",)
    assert third.outcome == "halted"
    assert str(rota) in third.last(ContextRefused).reason


def test_in_the_whole_log_no_model_was_asked_without_a_compiled_context(
    answering: World, folder: str
) -> None:
    answering.compiled(asking("last"))
    answering.run("last", workspace=folder)

    compiled: dict[tuple[str, str, int], ContextCompiled] = {}
    asked = 0
    for said in answering.said():
        event = said.event
        if isinstance(event, ContextCompiled):
            compiled[event.execution_id, event.step_id, event.attempt] = event
        elif isinstance(event, ModelInvoke):
            asked += 1
            before = compiled[event.execution_id, event.step_id, event.attempt]
            assert (event.prompt, event.model) == (before.prompt, before.model)
            assert answering.blobs.has(event.prompt)
    assert asked
