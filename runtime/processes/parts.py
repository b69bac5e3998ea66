"""What one item of a step carries out, and what it may refer to.

An item is an execution of its own, of the very process that its parent runs, but of one step of it.
What that step refers to is copied into the item when it begins, so that nothing it does depends on
what its parent does meanwhile; `seen_by` says what that is.
"""

from collections.abc import Iterable, Iterator

from msgspec import UNSET
from msgspec.structs import replace

from .expressions import ListOf, MapOf, Ref, Template, Text
from .linked import Halt, LinkedProcess, LinkedStep


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


def seen_by(step: LinkedStep) -> tuple[tuple[str, ...], ...]:
    """The inputs and earlier results that *step* refers to, each once.

    The list that it goes over is not among them: an item is given its own part of it.
    """
    templates: list[Template] = [step.parameters, *(gate.parameters for gate in step.gates)]
    templates += step.find.texts if step.find is not UNSET else ()
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
