"""Carried results as material: how old each is, what it was made from, what has replaced it.

The log knows when a result was recorded. The linked process, which the log names, knows which
results a step refers to. Forks, what-ifs and items of a step come to the same, because only the
order of the results counts, and a fork takes them over in the order of the process.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from cortex.bus import Event
from cortex.bus.events import ExecutionStarted, StepCompleted, StepInherited, StepSettled
from cortex.runtime.context import Item, Link, items_of
from cortex.runtime.processes import LinkedProcess, LinkedStep, seen_by

OF_RESULTS: Final = (ExecutionStarted, StepCompleted, StepInherited, StepSettled)
REPLACED: Final = 0.5  # confidence in a result that a later one replaces
MOST_LINKS: Final = 16  # from one item to the items of one step: a search may offer hundreds


class Results(NamedTuple):
    """What the log of an execution says about the results of its steps."""

    positions: Mapping[str, int] = {}  # of the event that recorded each, by step
    linked: str = ""  # digest of the process that the execution runs


NO_RESULTS: Final = Results()


def results_in(events: Iterable[tuple[int, Event]]) -> Results:
    """The positions of the newest results in *events*, each with its position in the log."""
    positions: dict[str, int] = {}
    begun: ExecutionStarted | None = None
    for position, event in events:
        match event:
            case ExecutionStarted() if begun is None:
                begun = event
                known = event.part.results if event.part is not None else ()
                positions |= dict.fromkeys(known, position)
            case StepInherited() if begun is not None:
                pass  # what a fork takes over is recorded before it begins
            case StepCompleted() | StepInherited() | StepSettled():
                positions[event.step_id] = position
            case _:
                pass
    return Results(positions, begun.linked if begun is not None else "")


def carried_items(
    carry: Mapping[str, dict[str, Any]],
    results: Results = NO_RESULTS,
    process: LinkedProcess | None = None,
) -> list[Item]:
    """The items of the carried results, with what is known of them.

    Args:
        carry: The results, by step.
        results: What the log says about them.
        process: What the execution runs; without it, nothing is known of what a result came from.
    """
    steps = {step.id: step for step in (process.steps if process else ()) if step.id in carry}
    positions = {step_id: _position(step_id, results, steps) for step_id in carry}
    items = {step_id: items_of(step_id, result) for step_id, result in carry.items()}
    old = _replaced_steps(steps, positions)
    old_parts = _replaced_parts(items, positions)
    return [
        replace(
            item,
            logged=positions[step_id],
            confidence=REPLACED if step_id in old or item.id in old_parts else item.confidence,
            links=_links(steps.get(step_id), items),
        )
        for step_id, each in items.items()
        for item in each
    ]


def _position(step_id: str, results: Results, steps: Mapping[str, LinkedStep]) -> int:
    """Branches that ran at the same time are as old as each other: their step's result."""
    step = steps.get(step_id)
    within = step.within if step is not None and step.within is not UNSET else step_id
    return results.positions.get(within) or results.positions.get(step_id, 0)


def _links(step: LinkedStep | None, items: Mapping[str, tuple[Item, ...]]) -> tuple[Link, ...]:
    """Links to the carried items that *step* refers to: its result was made from them."""
    if step is None:
        return ()
    used = dict.fromkeys(path[1] for path in seen_by(step) if path[0] == "steps")
    return tuple(
        Link("caused_by", item.id)
        for step_id in used
        if step_id != step.id
        for item in items.get(step_id, ())[:MOST_LINKS]
    )


def _replaced_steps(
    steps: Mapping[str, LinkedStep], positions: Mapping[str, int]
) -> frozenset[str]:
    """The steps whose work a later one did again, in the same words."""
    newest: dict[Any, int] = {}
    for step_id, step in steps.items():
        work = _work(step)
        newest[work] = max(newest.get(work, 0), positions[step_id])
    return frozenset(
        step_id for step_id, step in steps.items() if positions[step_id] < newest[_work(step)]
    )


def _work(step: LinkedStep) -> Any:
    """What *step* does, but not when and for how long."""
    if step.action is None and step.child is None:
        return step.id
    told = (step.description, step.instructions, step.carry) if step.asks_model else ()
    runs = step.action.name if step.action is not None else step.child
    return repr((runs, step.parameters, told, step.fan))


def _replaced_parts(
    items: Mapping[str, tuple[Item, ...]], positions: Mapping[str, int]
) -> frozenset[str]:
    """The ids of excerpts of which a later step offers the same lines of the same source."""
    newest: dict[Any, int] = {}
    offered = [(_part(item), positions[name], item) for name, own in items.items() for item in own]
    for part, position, item in offered:
        if item.source:
            newest[part] = max(newest.get(part, 0), position)
    return frozenset(item.id for part, position, item in offered if position < newest.get(part, 0))


def _part(item: Item) -> tuple[Any, ...]:
    return item.kind, item.source, item.first_line, item.line_numbers
