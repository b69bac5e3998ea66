"""What a what-if changes, checked against the execution that it is about."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from cortex.bus.events import ExecutionStarted, Variation
from cortex.runtime.context import Budgets
from cortex.runtime.executions import Execution, fold, process_to_fork
from cortex.runtime.executions.view import History, changed_words, process_words
from cortex.runtime.kernel import NotFoundError, RefusedError
from cortex.runtime.knowledge import read_document
from cortex.runtime.processes import LinkedProcess, listed
from cortex.runtime.projections import STREAM
from cortex.runtime.registry import STREAM as REGISTRY
from cortex.runtime.registry import registry_of
from cortex.runtime.replay import inputs_given, process_in_file, ran_process

_READ = msgspec.json.Decoder(LinkedProcess).decode


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How prompts are compiled, where that is other."""

    tokens: Annotated[int, msgspec.Meta(ge=1)] | None = None  # the effective window
    sections: dict[str, Annotated[int, msgspec.Meta(ge=0)]] | None = None  # tokens by section
    persona: str | None = None
    instructions: str | None = None  # in place of those of the process
    strategy: Literal["pre-assembled", "just-in-time"] | None = None


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be other than it was; nothing that is not given."""

    start: str = ""  # a step, a position or the id of an event; "" for the beginning
    process: Path | None = None  # a file with another version of the process
    knowledge: Mapping[str, Path] = {}  # files with other content, by topic
    models: Mapping[str, str] = {}  # by step; "" for all steps
    policy: Mapping[str, Any] = {}  # of the prompt compiler: fields of `Policy`


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """A what-if that fits its execution."""

    execution: str
    started: ExecutionStarted
    process: LinkedProcess  # the version that it runs
    other: bytes = b""  # that version, encoded, if it is not the recorded one
    inputs: dict[str, Any] = {}  # for another version
    from_step: str = ""  # the first step that is not taken as it was
    variation: Variation
    subject: str = ""  # whose personal data the execution is about
    changed: tuple[str, ...] = ()  # in words


def prepared(history: History, execution_id: str, changes: Changes) -> WhatIf:
    """Check *changes* of an execution; nothing is recorded.

    Raises:
        NotFoundError: There is no such file, step, position, event, topic or model.
        RejectedError: The process in the file has errors; one may be that nothing serves an action.
        RefusedError: The execution ran no process, or cannot be taken up at that point.
        KnowledgeError: The file with the content of a topic cannot be read.
    """
    history.refuse_erased(execution_id)
    started = ran_process(history, execution_id)
    recorded = _READ(history.blobs.get(started.linked))
    process, other, inputs = recorded, b"", dict[str, Any]()
    if changes.process is not None:
        process = process_in_file(history, execution_id, changes.process)
        other = msgspec.json.encode(process)
        inputs = inputs_given(history, execution_id, process)
    from_step, position = _start(history, execution_id, process, changes.start)
    variation = Variation(
        through=head_of(history),
        what_if=True,
        position=position,
        models=_models(history, process, changes.models),
        knowledge=_knowledge(process, changes.knowledge),
        policy=_policy(changes.policy),
    )
    return WhatIf(
        execution=execution_id,
        started=started,
        process=process,
        other=other,
        inputs=inputs,
        from_step=from_step,
        variation=variation,
        subject=history.subject_of(execution_id) or "",
        changed=changed_words(variation, _other(process) if other else ""),
    )


def head_of(history: History) -> int:
    """The position of the newest event."""
    return history.log.state().head if history.log is not None else 0


def _other(process: LinkedProcess) -> str:
    return process_words(process.name, process.version, process.digest)


def _start(
    history: History, execution_id: str, process: LinkedProcess, start: str
) -> tuple[str, int]:
    """The first step that is not taken as it was, and the position that *start* means, if any."""
    records = history.stream(STREAM + execution_id)
    position = int(start) if start.isascii() and start.isdigit() else 0
    if start and not position:
        found = [r.position for r in records if r.id.hex() == start.replace("-", "").lower()]
        position = found[0] if found else 0
    if not position:
        state = fold(execution_id, records, history.vocabulary)
        process_to_fork(state, process, start)
        return start, 0
    if not records[0].position <= position <= head_of(history):
        hint = f"is not of execution {execution_id}, which began at {records[0].position}"
        raise NotFoundError("position", str(position), hint)
    state = fold(execution_id, records, history.vocabulary, before=position + 1)
    step_id = _at(state, process)
    process_to_fork(state, process, step_id)
    return step_id, position


def _at(state: Execution, process: LinkedProcess) -> str:
    """The step at which *state* is, or that comes next; "" at the gates of the process."""
    if state.started is None or (not state.step_id and not state.statuses):
        return ""
    top = [step.id for step in process.steps if step.within is UNSET]
    here = state.pursuit.step_id if state.pursuit is not None else state.step_id
    if here in top and (state.stage != "idle" or here not in state.statuses):
        return here
    return next((each for each in top if each not in state.statuses), top[-1] if top else "")


def _models(history: History, process: LinkedProcess, models: Mapping[str, str]) -> dict[str, str]:
    asking = [step.id for step in process.steps if step.asks_model]
    registry = registry_of(history.stream(REGISTRY), history.event)
    known = [said.name for said in registry.of_kind("model")]
    for step_id, model in models.items():
        if step_id and step_id not in asking:
            there = listed(asking) or "none"
            raise NotFoundError("step", step_id, f"asks no model; those that do: {there}")
        if model not in known:
            raise NotFoundError("model", model, f"is not configured: {listed(sorted(known))}")
    return dict(models)


def _knowledge(process: LinkedProcess, knowledge: Mapping[str, Path]) -> dict[str, dict[str, str]]:
    topics = {topic.topic for step in process.steps for topic in step.knowledge}
    found: dict[str, dict[str, str]] = {}
    for topic, path in knowledge.items():
        if topic not in topics:
            there = listed(sorted(topics)) or "none"
            raise NotFoundError("topic", topic, f"is in no step of {process.name}: {there}")
        if not path.is_file():
            raise NotFoundError("file", str(path), "is not there: name one with the content")
        document = read_document(path.absolute())
        found[topic] = {"path": document.path, "digest": document.digest}
    return found


def _policy(policy: Mapping[str, Any]) -> dict[str, Any]:
    try:
        found = msgspec.convert(dict(policy), Policy)
    except msgspec.ValidationError as error:
        raise RefusedError(f"the settings of prompts do not fit: {error}") from None
    sections = Budgets.__struct_fields__
    for name in found.sections or ():
        if name not in sections:
            raise NotFoundError("section", name, f"is no part of a prompt: {listed(sections)}")
    plain: dict[str, Any] = msgspec.to_builtins(found)
    return {name: value for name, value in plain.items() if value is not None}


def with_request(what_if: WhatIf, **fields: Any) -> WhatIf:
    """*what_if* with other fields of its variation."""
    return replace(what_if, variation=replace(what_if.variation, **fields))
