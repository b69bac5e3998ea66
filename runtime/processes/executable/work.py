"""The properties of a step's work that decide which model it needs; pure."""

from typing import Any

import msgspec
from msgspec import UNSET

from cortex.runtime.models import Inferred, WorkProfile, infer

from .linked import LinkedProcess, LinkedStep
from .parts import refs


def inferred_needs(process: LinkedProcess, step: LinkedStep) -> Inferred:
    """What *step* asks of a model beyond its `needs:`; nothing where it asks none."""
    if not step.asks_model:
        return Inferred()
    return infer(work_of(process, step), said_needs(step))


def said_needs(step: LinkedStep) -> dict[str, Any]:
    """The `needs:` of *step*."""
    plain: dict[str, Any] = msgspec.to_builtins(step.needs)
    return {name: value for name, value in plain.items() if value is not None}


def work_of(process: LinkedProcess, step: LinkedStep) -> WorkProfile:
    """The work of *step*, whose action asks a model."""
    action = step.action
    times = [each for each in (step.timeout_s, step.budget.time_s) if each is not None]
    if action is None:
        # Its time is that of all its turns together.
        return WorkProfile(
            action="", goal=step.goal is not UNSET, local=_local_sources(process, step)
        )
    return WorkProfile(
        action=action.name,
        states=action.needs if action.needs is not UNSET else {},
        changes=action.effect not in ("none", "read"),
        answer=action.answer if action.answer is not UNSET else {},
        tools=bool(step.tools),
        time_s=min(times, default=None),
        local=_local_sources(process, step),
    )


def sources_of(step: LinkedStep) -> tuple[str, ...]:
    """The steps whose results *step* is shown or given, in order and each once."""
    named = [carry.step for carry in step.carry]
    if step.fan is not UNSET:
        over = () if step.fan.over is UNSET else tuple(refs(step.fan.over))
        named += [*step.fan.branches, *(path[1] for path in over if path[0] == "steps")]
    found = step.find.texts if step.find is not UNSET else ()
    asked = step.memory.texts if step.memory is not UNSET else ()
    for template in (step.parameters, *found, *asked):
        named += [path[1] for path in refs(template) if path[0] == "steps" and len(path) > 1]
    return tuple(dict.fromkeys(named))


def _local_sources(process: LinkedProcess, step: LinkedStep) -> tuple[str, ...]:
    """Earlier steps with `sensitivity: local` whose results reach *step*.

    A step between them with another value releases the data; one without a value does not.
    """
    steps = {each.id: each for each in process.whole or process.steps}
    found: list[str] = []
    waiting, seen = list(sources_of(step)), {step.id}
    while waiting:
        source = steps.get(waiting.pop(0))
        if source is None or source.id in seen:
            continue
        seen.add(source.id)
        if source.needs.sensitivity == "local":
            found.append(source.id)
        elif source.needs.sensitivity is None:
            waiting += sources_of(source)
    return tuple(found)
