"""Builds work towards a goal from the command line: its actions, and its checks."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET

from cortex.bus.events import StepPropose
from cortex.runtime.executions import checked_as_declared, goal_at_hand
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, Home, RefusedError
from cortex.runtime.processes import (
    Goal,
    Granted,
    LinkedProcess,
    errors_of,
    linked_goal,
    nearest,
)
from cortex.runtime.processes.catalog import Catalog
from cortex.runtime.registry import Symbols
from cortex.runtime.serving.doctor import one_chooses

from ..errors import ArgumentError
from ..inputs import refuse_breaks
from ..sources.home_registry import symbols_of
from .goal_checks import check_of, object_of

PROCESS: Final = "process:"  # before the name of a process among what may be done
ANY: Final = "any"  # after the name of an action: any program may be started
RUN_TESTS: Final = "run_tests"  # runs code of the checkout, in the work tree
PACKS: Final = ("files", "knowledge")  # of tools that read, and that change the work tree alone
MAX_COST: Final = 1.0  # US dollars, where nothing else bounds them
WITHIN: Final = "30m"
NO_MODEL: Final = (
    "no model that can act is configured, so you choose what is done: `[[models.use]]` in "
    "config.toml names one"
)
NO_CHECKOUT: Final = (
    "the workspace is not a git checkout: the execution cannot change files or run programs in "
    "it, because it does that only in a worktree"
)


class GoalOptions(msgspec.Struct, frozen=True):
    """How a goal without a process is worked towards."""

    may: tuple[str, ...] = ()  # actions that may be chosen, too
    tools: tuple[str, ...] = ()  # beside those for files and knowledge
    check: tuple[str, ...] = ()  # what decides that the goal is reached
    turns: int | None = None  # how often the model is asked
    within: str | None = None  # how long the work may take, as "90s" or "2h"
    by_hand: bool = False  # a person chooses what is done


def goal_step(
    home: Home,
    catalog: Catalog,
    goal: str,
    workspace: Path,
    options: GoalOptions,
    breaks: Sequence[str] = (),
) -> dict[str, Any]:
    """The step that works towards *goal*, as a process would write it.

    Raises:
        ArgumentError: Some names are unknown or do not fit; the error says what to do about
            each.
    """
    registry = symbols_of(home)
    by_hand = options.by_hand or not one_chooses(home)
    tools = [] if by_hand else _usual_tools(registry, options.tools)
    step: dict[str, Any] = {
        "may": [*_usual(registry, options.may, by_hand=by_hand), *map(_granted, options.may)],
        "tools": [*tools, *options.tools],
        "by_hand": by_hand,
        "budget": {} if options.turns is None else {"turns": options.turns},
    }
    if options.within or not by_hand:
        step["timeout"] = options.within or WITHIN
    if options.check:
        allow = Config.shown(home).handlers.shell.allow
        step["check"] = [check_of(each, registry.gates, workspace, allow) for each in options.check]
    processes = _processes(catalog)
    linked, found = linked_goal(goal, step, registry, processes)
    # By the name of the option, where the step has another.
    said = [each.message.replace("`timeout`", "`--within`") for each in errors_of(found)]
    wrong = [f"{each}: {error.remedy}" for each, error in zip(said, errors_of(found), strict=True)]
    if wrong:
        raise ArgumentError("\n".join(wrong))
    refuse_breaks(linked, breaks, "the work towards the goal")
    return step


def most_of(home: Home, max_cost: float | None) -> float:
    """US dollars that work towards a goal may take: as asked for, else as configured, else 1."""
    configured = Config.shown(home).models.max_cost
    bounds = (each for each in (max_cost, configured) if each is not None)
    return next(bounds, MAX_COST)


def is_in_checkout(workspace: Path) -> bool:
    """Whether *workspace* is in a git checkout, as far as can be seen without asking git."""
    folder = workspace.absolute()
    return any((each / ".git").exists() for each in (folder, *folder.parents))


def proposal(
    history: History, execution_id: str, action: str, pairs: Mapping[str, str], note: str, seen: int
) -> StepPropose:
    """The action that a person chose in an execution, with parameters of the declared types.

    Raises:
        RefusedError: The execution has no current goal, or may not take the named action.
        ArgumentError: A parameter does not fit.
    """
    goal = goal_at_hand_of(history, execution_id)
    grant = _chosen(goal, action)
    if grant is None:
        raise RefusedError(
            f"{action!r} is not granted to execution {execution_id}: {_meant(goal, action)}"
        )
    laid_down = {name for name, _ in grant.given.entries}
    if taken := sorted(laid_down & pairs.keys()):
        raise ArgumentError(f"{', '.join(taken)} of {grant.name} is fixed: leave it out")
    properties = grant.parameters.get("properties", {})
    parameters = {name: _typed(value, properties.get(name)) for name, value in pairs.items()}
    problem = checked_as_declared(parameters, grant.parameters)
    if problem:
        takes = ", ".join(properties) or "nothing"
        raise ArgumentError(f"{action} does not take that: {problem}; it takes {takes}")
    return StepPropose(
        execution_id=execution_id, action=grant.name, parameters=parameters, note=note, seen=seen
    )


def goal_at_hand_of(history: History, execution_id: str) -> Goal:
    """The current goal of an execution.

    Raises:
        RefusedError: There is none; the error gives the state, and how to continue.
    """
    state = history.execution(execution_id)
    it = f"execution {execution_id}"
    if state.over:
        raise RefusedError(f"{it} is {state.status}: run it again instead")
    if state.started is None or not state.started.linked:
        raise RefusedError(
            f"{it} has no process and no goal: `cortex execution finish` or `cancel` ends it"
        )
    if state.stage in ("child", "cleanup") and state.child:
        raise RefusedError(f"{it} waits for execution {state.child}, which it runs: look at that")
    data = history.blobs.get(state.started.linked)
    step = goal_at_hand(msgspec.json.decode(data, type=LinkedProcess), state)
    if step is None or step.goal is UNSET:
        at = f", at its step {state.step_id}" if state.step_id else ""
        raise RefusedError(
            f"{it} is a run of {state.started.process}, which has no goal{at}: "
            f"`cortex execution resume {execution_id}` continues it"
        )
    return step.goal


def _chosen(goal: Goal, name: str) -> Granted | None:
    """What is called *name*; a process also as it is granted on the command line."""
    found = goal.grant(name)
    if found is None and name.startswith(PROCESS):
        found = goal.grant(name.removeprefix(PROCESS))
        return found if found is not None and found.child is not None else None
    return found


def _meant(goal: Goal, name: str) -> str:
    names = [each.name for each in goal.grants]
    near = nearest(name.removeprefix(PROCESS), names)
    return f"did you mean {near}?" if near else f"it may do {', '.join(names) or 'nothing'}"


def _usual(symbols: Symbols, named: Sequence[str], *, by_hand: bool) -> list[str]:
    """What may be done without being named: by hand all there is, by a model the tests."""
    taken = {*map(_name, named), *(symbols.tools.packs if symbols.tools else ())}
    usual = symbols.actions if by_hand else {RUN_TESTS} & symbols.actions.keys()
    return [name for name in usual if name not in taken]


def _usual_tools(symbols: Symbols, named: Sequence[str]) -> list[str]:
    known = symbols.tools.packs if symbols.tools else {}
    return [name for name, pack in known.items() if pack in PACKS and name not in named]


def _name(text: str) -> str:
    """What *text* grants, without what it lays down for it."""
    return text.partition("=")[0]


def _granted(text: str) -> Any:
    """An action, or `process:NAME`, as a process would write it.

    After `=` come fixed parameters as a JSON object, or `any`: then a model also chooses the
    programs that it starts.
    """
    name, equals, given = text.partition("=")
    kind = "process" if name.startswith(PROCESS) else "action"
    grant: dict[str, Any] = {kind: name.removeprefix(PROCESS)}
    if given == ANY and kind == "action":
        grant["any_program"] = True
    elif equals:
        grant["with"] = object_of(given, f"--may {text!r}")
    return grant


def _processes(catalog: Catalog) -> dict[str, LinkedProcess]:
    found: dict[str, LinkedProcess] = {}
    for name, version in sorted(catalog.compiled):
        if name not in catalog.retired:
            linked = catalog.linked(catalog.compiled[name, version])
            if isinstance(linked, LinkedProcess):
                found[name] = linked
    return found


def _typed(value: str, schema: Any) -> Any:
    """*value* as its parameter takes it: text if that is allowed, otherwise parsed as JSON."""
    kinds = schema.get("type") if isinstance(schema, dict) else None
    options = schema.get("anyOf", ()) if isinstance(schema, dict) else ()
    takes = {kinds} if isinstance(kinds, str) else set(kinds or ())
    takes |= {each.get("type") for each in options if isinstance(each, dict)}
    starts = value[:1] in ("[", "{")
    if "string" in takes and not (starts and takes & {"array", "object"}):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return value
