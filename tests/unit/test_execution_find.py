"""A step's `find:`: asked before its prompt, shown in every turn of the attempt, never guessed."""

from typing import Any

import msgspec

from cortex.bus.events import (
    ContextCompile,
    ContextCompiled,
    ExecutionCompleted,
    ExecutionHalted,
    KnowledgeRequest,
    KnowledgeRequested,
    ModelInvoke,
    StepExecute,
    StepFailed,
    ToolCall,
)
from cortex.runtime.processes import Field, Find, LinkedProcess, Retry, Template

from .execution_world import World, action_step, constant, process_of, text, tool

TEST = {"type": "ref", "path": ["inputs", "test"]}
ABOUT = text({"type": "constant", "value": "what about "}, TEST)


def finding(find: Find, **more: Any) -> LinkedProcess:
    inputs = (Field(name="test", type="string", required=False),)
    return process_of(action_step("one", asks_model=True, find=find, **more), inputs=inputs)


def begun(find: Find | None = None, **more: Any) -> World:
    world = World(finding(find or Find(texts=(ABOUT,), under=("team",), tokens=900), **more))
    world.publish(tool("read"))
    world.start(inputs={"test": "test_sum"})
    return world


def test_the_store_is_asked_first_and_the_prompt_is_compiled_with_what_it_found() -> None:
    world = begun()
    (asked,) = world.said(KnowledgeRequest)
    assert world.said(ContextCompile) == []

    world.answer(KnowledgeRequest, found="digest")

    (compile_,) = world.said(ContextCompile)
    assert (asked.texts, asked.under) == (("what about test_sum",), ("team",))
    assert (asked.limit, asked.tokens) == (100, 900)
    assert (compile_.found, compile_.found_tokens) == ("digest", 900)
    world.drain()
    assert world.said(ExecutionCompleted)


def test_every_turn_of_an_attempt_has_the_same_passages() -> None:
    world = begun(tools=("read",))
    world.answer(KnowledgeRequest, found="digest")
    world.answer(ContextCompile)

    calls = [{"id": "a", "tool": "read", "arguments": {}}]
    world.answer(ModelInvoke, answer={"calls": calls})
    world.restart()
    world.answer(ToolCall)

    assert [(each.turn, each.found) for each in world.said(ContextCompile)] == [
        (0, "digest"),
        (1, "digest"),
    ]
    assert len(world.said(KnowledgeRequest)) == 1


def test_a_new_attempt_looks_anew() -> None:
    world = begun(retry=Retry(attempts=2, backoff_s=0.0))
    world.answer(KnowledgeRequest, found="before")
    world.answer(ContextCompile)
    world.answer(ModelInvoke)

    position, asked = world.open(StepExecute)[0]
    place = {"execution_id": "x", "step_id": "one", "attempt": asked.attempt}
    world.settle(position, StepFailed(**place, error="no"))
    world.answer(KnowledgeRequest, found="after")

    assert [each.found for each in world.said(ContextCompile)] == ["before", "after"]


def test_a_question_that_comes_to_nothing_is_not_asked() -> None:
    not_given = msgspec.convert(TEST, Template)
    world = World(finding(Find(texts=(not_given, constant("  ")))))

    world.start()

    assert world.said(KnowledgeRequest) == []
    assert world.said(ContextCompile)[0].found == ""


def test_what_a_tool_of_a_model_finds_is_not_taken_for_it() -> None:
    world = begun()
    place: dict[str, Any] = {"execution_id": "x", "step_id": "one", "turn": 0, "query": "q"}

    world.publish(KnowledgeRequested(**place, call_id="a tool's", found="another"))
    world.play()

    assert world.said(ContextCompile) == []
    world.answer(KnowledgeRequest, found="digest")
    world.publish(KnowledgeRequested(**place, call_id="", found="late"))
    world.play()
    assert [each.found for each in world.said(ContextCompile)] == ["digest"]


def test_a_store_that_cannot_be_used_fails_the_attempt_and_is_asked_again() -> None:
    world = begun(retry=Retry(attempts=2, backoff_s=0.0))

    world.answer(KnowledgeRequest, found="", problem="the disk is full")
    world.answer(KnowledgeRequest, found="", problem="the disk is full")

    assert [(each.attempt, each.error) for each in world.said(StepFailed)] == [
        (1, "the disk is full"),
        (2, "the disk is full"),
    ]
    assert world.said(ExecutionHalted)[0].reason == "the disk is full"
    assert world.said(ContextCompiled) == []


def test_an_accessor_that_cannot_even_say_so_fails_the_attempt() -> None:
    world = begun()
    position, _ = world.open(KnowledgeRequest)[0]

    world.park(position, "KnowledgeStoreAccessor")
    world.play()

    (failed,) = world.said(StepFailed)
    assert "KnowledgeStoreAccessor could not handle knowledge.request" in failed.error
