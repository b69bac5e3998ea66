"""Compares two versions of a process: changes as records, and in words."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from .linked import LinkedProcess, LinkedStep

Kind: TypeAlias = Literal["added", "removed", "changed", "moved"]


class Change(Struct, frozen=True, kw_only=True):
    """One difference."""

    kind: Kind
    subject: str  # process, input, output, trigger, gate, knowledge, step
    name: str  # of the subject
    field: str = ""  # the changed field
    before: Any = None
    after: Any = None

    def __str__(self) -> str:
        what = f"{self.subject} `{self.name}`"
        if self.kind in ("added", "removed"):
            detail = f": {_in_words(self.after or self.before)}" if self.field else ""
            inner = f" {self.field}" if self.field else ""
            return f"{what}{inner} {self.kind}{detail}"
        if self.kind == "moved":
            return f"{what} moved from place {self.before} to {self.after}"
        return f"{what}: {self.field} was {_in_words(self.before)}, is {_in_words(self.after)}"


class Diff(Struct, frozen=True, kw_only=True):
    """All differences between two linked processes."""

    before: str  # "fix_bug 1"
    after: str
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        head = f"{self.before} -> {self.after}"
        lines = [str(change) for change in self.changes] or ["nothing changed"]
        return "\n".join([head, *(f"  {line}" for line in lines)])


def diff(before: LinkedProcess, after: LinkedProcess) -> Diff:
    """Return what has to be done to *before* to get *after*."""
    return Diff(
        before=f"{before.name} {before.version}",
        after=f"{after.name} {after.version}",
        changes=tuple(_changes(before, after)),
    )


def _changes(before: LinkedProcess, after: LinkedProcess) -> Iterator[Change]:
    for field in ("description", "abstract", "chain", "implements"):
        old, new = getattr(before, field), getattr(after, field)
        if old != new:
            yield Change(
                kind="changed",
                subject="process",
                name=after.name,
                field=field,
                before=_plain(old),
                after=_plain(new),
            )
    yield from _keyed("trigger", _triggers(before), _triggers(after))
    for subject, key in (("input", "inputs"), ("output", "outputs")):
        yield from _keyed(subject, _named(before, key), _named(after, key))
    yield from _keyed("gate", _gates(before), _gates(after))
    yield from _keyed("knowledge", _topics(before), _topics(after))
    yield from _steps(before, after)


def _keyed(
    subject: str, before: Mapping[str, Any], after: Mapping[str, Any], *, whole: bool = False
) -> Iterator[Change]:
    for name in before:
        if name not in after:
            yield Change(kind="removed", subject=subject, name=name, before=before[name])
    for name, new in after.items():
        if name not in before:
            yield Change(kind="added", subject=subject, name=name, after=new)
        elif not whole:
            yield from _fields(subject, name, before[name], new)


def _fields(subject: str, name: str, before: Any, after: Any) -> Iterator[Change]:
    for field in sorted(before.keys() | after.keys()):
        old, new = before.get(field), after.get(field)
        if old != new:
            yield Change(
                kind="changed", subject=subject, name=name, field=field, before=old, after=new
            )


def _steps(before: LinkedProcess, after: LinkedProcess) -> Iterator[Change]:
    old = {step.id: step for step in before.steps}
    new = {step.id: step for step in after.steps}
    yield from _keyed("step", _plain_by_id(old), _plain_by_id(new), whole=True)
    for step_id, step in new.items():
        if step_id not in old:
            continue
        # Values that a step inherits from its process were reported there.
        own = old[step_id].knowledge != before.knowledge or step.knowledge != after.knowledge
        yield from _step(old[step_id], step, knowledge=own)
    # Places among the steps that both have: an insertion moves nothing.
    shared_before = [step_id for step_id in old if step_id in new]
    shared_after = [step_id for step_id in new if step_id in old]
    for place, step_id in enumerate(shared_after):
        was = shared_before.index(step_id)
        if was != place:
            yield Change(
                kind="moved", subject="step", name=step_id, before=was + 1, after=place + 1
            )


def _step(before: LinkedStep, after: LinkedStep, *, knowledge: bool) -> Iterator[Change]:
    for field in before.__struct_fields__:
        old, new = getattr(before, field), getattr(after, field)
        if old == new:
            continue
        if field == "action" and old and new and old.name != new.name:
            old, new = old.name, new.name  # the component and the announcement follow from it
        if field == "gates":
            yield from _within(after.id, "gate", _gates(before), _gates(after))
        elif field == "knowledge":
            if not knowledge:
                continue
            yield from _within(after.id, "knowledge", _topics(before), _topics(after))
        else:
            yield Change(
                kind="changed",
                subject="step",
                name=after.id,
                field=field,
                before=_plain(old),
                after=_plain(new),
            )


def _within(
    step_id: str, field: str, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[Change]:
    for name in sorted(before.keys() - after.keys()):
        yield Change(kind="removed", subject="step", name=step_id, field=field, before=name)
    for name in sorted(after.keys() - before.keys()):
        yield Change(kind="added", subject="step", name=step_id, field=field, after=name)
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            yield Change(
                kind="changed",
                subject="step",
                name=step_id,
                field=f"{field} {name}",
                before=before[name],
                after=after[name],
            )


def _plain(value: Any) -> Any:
    return None if value is msgspec.UNSET else msgspec.to_builtins(value)


def _plain_by_id(steps: Mapping[str, LinkedStep]) -> dict[str, Any]:
    return {step_id: _plain(step) for step_id, step in steps.items()}


def _named(process: LinkedProcess, key: str) -> dict[str, Any]:
    return {each.name: _plain(each) for each in getattr(process, key)}


def _gates(holder: LinkedProcess | LinkedStep) -> dict[str, Any]:
    gates: dict[str, Any] = {}
    for gate in holder.gates:
        # The same gate with other parameters is another gate.
        name = gate.name if gate.name not in gates else f"{gate.name} #{len(gates) + 1}"
        gates[name] = _plain(gate)
    return gates


def _topics(holder: LinkedProcess | LinkedStep) -> dict[str, Any]:
    return {topic.topic: _plain(topic) for topic in holder.knowledge}


def _triggers(process: LinkedProcess) -> dict[str, Any]:
    return {msgspec.json.encode(each).decode(): _plain(each) for each in process.triggers}


def _in_words(value: Any) -> str:
    if value is None or value == () or value == [] or value == {}:
        return "nothing"
    if isinstance(value, str):
        return f'"{value}"'
    return msgspec.json.encode(value).decode()
