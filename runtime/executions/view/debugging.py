"""Where an execution stands: what would be sent, what gates said, and what was done so far."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from cortex.bus.events import ContextCompiled
from cortex.runtime.context import (
    EditNote,
    Manifest,
    ManifestEntry,
    PromptBlock,
    counter_for,
    measure,
    messages_of,
    read_prompt,
)
from cortex.runtime.log import BlobCorruptError, Blobs
from cortex.runtime.processes import LinkedProcess

from .. import Execution, breakpoints_of
from .chosen import NextStep, next_step_of
from .edits import PersonEdit, edits_of
from .history import History, rows_of
from .items import ItemsDocument, items_document, waiting_child
from .spans import Span
from .trace import trace_of
from .waterfall import Waterfall, waterfall_of


class PromptPart(msgspec.Struct, kw_only=True):
    """One block of a prompt, as it would be sent."""

    kind: str  # as of a block: "heading", "own", "item", "said", "call", "result" or "tool"
    section: str
    item: str = ""  # its id in the manifest
    tokens: int
    trust: str
    text: str  # with the lines around quoted material
    cached_to: bool = False  # the endpoint is asked to cache the prompt up to here
    edited_by: list[str] = []


class PromptMessage(msgspec.Struct):
    """One message: consecutive blocks of one role."""

    role: str
    tokens: int
    parts: list[PromptPart]


class SectionTokens(msgspec.Struct):
    """The tokens of a section, and the most that it may have."""

    section: str
    tokens: int
    most: int


class LeftOut(msgspec.Struct, kw_only=True):
    """An item that is not in the prompt, or not as a whole."""

    item: str
    section: str
    state: str  # "out" or "partial"
    tokens: int  # in the prompt
    whole_tokens: int  # 0 where it was not counted
    why: str


class WaitingPrompt(msgspec.Struct, kw_only=True):
    """The prompt that is sent when the execution continues, with a summary of its manifest."""

    prompt: str  # digest
    manifest: str  # digest
    model: str
    provider: str
    attempt: int
    turn: int
    tokens: int
    window: int
    headroom: int  # tokens kept for the answer
    eligible: int  # tokens that a later prompt may read from a cache
    sections: list[SectionTokens]
    tools: list[PromptPart]
    messages: list[PromptMessage]
    considered: int
    included: int
    left_out: list[LeftOut]
    edits: list[EditNote]
    notes: list[str]  # what was made harmless, passed over, missing, or is to be warned of


class GateResult(msgspec.Struct, kw_only=True):
    """One evaluation of a gate."""

    gate: str
    step: str  # "" for a gate of the process
    outcome: str  # "passed", "failed" or "waiting"; "open" while it is asked
    reason: str
    evidence: dict[str, Any]
    asked: str  # UTC
    duration_s: float


class DebugDocument(msgspec.Struct, kw_only=True):
    """Where one execution stands, how it came there, and what comes next."""

    id: str
    process: str  # "" for ad-hoc work
    version: int
    goal: str
    status: str
    reason: str
    question: str
    step: str  # the current one
    breakpoints: list[str]  # steps before which it pauses, and actions towards a goal
    prompt: WaitingPrompt | None  # at the breakpoint of a step that asks a model
    next: NextStep | None  # at the breakpoint of another step
    gates: list[GateResult]
    edits: list[PersonEdit]
    history: Waterfall
    parent: str  # the execution that waits for it
    items: ItemsDocument | None  # of the current step, where that has several


def debug_of(history: History, execution_id: str) -> DebugDocument:
    """Where an execution stands, or the child that it waits for.

    Raises:
        BlobError: The process or the prompt cannot be read.
    """
    state = history.execution(execution_id)
    while inner := waiting_child(state):
        state = history.execution(inner)
    rows = rows_of(history, state.execution_id)
    trace = trace_of(history, state.execution_id, full=False)
    started, waits = state.started, (state.status, state.stage) == ("paused", "compiled")
    return DebugDocument(
        id=state.execution_id,
        process=started.process if started else "",
        version=started.process_version if started else 0,
        goal=started.goal if started else "",
        status=state.status,
        reason=state.reason,
        question=state.question,
        step=state.step_id,
        breakpoints=_breakpoints(state, history.blobs),
        prompt=_prompt(state.compiled, history.blobs) if waits and state.compiled else None,
        next=next_step_of(state, history.blobs),
        gates=list(gate_results(trace.spans)),
        edits=edits_of(rows),
        history=waterfall_of(trace),
        parent=state.parent,
        items=items_document(state),
    )


def gate_results(spans: Sequence[Span]) -> Iterator[GateResult]:
    """What the gates of an execution said, in order."""
    steps = {span.id: span.name for span in spans if span.kind == "step"}
    for span in spans:
        if span.kind == "gate":
            yield GateResult(
                gate=span.name,
                step=steps.get(span.parent, ""),
                outcome=span.status,
                reason=span.attributes.get("reason", ""),
                evidence=span.attributes.get("evidence", {}),
                asked=span.started,
                duration_s=span.duration_s,
            )


def _breakpoints(state: Execution, blobs: Blobs) -> list[str]:
    started = state.started
    if started is None or not started.linked:
        return []
    process = msgspec.json.decode(blobs.get(started.linked), type=LinkedProcess)
    return [*breakpoints_of(process, state)]


def _prompt(event: ContextCompiled, blobs: Blobs) -> WaitingPrompt:
    try:
        manifest = msgspec.json.decode(blobs.get(event.manifest), type=Manifest)
        blocks = read_prompt(blobs.get(event.prompt))
    except msgspec.DecodeError as error:
        problem = f"it is not a prompt or its manifest: {error}"
        raise BlobCorruptError(event.prompt, problem) from error
    parts = _parts(blocks, manifest)
    cut = [_left_out(entry) for entry in manifest.items if entry.state != "in"]
    known = {f"{each.item} {each.state}: {each.why}" for each in cut}
    passed = [f"{e.count:,} items of {e.section}: {e.reason}" for e in manifest.passed_over]
    unedited = [f"without the change of {each}" for each in event.unedited]
    return WaitingPrompt(
        prompt=event.prompt,
        manifest=event.manifest,
        model=event.model,
        provider=event.provider,
        attempt=event.attempt,
        turn=event.turn,
        tokens=event.tokens,
        window=event.window,
        headroom=event.headroom,
        eligible=event.eligible,
        sections=[
            SectionTokens(name, tokens, manifest.budgets.get(name, 0))
            for name, tokens in manifest.sections.items()
        ],
        tools=[part for part in parts if part.kind == "tool"],
        messages=_messages(blocks, parts),
        considered=event.considered,
        included=event.included,
        left_out=cut,
        edits=[*manifest.edits],
        notes=[
            *(action for action in event.actions if action not in known),
            *(*passed, *unedited, *event.notes, *manifest.warnings),
        ],
    )


def _parts(blocks: Sequence[PromptBlock], manifest: Manifest) -> list[PromptPart]:
    editors = {(entry.section, entry.id): [*entry.edited] for entry in manifest.items}
    editors |= {(part.section, ""): [*part.edited] for part in manifest.fixed}
    counted = measure(list(blocks), counter_for(manifest.encoding)).tokens
    return [
        PromptPart(
            kind=block.kind,
            section=block.section,
            item=block.item,
            tokens=tokens,
            trust=block.trust,
            text=block.shown,
            cached_to=block.breakpoint,
            edited_by=[]
            if block.kind == "heading"
            else editors.get((block.section, block.item), []),
        )
        for block, tokens in zip(blocks, counted, strict=True)
    ]


def _messages(blocks: Sequence[PromptBlock], parts: Sequence[PromptPart]) -> list[PromptMessage]:
    spoken = iter([part for part in parts if part.kind != "tool"])
    found = []
    for message in messages_of(blocks):
        own = [next(spoken) for _ in message.blocks]
        found.append(PromptMessage(message.role, sum(part.tokens for part in own), own))
    return found


def _left_out(entry: ManifestEntry) -> LeftOut:
    return LeftOut(
        item=entry.id,
        section=entry.section,
        state=entry.state,
        tokens=entry.tokens,
        whole_tokens=entry.whole_tokens,
        why=entry.reason,
    )
