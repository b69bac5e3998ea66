"""How an item of a step begins, and what it may spend: a share of the remaining budget."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from cortex.bus.events import (
    ExecutionEdit,
    ExecutionResume,
    ExecutionStarted,
    Part,
    StepDelegated,
    StepItemChanged,
)
from cortex.runtime.processes import (
    LinkedFan,
    LinkedStep,
    MissingValueError,
    evaluate,
    fill,
    list_seen_by,
)

from ..state.items import Fan, Live
from ..state.spending import dollars
from ..state.state import DECIDER, Execution
from ..state.values import clipped, too_large
from .outbox import Outbox
from .recalling import inherited

if TYPE_CHECKING:
    from .step_sequencer import StepSequencer

MOST_ITEMS: Final = 10_000
LEAST: Final = 1e-9  # US dollars: less is the dust of sharing


def list_of(state: Execution, step: LinkedStep, fan: LinkedFan) -> tuple[list[Any], str]:
    """What *step* goes over, or why that is nothing to go over."""
    if fan.over is UNSET:
        return list(fan.branches), ""
    try:
        items = fill(fan.over, state.scope())
    except MissingValueError as error:
        return [], str(error)
    if not isinstance(items, list | tuple):
        shown = "nothing" if items is None else f"{items!r:.60}"
        return [], f"for_each of {step.id} is {shown}, expected a list"
    if len(items) > MOST_ITEMS:
        many = f"for_each of {step.id} has {len(items):,} items, and {MOST_ITEMS:,} are possible"
        return [], f"{many}: go over parts of the list, each in a process of its own"
    return items if isinstance(items, list) else list(items), ""


def next_item(state: Execution, step: LinkedStep, fan: Fan) -> int:
    """The item to begin now; 0 for none."""
    if step.fan is UNSET or state.status != "running":
        return 0
    full = len(fan.live) >= fan.at_once or state.pausing is not None
    if full or (fan.begun == fan.items and not fan.redo):
        return 0
    if step.fan.failures == "halt" and (fan.failed or fan.halted):
        return 0
    share = _share(state, step, fan)
    if share is not None and share < LEAST and (state.cost > 0 or fan.live):
        return 0  # the rest is promised to active items
    if spent_by_all(state, step, fan):
        return 0
    return fan.redo[0] if fan.redo else fan.begun + 1


def begin_item(sequencer: "StepSequencer", outbox: Outbox, fan: Fan, item: int, value: Any) -> None:
    """Begin *item*, which is *value* in a list; it may be over before it begins."""
    state, step = outbox.state, sequencer.step
    body = sequencer.process.step(fan.branches[item - 1]) if fan.branches else step
    if fan.branches and body.when is not None and not evaluate(body.when, state.scope()):
        reason = "its condition `when` is false"
        say_changed(outbox, Live(item=item), "", "skipped", reason=reason)
        return
    named = {step.fan.name: value} if step.fan is not UNSET and not fan.branches else {}
    # A branch goes over its list itself.
    paths = (*(body.sees or ()), *(list_seen_by(body) if fan.branches else ()))
    inputs, results, statuses = _seen(state, paths)
    part = Part(
        step_id=body.id,
        item=item,
        named=named,
        results=results,
        statuses=statuses,
        requested_by=state.requested_by,
        tree=state.tree,
        breaks=state.breaks,
    )
    child, max_cost = outbox.new_execution(), _share(state, step, fan)
    started = _started(state, step, child, inputs, part, max_cost)
    problem = too_large(started)
    if problem:
        say_changed(outbox, Live(item=item), "", "failed", reason=problem)
    else:
        outbox.say(
            StepDelegated(
                execution_id=state.execution_id,
                step_id=step.id,
                attempt=state.attempt,
                child=child,
                purpose="item",
                item=item,
                max_cost=max_cost,
            )
        )
        outbox.outputs.append(started)  # of the item's stream: folded there, when it comes


def _started(
    state: Execution,
    step: LinkedStep,
    child: str,
    inputs: dict[str, Any],
    part: Part,
    max_cost: float | None,
) -> ExecutionStarted:
    """The start of *child*, which carries out *part* of *step* with the same process."""
    begun = state.begun()
    return ExecutionStarted(
        execution_id=child,
        process=begun.process,
        process_version=begun.process_version,
        digest=begun.digest,
        linked=begun.linked,
        inputs=inputs,
        goal=begun.goal,
        workspace=begun.workspace,
        trigger=begun.trigger,
        parent=state.execution_id,
        parent_step=step.id,
        breakpoints=begun.breakpoints,
        max_cost=max_cost,
        part=part,
        decider=DECIDER,
        fork_of=begun.fork_of,
        variation=inherited(state, step.id, state.attempt, "item", part.item),
    )


def _seen(
    state: Execution, paths: Iterable[tuple[str, ...]]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]], dict[str, str]]:
    """The inputs, results and statuses at *paths*, and no others."""
    inputs: dict[str, Any] = {}
    results: dict[str, dict[str, Any]] = {}
    statuses: dict[str, str] = {}
    for root, name, *fields in paths:
        if root == "inputs":
            if name in state.begun().inputs:
                inputs[name] = state.begun().inputs[name]
        elif fields == ["status"]:
            statuses[name] = state.statuses.get(name, "")
        elif name in state.results:
            whole = state.results[name]
            wanted = whole if not fields else {f: whole[f] for f in fields if f in whole}
            results[name] = {**results.get(name, {}), **wanted}
    return inputs, results, statuses


# What the items may spend, all together.


def _share(state: Execution, step: LinkedStep, fan: Fan) -> float | None:
    """US dollars for the next item: an equal part of the unpromised budget; None: no bound.

    So any number of active items cannot overspend the budget.
    """
    left = left_for_all(state, step, fan)
    if left is None:
        return None
    return max(0.0, left - fan.promised) / max(1, fan.free)


def more_for(state: Execution, step: LinkedStep, fan: Fan, live: Live) -> float | None:
    """US dollars up to which *live*, which is stopped, may spend when resumed; None: as before.

    The unpromised budget is shared with the others that are stopped or not begun.
    """
    left = left_for_all(state, step, fan)
    if left is None or live.max_cost is None:
        return None
    more = max(0.0, left - fan.promised) / max(1, fan.standing + fan.free)
    return live.max_cost + more if more >= LEAST else None


def left_for_all(state: Execution, step: LinkedStep, fan: Fan) -> float | None:
    """US dollars that the items may still spend, all together; None where nothing bounds it."""
    bounds: list[float] = []
    allowed = state.begun().max_cost
    if allowed is not None:
        bounds.append(allowed - state.cost)
    if step.budget.cost is not None:
        bounds.append(step.budget.cost - (state.cost - fan.cost_before))
    return min(bounds) if bounds else None


def spent_by_all(state: Execution, step: LinkedStep, fan: Fan) -> str:
    """Why no more items are begun, where all that they may spend is spent; "" else."""
    left, tokens = left_for_all(state, step, fan), step.budget.tokens
    if left is not None and left <= 0 and state.cost > 0:
        return (
            f"the items of {step.id} have spent all that they may ({dollars(state.cost)} of the "
            f"execution): `cortex execution resume {state.execution_id} --max-cost USD` lets them "
            "spend more"
        )
    if tokens is not None and state.tokens - fan.tokens_before >= tokens:
        used = state.tokens - fan.tokens_before
        return f"the items of {step.id} used {used:,} of the {tokens:,} tokens of its budget"
    return ""


def resume_item(outbox: Outbox, child: str, event: ExecutionResume, max_cost: float | None) -> None:
    """Resume the execution of an item, with *max_cost* as its new bound, if given."""
    if max_cost is None:
        resume = replace(event, execution_id=child, by=outbox.asked_by(event), from_step="")
        outbox.outputs.append(resume)
    else:
        outbox.outputs.append(
            ExecutionEdit(
                execution_id=child,
                max_cost=max_cost,
                note=event.note,
                seen=event.seen,
                stepping=event.stepping,
            )
        )


def say_changed(outbox: Outbox, live: Live, child: str, status: str, **fields: Any) -> None:
    """Record what became of an item."""
    state = outbox.state
    if "reason" in fields:
        fields["reason"] = clipped(fields["reason"])
    changed = StepItemChanged(
        execution_id=state.execution_id,
        step_id=state.step_id,
        attempt=state.attempt,
        item=live.item,
        child=child,
        status=status,
        **fields,
    )
    outbox.say(changed)
