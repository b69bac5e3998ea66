"""Contexts in executions that run: compiled before a model is asked, stored, and cited from."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cortex.bus import Event
from cortex.bus.events import (
    ContextCompiled,
    ContextRefused,
    ExecutionHalted,
    ModelInvoke,
    ModelResponded,
    ModelSelected,
    StepCompleted,
    StepFailed,
    ToolCall,
    ToolReturned,
)
from cortex.runtime.context import (
    Manifest,
    parts_of,
    prompt_text,
    read_prompt,
    read_text,
)
from cortex.runtime.kernel import Component, Delivery, Home, Runtime, Serves, on
from cortex.runtime.log import Blobs
from cortex.runtime.models import ModelDescription, Price

from ..staff_world import ANSWERING, World

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
    prompt = prompt_text(answering.blobs.get(responded.prompt))
    assert responded.answer["spans"]
    assert all(span["text"] in prompt for span in responded.answer["spans"])


def test_the_prompt_and_its_manifest_can_be_read_long_after(answering: World, folder: str) -> None:
    answering.compiled(asking("stored"))

    compiled = answering.run("stored", workspace=folder).last(ContextCompiled)

    prompt = prompt_text(answering.blobs.get(compiled.prompt))
    manifest = msgspec.json.decode(answering.blobs.get(compiled.manifest), type=Manifest)
    assert NOTES.strip() in prompt
    assert "question: When is tea served?" in prompt
    assert [entry.id for entry in manifest.items if entry.state == "in"] == ["read"]
    assert compiled.tokens + compiled.headroom <= compiled.window


def test_a_model_is_chosen_with_a_reason_before_its_prompt(answering: World, folder: str) -> None:
    answering.compiled(asking("chosen"))

    run = answering.run("chosen", workspace=folder)

    selected = run.last(ModelSelected)
    because = "there is nothing else to ask: the built-in substitute quotes its context, and "
    assert (selected.model, selected.because) == ("extractive", f"{because}no model is asked")
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

    assert "Ada pours." in prompt_text(answering.blobs.get(first.prompt))
    assert first.actions == ()
    assert "Bob pours." in prompt_text(answering.blobs.get(second.prompt))
    assert second.actions == ("house.rota changed since the process was linked",)
    assert third.outcome == "halted"
    assert str(rota) in third.last(ContextRefused).reason


def test_in_the_whole_log_no_model_was_asked_without_a_compiled_context(
    answering: World, folder: str
) -> None:
    answering.compiled(asking("last"))
    answering.run("last", workspace=folder)

    compiled: dict[tuple[str, str, int, int], ContextCompiled] = {}
    asked = 0
    for said in answering.said():
        event = said.event
        if isinstance(event, ContextCompiled):
            compiled[event.execution_id, event.step_id, event.attempt, event.turn] = event
        elif isinstance(event, ModelInvoke):
            asked += 1
            before = compiled[event.execution_id, event.step_id, event.attempt, event.turn]
            assert (event.prompt, event.model) == (before.prompt, before.model)
            assert answering.blobs.has(event.prompt)
    assert asked


# Turns and other models.


class Looking(msgspec.Struct):
    """What `look` takes."""

    at: str


class Thinker(Component):
    """A model that reasons, and looks once before it answers; and the tool that it looks with."""

    serves = (
        Serves(
            "model",
            "thinker",
            traits=msgspec.to_builtins(
                ModelDescription(
                    name="thinker",
                    provider="thinking",
                    window=100_000,
                    local=False,
                    reasoning="high",
                    price=Price(input=1.0),
                )
            ),
        ),
        Serves("tool", "look", Looking, traits={"provider": "looking", "description": "Look."}),
    )

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    @on(ModelInvoke, where={"provider": "thinking"})
    def invoke(self, event: ModelInvoke, delivery: Delivery) -> Iterator[Event]:
        """Call `look` in the first turn, answer in the second."""
        call = {"id": "c1", "tool": "look", "arguments": {"at": "the clock"}}
        first = event.turn == 0 and parts_of(read_prompt(self._blobs.get(event.prompt))).tools
        yield ModelResponded(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            turn=event.turn,
            call=event.call,
            model=event.model,
            prompt=event.prompt,
            answer={"text": "", "calls": [call]} if first else {"text": "It is four."},
            stop="calls" if first else "end",
            input_tokens=1,
            output_tokens=1,
        )

    @on(ToolCall, where={"provider": "looking"})
    def look(self, event: ToolCall, delivery: Delivery) -> Iterator[Event]:
        """Say what the clock shows."""
        yield ToolReturned(
            execution_id=event.execution_id,
            step_id=event.step_id,
            attempt=event.attempt,
            turn=event.turn,
            call_id=event.call_id,
            tool=event.tool,
            result=self._blobs.put(b"The clock shows four.\n"),
            bytes=22,
            lines=1,
        )


@pytest.fixture(scope="module")
def thinking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A runtime with a second model; contexts are compiled in a process of their own."""
    home = Home.create(tmp_path_factory.mktemp("thinking") / ".cortex")
    with Runtime(home, components=(*ANSWERING, Thinker)) as runtime:
        yield World(runtime)


def test_the_second_turn_of_a_step_begins_with_the_first_and_shows_what_the_tool_gave(
    thinking: World, folder: str
) -> None:
    step = "    needs: {reasoning: high}\n    tools: [look]\n"
    thinking.compiled(asking("looks", step=step))

    run = thinking.run("looks", workspace=folder)

    first, second = run.all(ContextCompiled)
    assert [each.turn for each in run.all(ModelSelected)] == [0, 1]
    assert run.all(ModelSelected)[1].because == "it answered the turns before"
    before, after = (prompt_text(thinking.blobs.get(each.prompt)) for each in (first, second))
    assert [tool["name"] for tool in parts_of(read_text(before)).tools] == ["look"]
    assert after.startswith(before[: before.index("=== step ===")])
    assert 'kind="call" source="look">\n{"at":"the clock"}\n</data>' in after
    assert "The clock shows four." in after


def test_what_one_model_answered_stands_in_the_prompt_of_another(
    thinking: World, folder: str
) -> None:
    decide = (
        "    needs: {speed: high, extractive: true}\n"
        "  - id: decide\n    description: Decide\n    action: answer_question\n"
        "    carry: [answer]\n    needs: {reasoning: high}\n    with: {question: What now?}\n"
    )
    thinking.compiled(asking("crossing", step=decide))

    run = thinking.run("crossing", workspace=folder)

    first, second = run.all(ModelInvoke)
    assert (first.model, second.model) == ("extractive", "thinker")
    assert "Tea is served at four" in prompt_text(thinking.blobs.get(second.prompt))
    answered = run.all(ModelResponded)[0].answer["text"]
    assert "Tea is served at four" in answered


def test_every_turn_asks_a_model_with_the_prompt_that_was_compiled_for_it(
    thinking: World, folder: str
) -> None:
    step = "    needs: {reasoning: high}\n    tools: [look]\n"
    thinking.compiled(asking("every", step=step))
    run = thinking.run("every", workspace=folder)

    compiled = {event.turn: event for event in run.all(ContextCompiled)}
    asked = [(event.turn, event.prompt, event.model) for event in run.all(ModelInvoke)]

    assert asked == [(n, compiled[n].prompt, compiled[n].model) for n in (0, 1)]
