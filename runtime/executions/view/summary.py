"""An execution in one row, and the full document of `execution show` and `run --json`."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from cortex.bus import Event, Recorded
from cortex.bus.events import (
    ContextCompiled,
    EffectSettled,
    EffectUnknown,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionPaused,
    ExecutionRated,
    ExecutionRequest,
    ExecutionResume,
    ExecutionResumed,
    ExecutionStarted,
    GateEvaluated,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    ToolCall,
    ToolDenied,
    ToolFailed,
)
from cortex.runtime.access import OWNER
from cortex.runtime.context import prompt_text
from cortex.runtime.kernel import duration, iso, local, parse_time, recent
from cortex.runtime.log import Blobs

from .. import VERDICTS, Execution, asker, is_own, open_effects
from .asked import asked_of_person, shape_of
from .chosen import Chosen, NextStep, chosen_of, may_be_done, next_step_of
from .edits import PersonEdit, edits_of
from .history import Row
from .items import ItemsDocument, items_document
from .wording import changed_of

_OVER = ExecutionCompleted | ExecutionFailed | ExecutionCancelled
UNHELD = "no hub is up, and no command has the home"


class ExecutionSummary(msgspec.Struct, kw_only=True):
    """One execution in a list."""

    id: str
    status: str  # requested, running, paused, halted, completed, failed or cancelled
    process: str  # "" for ad-hoc work
    version: int
    goal: str
    requested: str  # UTC
    duration_s: float  # from its start to its end or its last event, without waiting for people
    steps: dict[str, str]  # settled steps: completed, failed or skipped
    tokens: int
    cost: float = 0.0  # US dollars, with that of its children
    reason: str  # why it is paused, halted, failed or cancelled
    question: str  # what a person is asked
    verdict: str  # a person's; "" without one
    parent: str  # the execution that runs it as a step
    waiting: str = ""  # what it waits for: "nobody carries out greet", or UNHELD
    requested_by: str = ""  # the client, as the hub authenticated it; "owner" for who owns the home


class CompiledContext(msgspec.Struct, kw_only=True):
    """A prompt that was compiled for a step."""

    step: str
    attempt: int
    tokens: int
    sections: dict[str, int]
    window: int
    model: str
    prompt: str  # digest
    sent: bool = False  # to a model; otherwise it waits, was edited, or the record answered
    unedited: list[str] = []  # what people changed before and this does not have, and why


class Dialogue(msgspec.Struct, kw_only=True):
    """All prompts and answers between one step and its models, in all its attempts."""

    step: str
    models: list[str] = []  # in the order in which they were asked first
    turns: int = 0  # prompts that were answered
    calls: int = 0  # how often a prompt was sent
    retries: int = 0  # how often one was sent again
    tools: dict[str, int] = {}  # calls of each
    tools_failed: int = 0  # calls that were denied, or failed
    cost: float = 0.0  # US dollars
    quoted: bool = False  # no model was asked: the embedded stand-in quoted the context


class GivenAnswer(msgspec.Struct, kw_only=True):
    """What a person said when the execution waited for them."""

    by: str  # the client, as the hub authenticated it; "owner" for the owner of the home
    # "approved" or "denied" to a gate, "happened" or "again" about an effect; else what was said in
    # a model's place.
    answer: str
    note: str
    step: str
    at: str  # UTC
    counted: bool = True  # false where a gate does not take it from this person


class OpenEffect(msgspec.Struct, kw_only=True):
    """An effect that may happen only once, began, and has an unknown outcome."""

    kind: str  # "action" or "tool"
    name: str
    step: str
    attempt: int
    asked: str  # UTC, when it was asked for
    reason: str  # why the outcome is unknown
    parameters: dict[str, Any]
    key: str  # the idempotency key under which it was begun


class ExecutionDocument(ExecutionSummary, kw_only=True):
    """One execution, with its inputs and its outcome."""

    workspace: str
    inputs: dict[str, Any]
    step: str  # the current step
    outputs: dict[str, Any]
    results: dict[str, Any]  # of completed steps
    summaries: dict[str, str]
    contexts: list[CompiledContext]
    unreviewed: list[str]  # completed steps since a person was last asked
    prompt: str = ""  # the compiled context: that would be sent, or that a person is to answer
    usage: dict[str, int] = {}  # tokens by class, with those of its children
    max_cost: float | None = None  # US dollars that it may spend
    dialogues: list[Dialogue] = []  # of steps with models
    effects: list[OpenEffect] = []  # of unknown outcome: a person must report it
    person: str = ""  # who is asked in a model's place, and has not answered
    answer_shape: str = ""  # what that answer has to be
    gate: str = ""  # "process/gate" that asks the question
    answers: list[GivenAnswer] = []  # that people gave to gates and in a model's place
    items: ItemsDocument | None = None  # of the step that it is at, where that has several
    edits: list[PersonEdit] = []  # what people changed of it
    chosen: list[Chosen] = []  # towards its goals, in order
    towards: str = ""  # the goal for which a person is to do something, where it waits for that
    may: list[str] = []  # what they may do
    next: NextStep | None = None  # what runs when it continues, at a breakpoint without a prompt
    decider: int | None = None  # version of what decides; 0: it was not recorded when it started
    fork_of: str = ""  # the execution that it was forked from
    from_step: str = ""  # the first step that the fork runs itself
    what_if: bool = False  # whether it is a what-if: `variation` says what is other
    variation: dict[str, Any] = {}  # how a fork or a what-if uses the record
    changed: list[str] = []  # what a what-if changes, in words
    worktree: str = ""  # the folder where what was done towards a goal changed files


def row_of(state: Execution, rows: Sequence[Row]) -> ExecutionSummary:
    """The row of an execution and its events."""
    return ExecutionSummary(**_row_fields(state, rows))


def document_of(
    state: Execution, rows: Sequence[Row], blobs: Blobs | None = None
) -> ExecutionDocument:
    """All there is to show of an execution and its events; with *blobs* the prompt it waits with.

    Raises:
        BlobError: The prompt cannot be read.
    """
    started = state.started
    events = [event for _, event in rows]
    sent = {e.prompt for e in events if isinstance(e, ModelInvoke) and not e.recorded}
    asked = None if state.over else asked_of_person(state.execution_id, events)
    towards, may = may_be_done(state, blobs) if blobs else ("", [])
    return ExecutionDocument(
        **_row_fields(state, rows),
        **_origin_fields(started),
        workspace=started.workspace if started else "",
        inputs=started.inputs if started else {},
        step=state.step_id,
        outputs=state.outputs,
        results=state.results,
        summaries={e.step_id: e.summary for e in events if isinstance(e, StepCompleted)},
        contexts=[_context(e, sent) for e in events if isinstance(e, ContextCompiled)],
        unreviewed=_unreviewed(events),
        prompt=_waiting_prompt(state, events, blobs) if blobs else "",
        usage=msgspec.to_builtins(state.usage),
        max_cost=started.max_cost if started else None,
        decider=state.decider,
        dialogues=dialogues_of(events),
        effects=[_effect(effect) for effect in open_effects(state)],
        person=asked.model if asked else "",
        answer_shape=shape_of(asked) if asked else "",
        gate=state.open_gate,
        answers=_answers(rows),
        items=items_document(state),
        edits=edits_of(rows),
        chosen=chosen_of(state, events),
        towards=towards,
        may=may,
        next=next_step_of(state, blobs) if blobs else None,
    )


def _origin_fields(started: ExecutionStarted | None) -> dict[str, Any]:
    """What an execution is a fork of, and what it changes."""
    if started is None:
        return {}
    variation = started.variation
    return {
        "fork_of": started.fork_of,
        "from_step": started.from_step,
        "what_if": variation is not None and variation.what_if,
        "variation": msgspec.to_builtins(variation) if variation is not None else {},
        "changed": [*changed_of(started)],
    }


def _effect(effect: EffectUnknown) -> OpenEffect:
    return OpenEffect(
        kind=effect.kind,
        name=effect.name,
        step=effect.step_id,
        attempt=effect.attempt,
        asked=iso(effect.began_ns) if effect.began_ns else "",
        reason=effect.reason,
        parameters=effect.parameters,
        key=effect.effect_key,
    )


def dialogues_of(events: Iterable[Event | None]) -> list[Dialogue]:
    """What passed between the steps and their models, by step."""
    found: dict[str, Dialogue] = {}
    for event in events:
        if isinstance(event, ModelInvoke | ModelResponded | ToolCall | ToolFailed | ToolDenied):
            _converse(found.setdefault(event.step_id, Dialogue(step=event.step_id)), event)
    return list(found.values())


def _converse(
    dialogue: Dialogue, event: ModelInvoke | ModelResponded | ToolCall | ToolFailed | ToolDenied
) -> None:
    match event:
        case ModelInvoke():
            dialogue.calls += 1
            dialogue.retries += event.call > 1
            if event.model not in dialogue.models:
                dialogue.models.append(event.model)
        case ModelResponded():
            dialogue.turns += 1
            dialogue.cost += event.cost
            dialogue.quoted = bool(event.answer.get("extractive"))
        case ToolCall():
            dialogue.tools[event.tool] = dialogue.tools.get(event.tool, 0) + 1
        case _:
            dialogue.tools_failed += 1


def _waiting_prompt(state: Execution, events: Sequence[Event | None], blobs: Blobs) -> str:
    if state.over:
        return ""
    asked = asked_of_person(state.execution_id, events)
    digest = asked.prompt if asked else ""
    if state.status == "paused":
        paused = [event for event in events if isinstance(event, ExecutionPaused)]
        digest = paused[-1].prompt if paused else ""
    return prompt_text(blobs.get(digest)) if digest else ""


def cells_of(row: ExecutionSummary, now_ns: int | None = None) -> tuple[str, ...]:
    """The row as the table of `execution list` has it; times are brief where *now_ns* is given."""
    requested_ns = parse_time(row.requested, 0)
    return (
        row.id,
        row.status,
        row.process or "(ad hoc)",
        local(requested_ns) if now_ns is None else recent(requested_ns, now_ns),
        duration(row.duration_s),
        f"{row.tokens:,}",
        f"{_asker(row)}{_because(row) or row.waiting or row.goal}",
    )


def _because(row: ExecutionSummary) -> str:
    """The reason of its state, with the first line of an open question."""
    asked = row.question.strip().partition("\n")[0]
    return f"{row.reason}: {asked}" if asked else row.reason


def _asker(row: ExecutionSummary) -> str:
    """Who asked, where it was another than the owner: a plugin, a client, a component."""
    return f"for {row.requested_by}: " if row.requested_by not in ("", OWNER) else ""


def took_s(rows: Iterable[Row]) -> float:
    """How long an execution was at work, by its own events, in order."""
    spent_ns, since_ns, last_ns = 0, None, 0
    for record, event in rows:
        last_ns = record.time_ns
        if isinstance(event, ExecutionStarted | ExecutionResumed):
            since_ns = record.time_ns if since_ns is None else since_ns
        elif isinstance(event, ExecutionPaused | ExecutionHalted | _OVER) and since_ns is not None:
            spent_ns, since_ns = spent_ns + last_ns - since_ns, None
        if isinstance(event, _OVER):
            break
    return (spent_ns + (last_ns - since_ns if since_ns is not None else 0)) / 1e9


def _unreviewed(events: Iterable[Event | None]) -> list[str]:
    steps: dict[str, None] = {}
    for event in events:
        if isinstance(event, ExecutionResumed) and event.answer:
            steps.clear()
        elif isinstance(event, StepCompleted):
            steps[event.step_id] = None
    return list(steps)


def _row_fields(state: Execution, rows: Sequence[Row]) -> dict[str, Any]:
    started = state.started
    request = next((e for _, e in rows if isinstance(e, ExecutionRequest)), None)
    times_ns = [record.time_ns for record, _ in rows] or [0]
    return {
        "id": state.execution_id,
        "status": state.status,
        "process": started.process if started else request.process if request else "",
        "version": started.process_version if started else 0,
        "goal": started.goal if started else request.goal if request else "",
        "requested": iso(times_ns[0]),
        "duration_s": took_s(rows),
        "steps": dict(state.statuses),
        "tokens": state.tokens,
        "cost": state.cost,
        "reason": state.reason if state.status != "completed" else "",
        "question": state.question,
        "verdict": _verdict(event for _, event in rows),
        "parent": state.parent,
        "requested_by": state.requested_by,
    }


def _answers(rows: Sequence[Row]) -> list[GivenAnswer]:
    """The answers of people; their author is the source of the request, never a field of a body."""
    asked = {r.position: asker(r.source, e.by) for r, e in rows if isinstance(e, ExecutionResume)}
    answers: list[GivenAnswer] = []
    judged = True  # whether the gate has said what it makes of the newest answer
    for record, event in rows:
        if isinstance(event, GateEvaluated) and not judged:
            answers[-1].counted, judged = event.outcome != "waiting", True
        elif isinstance(event, ExecutionResumed) and event.answer and is_own(record):
            by = asked.get(record.causation or 0, event.by)
            answers.append(_given(record, event.step_id, by, event.answer, event.note))
            judged = event.answer not in VERDICTS
        elif isinstance(event, EffectSettled) and is_own(record):
            answers.append(_given(record, event.step_id, event.by, event.outcome, event.note))
    return answers


def _given(record: Recorded, step: str, by: str, answer: str, note: str) -> GivenAnswer:
    return GivenAnswer(by=by, answer=answer, note=note, step=step, at=iso(record.time_ns))


def _verdict(events: Iterable[Event | None]) -> str:
    given = [event.verdict for event in events if isinstance(event, ExecutionRated)]
    return given[-1] if given else ""


def _context(event: ContextCompiled, sent: Collection[str]) -> CompiledContext:
    return CompiledContext(
        step=event.step_id,
        attempt=event.attempt,
        tokens=event.tokens,
        sections=event.sections,
        window=event.window,
        model=event.model,
        prompt=event.prompt,
        sent=event.prompt in sent,
        unedited=[*event.unedited],
    )
