"""Steps that work on several items, and how a test plays their handlers."""

from typing import Any

from msgspec.structs import replace

from cortex.bus.events import (
    ExecutionEdit,
    ExecutionResume,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
)
from cortex.runtime.processes import (
    Field,
    LinkedFan,
    LinkedStep,
    MapOf,
    Ref,
    seen_by,
)

from .execution_world import (
    World,
    action_step,
    process_of,
)

THREE = [10, 20, 30]


def each_of(
    step_id: str = "each",
    *,
    over: Any = None,
    at_once: int = 2,
    failures: Any = "halt",
    step: LinkedStep | None = None,
    **more: Any,
) -> LinkedStep:
    """A step over a list, which hands its item to its action as `n`."""
    fan = LinkedFan(
        over=over or Ref(("inputs", "list")), name="n", at_once=at_once, failures=failures
    )
    more.setdefault("parameters", MapOf((("n", Ref(("n",))),)))
    made = step or action_step(step_id, fan=fan, **more)
    return _seeing(made)


def branches(*steps: LinkedStep, failures: Any = "halt", **more: Any) -> tuple[LinkedStep, ...]:
    ids = tuple(step.id for step in steps)
    fan = LinkedFan(at_once=len(ids), failures=failures, branches=ids)
    of = [_with(step, within="both") for step in steps]
    outer = action_step("both", fan=fan, **more)
    return (_with(outer, action=None), *map(_seeing, of))


def _with(step: LinkedStep, **fields: Any) -> LinkedStep:
    return replace(step, **fields)


def _seeing(step: LinkedStep) -> LinkedStep:
    return _with(step, sees=seen_by(step))


def started(*steps: LinkedStep, items: Any = THREE, **more: Any) -> World:
    outputs = more.pop("outputs", ())
    inputs = (Field(name="list", type="list"),)
    world = World(process_of(*steps, outputs=outputs, inputs=inputs))
    world.start(inputs={"list": items}, **more)
    return world


def asked(world: World) -> list[Any]:
    """Parameters of the steps that wait for their handler, in order."""
    return [request.parameters.get("n") for _, request in world.open(StepExecute)]


def answer(world: World, n: Any, **fields: Any) -> None:
    """Let the handler of item *n* answer."""
    for position, request in world.open(StepExecute):
        if request.parameters.get("n") == n:
            place = {"execution_id": request.execution_id, "step_id": request.step_id}
            result = fields or {"result": {"got": n}}
            world.settle(position, StepCompleted(**place, attempt=request.attempt, **result))
            return
    raise LookupError(n)


def fail(world: World, n: Any, **fields: Any) -> None:
    for position, request in world.open(StepExecute):
        if request.parameters.get("n") == n:
            place = {"execution_id": request.execution_id, "step_id": request.step_id}
            failed = {"error": "it broke", "attempt": request.attempt, **fields}
            world.settle(position, StepFailed(**place, **failed))
            return
    raise LookupError(n)


def item(world: World, number: int) -> str:
    """The newest execution of an item."""
    found: str = [each.child for each in world.said(StepDelegated) if each.item == number][-1]
    return found


def results(world: World, step: str = "each") -> Any:
    return world.state().results[step]["results"]


def go_on(world: World, max_cost: float | None = None) -> None:
    if max_cost is None:
        world.publish(ExecutionResume(execution_id="x"))
    else:
        world.publish(ExecutionEdit(execution_id="x", max_cost=max_cost))
    world.play()
