"""What a process asks of others, and which recorded answer belongs to a question.

A question and its answer have a key in common: what was asked, of which step, in which attempt.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from cortex.bus import Event
from cortex.bus.events import (
    ContextCompile,
    ContextCompiled,
    ContextRefused,
    EffectIntended,
    EffectUnknown,
    GateEvaluate,
    GateEvaluated,
    KnowledgeRequest,
    KnowledgeRequested,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepExecute,
    StepFailed,
    ToolCall,
    ToolDenied,
    ToolFailed,
    ToolReturned,
)

Key = tuple[Any, ...]

# What a replay takes from the log in place of doing it again, by the word for it.
ANSWERS: Final[Mapping[str, str]] = {
    "model.responded": "model answer",
    "model.failed": "model answer",
    "gate.evaluated": "gate",
    "step.completed": "step",
    "step.failed": "step",
    "tool.returned": "tool call",
    "tool.failed": "tool call",
    "tool.denied": "tool call",
    "knowledge.requested": "knowledge request",
}
# What is asked for by name, and the field that has it; the others have no name.
QUESTIONS: Final[Mapping[type[Event], str]] = {
    GateEvaluate: "gate",
    KnowledgeRequest: "",
    ContextCompile: "",
    ModelInvoke: "model",
    ToolCall: "tool",
    StepExecute: "action",
}
# Who serves it, and how long they may take: another answer does not follow from it.
_HOW: Final = ("component", "host", "timeout_s", "index", "linked")

NEVER: Final = "never asked"  # the record has no such question
OTHERWISE: Final = "asked otherwise"  # the record answers an earlier form of it


class Unanswered(msgspec.Struct, frozen=True):
    """A question of the other version that the record does not answer."""

    execution: str
    step: str  # "" for the gates of the process
    topic: str  # of the request
    name: str  # of the gate, model, tool, action or process
    attempt: int
    why: str  # NEVER, and the replay stops there; or OTHERWISE, and it takes the recorded answer


def key_of(event: Any) -> Key | None:
    """What *event* asks, answers, or reports about; None if it is no part of a question."""
    match event:
        case GateEvaluate() | GateEvaluated():
            return "gate", event.step_id, event.attempt, event.gate
        case KnowledgeRequested() if event.call_id:
            return None  # a model's tool searched
        case KnowledgeRequest() | KnowledgeRequested():
            return "knowledge", event.step_id, event.attempt
        case ContextCompile() | ContextCompiled() | ContextRefused():
            return "context", event.step_id, event.attempt, event.turn
        case ModelInvoke() | ModelResponded() | ModelFailed():
            return "model", event.step_id, event.attempt, event.turn, event.call
        case ToolCall() | ToolReturned() | ToolFailed() | ToolDenied():
            return "tool", event.step_id, event.attempt, event.turn, event.call_id
        case EffectIntended() | EffectUnknown() if event.kind == "tool":
            return "tool", event.step_id, event.attempt, event.turn, event.call_id
        case EffectIntended() | EffectUnknown() | StepExecute() | StepCompleted() | StepFailed():
            return "step", event.step_id, event.attempt
        case _:
            return None


def closes(event: Event) -> bool:
    """Whether *event* is the end of a question, and not a report on the way there."""
    return not isinstance(event, EffectIntended | EffectUnknown)


def name_of(question: Any) -> str:
    """The name of what is asked for; "" if it has none."""
    field = QUESTIONS[type(question)]
    return str(getattr(question, field)) if field else ""


def is_same(question: Any, recorded: Any) -> bool:
    """Whether both ask the same; who serves it may differ."""
    if type(question) is not type(recorded):
        return False
    there = {"execution_id", *_HOW}.intersection(recorded.__struct_fields__)
    return bool(replace(question, **{name: getattr(recorded, name) for name in there}) == recorded)
