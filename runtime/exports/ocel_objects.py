"""Which objects an event is about, and what it says of them. Pure."""

from collections.abc import Iterator
from typing import Any

import msgspec

from cortex.bus import Recorded
from cortex.runtime.projections import STREAM

OBJECT_TYPES: dict[str, dict[str, str]] = {  # attributes, with their types
    "execution": {
        "status": "string", "goal": "string", "requested_by": "string", "version": "integer",
        "tokens": "integer", "cost": "float",
    },
    "step": {"status": "string", "action": "string", "attempt": "integer"},
    "process": {"status": "string", "version": "integer", "digest": "string"},
    "model": {"provider": "string"},
    "component": {},
}  # fmt: skip
STATUS = {  # of the object that a topic is about, from that event on
    "execution.request": "requested",
    "execution.deferred": "deferred",
    "execution.started": "running",
    "execution.paused": "paused",
    "execution.halted": "halted",
    "execution.resumed": "running",
    "execution.completed": "completed",
    "execution.failed": "failed",
    "execution.cancelled": "cancelled",
    "step.execute": "running",
    "step.delegated": "running",
    "step.completed": "completed",
    "step.failed": "failed",
    "step.skipped": "skipped",
    "process.compiled": "compiled",
    "process.unlinked": "unlinked",
    "process.retired": "retired",
}
BEGINS = ("execution.request", "execution.started")  # these say what an execution belongs to
FIELDS = {"process_version": "version"}  # of a body, under another name
ITEM = "item"  # a step's item runs as an execution of its own: `step.delegated` of it is no change

Related = tuple[str, str]  # id of an object, qualifier


class ObjectChange(msgspec.Struct, frozen=True):
    """What an event says of one object."""

    id: str
    type: str
    position: int
    time_ns: int
    attributes: dict[str, Any] = {}
    relations: tuple[Related, ...] = ()


def relations_of(record: Recorded, body: dict[str, Any]) -> list[Related]:
    """The objects that *record* is about, each with what it is for the event."""
    return list(dict.fromkeys((each, qualifier) for _, each, qualifier in _named(record, body)))


def changes_of(record: Recorded, body: dict[str, Any]) -> Iterator[ObjectChange]:
    """What *record* says of its objects; each of them is in at least one."""
    about = _about(record, body)
    for kind, each, _ in _named(record, body):
        said = _attributes(kind, record, body) if each == about else {}
        if kind == "model" and body.get("provider"):
            said = {"provider": body["provider"]}
        yield ObjectChange(
            each, kind, record.position, record.time_ns, said, _related(kind, each, record, body)
        )


def _named(record: Recorded, body: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Type, id and qualifier of each object; an object may come twice."""
    execution = _execution(record, body)
    if execution:
        yield "execution", f"execution:{execution}", "execution"
        if step := _word(body, "step_id"):
            yield "step", f"step:{execution}/{step}", "step"
        if child := _word(body, "child"):
            yield "execution", f"execution:{child}", "child"
        if parent := _word(body, "parent"):
            yield "execution", f"execution:{parent}", "parent"
            if step := _word(body, "parent_step"):
                yield "step", f"step:{parent}/{step}", "parent step"
    if process := _process(record, body):
        yield "process", f"process:{process}", "process"
    if record.topic.startswith("model.") and (model := _word(body, "model")):
        yield "model", f"model:{model}", "model"
    yield "component", f"component:{record.source}", "publisher"
    if component := _word(body, "component"):
        yield "component", f"component:{component}", "component"


def _about(record: Recorded, body: dict[str, Any]) -> str:
    """The object whose status and attributes the event gives; "" for none."""
    family, execution = record.topic.partition(".")[0], _execution(record, body)
    if family == "execution" and execution:
        return f"execution:{execution}"
    if family == "step" and execution and not body.get(ITEM):
        return f"step:{execution}/{_word(body, 'step_id')}"
    return f"process:{_process(record, body)}" if family == "process" else ""


def _attributes(kind: str, record: Recorded, body: dict[str, Any]) -> dict[str, Any]:
    status = STATUS.get(record.topic)
    found: dict[str, Any] = {"status": status} if status else {}
    for field, value in body.items():
        name = FIELDS.get(field, field)
        scalar = isinstance(value, str | int | float) and value not in ("", None)
        if name in OBJECT_TYPES[kind] and name not in found and scalar:
            found[name] = value
    return found if status else {}


def _related(kind: str, each: str, record: Recorded, body: dict[str, Any]) -> tuple[Related, ...]:
    """Relations of the object *each* to others, as far as this event says them."""
    if kind == "step":
        execution = each.removeprefix("step:").partition("/")[0]
        return ((f"execution:{execution}", "step of"),)
    if each != f"execution:{_execution(record, body)}" or record.topic not in BEGINS:
        return ()
    found: list[Related] = []
    if process := _process(record, body):
        found.append((f"process:{process}", "runs"))
    if parent := _word(body, "parent"):
        step = _word(body, "parent_step")
        within = f"step:{parent}/{step}" if step else f"execution:{parent}"
        found.append((within, "part of"))
    return tuple(found)


def _execution(record: Recorded, body: dict[str, Any]) -> str:
    named = _word(body, "execution_id")
    if named or not record.stream.startswith(STREAM):
        return named or record.correlation or ""
    return record.stream.removeprefix(STREAM)


def _process(record: Recorded, body: dict[str, Any]) -> str:
    return _word(body, "name" if record.topic.startswith("process.") else "process")


def _word(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    return value if isinstance(value, str) else ""
