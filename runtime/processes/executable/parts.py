"""The process of one item of a step, and the values that it may refer to.

An item is an execution of its own, of the very process that its parent runs, but of one step of it.
The values that the step refers to, given by `seen_by`, are copied into the item when it begins, so
later changes in its parent do not affect it.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from .expressions import Constant, ListOf, MapOf, Ref, Template, Text
from .linked import Halt, LinkedGate, LinkedProcess, LinkedStep

APPROVED: Final = "approved"  # the gate that asks a person


def part_of(process: LinkedProcess, step_id: str, parent_step: str) -> LinkedProcess:
    """*process*, as one item of its step *parent_step* carries it out: *step_id* and no more.

    Raises:
        KeyError: The process has no such step.
    """
    step = process.step(step_id)
    if step_id == parent_step:  # one item of `for_each:`; a branch may be one itself
        shared = replace(step.budget, cost=None, time_s=None)
        step = replace(step, fan=UNSET, budget=shared)
    body = replace(step, within=UNSET, when=None, on_failure=Halt())
    return replace(process, steps=(body,), whole=process.steps, gates=(), outputs=(), part=step_id)


def forked(process: LinkedProcess, fork_of: str) -> LinkedProcess:
    """*process*, as a fork of the execution *fork_of* runs it.

    That execution may have done the same work in the world before. So a person is asked before each
    step that may have an effect there, by the gate `approved`.
    """
    steps = (_asked_first(step, fork_of) if acts(step) else step for step in process.steps)
    return replace(process, steps=tuple(steps))


def acts(step: LinkedStep) -> bool:
    """Whether *step* may have an effect outside: its action, a child, a goal, or a tool."""
    action = step.action is not None and step.action.effect not in ("none", "read")
    return action or step.child is not None or step.goal is not UNSET or bool(step.tools)


def _asked_first(step: LinkedStep, fork_of: str) -> LinkedStep:
    question = (
        f"Step {step.id} may have an effect outside, and execution {fork_of}, of which this is a "
        "fork, may have had it before. Shall the fork do it?"
    )
    gate = LinkedGate(
        name=APPROVED,
        component="Approved",
        parameters=MapOf((("question", Constant(question)),)),
        read_only=False,
        spec="",
        origin=step.origin,
    )
    return replace(step, gates=(gate, *step.gates))


def seen_by(step: LinkedStep) -> tuple[tuple[str, ...], ...]:
    """The inputs and earlier results that *step* refers to, each once.

    The list that it goes over is not among them: an item is given its own part of it.
    """
    templates: list[Template] = [step.parameters, *(gate.parameters for gate in step.gates)]
    templates += step.find.texts if step.find is not UNSET else ()
    templates += step.memory.texts if step.memory is not UNSET else ()
    if step.goal is not UNSET:
        gates = [*step.goal.check, *(gate for each in step.goal.grants for gate in each.gates)]
        templates += [step.goal.text, *(gate.parameters for gate in gates)]
        templates += [each.given for each in step.goal.grants]
    paths = [path for each in templates for path in refs(each)]
    paths += [("steps", carry.step, *filter(None, (carry.field,))) for carry in step.carry]
    return _values(paths)


def list_seen_by(step: LinkedStep) -> tuple[tuple[str, ...], ...]:
    """The inputs and earlier results that the list is made from which *step* goes over."""
    if step.fan is UNSET or step.fan.over is UNSET:
        return ()
    return _values(refs(step.fan.over))


def _values(paths: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """The inputs, and fields of results, that *paths* lead to, each once."""
    kept = (path[: 3 if path[0] == "steps" else 2] for path in paths)
    return tuple(dict.fromkeys(path for path in kept if path[0] in ("inputs", "steps")))


def refs(template: Template) -> Iterator[tuple[str, ...]]:
    """The paths that *template* refers to."""
    match template:
        case Ref(path):
            yield path
        case Text(parts):
            yield from (part.path for part in parts if isinstance(part, Ref))
        case ListOf(items):
            for item in items:
                yield from refs(item)
        case MapOf(entries):
            for _, value in entries:
                yield from refs(value)
        case _:
            return
