"""Steps that work on several items at once: `for_each:` and `parallel:`.

An item is an execution, so gates, retries, effects and questions work inside it as everywhere. At
most `at_once` items are active, including those that wait for a person; so at most that many
questions are open. While one item waits, the others continue. The step itself pauses or halts when
no item can continue.
"""

from typing import TYPE_CHECKING, Any, Final

import msgspec

from cortex.bus.events import (
    ExecutionCancelled,
    ExecutionCharged,
    ExecutionCompleted,
    ExecutionFailed,
    ExecutionHalted,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionResume,
    ExecutionResumed,
    StepCompleted,
    StepFanned,
)
from cortex.runtime.processes import Halt, LinkedFan, LinkedStep

from ..state.items import Fan, Live
from ..state.state import EFFECT, ITEMS
from ..state.values import clipped
from .breakpoints import steps_to
from .item_start import (
    begin_item,
    list_of,
    more_for,
    next_item,
    resume_item,
    say_changed,
    spent_by_all,
)
from .outbox import Outbox

if TYPE_CHECKING:
    from .step_sequencer import StepSequencer  # which uses the functions of this module


RESULTS_BYTES: Final = 4 * 1024 * 1024  # of all items together: one state holds them
SHOWN: Final = 10  # failed items that an event names

Ended = ExecutionCompleted | ExecutionFailed | ExecutionCancelled
ItemFact = Ended | ExecutionHalted | ExecutionPaused | ExecutionResumed | ExecutionRefused

_SIZE = msgspec.msgpack.Encoder().encode


def begin(sequencer: "StepSequencer", outbox: Outbox, step: LinkedStep, fan: LinkedFan) -> None:
    """Begin with the items of *step*, which comes next."""
    state = outbox.state
    if state.pausing is not None:
        outbox.pause(state.pausing, step.id)
        return
    if step.id in state.settled:
        sequencer.take_settled(step)
        return
    if steps_to(step, state):  # a breakpoint of the step is one of each item
        outbox.pause("breakpoint", step.id)
        return
    attempt = state.attempts.get(step.id, 0) + 1
    items, problem = list_of(state, step, fan)
    if problem:
        sequencer.recover(outbox.fail_step(step.id, attempt, problem, "refused", retry=False))
        return
    outbox.say(
        StepFanned(
            execution_id=state.execution_id,
            step_id=step.id,
            attempt=attempt,
            items=len(items),
            at_once=fan.at_once,
            branches=fan.branches,
        )
    )
    outbox.set_timeout(step)
    go_on(sequencer, outbox)


def go_on(sequencer: "StepSequencer", outbox: Outbox) -> None:
    """Begin as many items as may be under way, and look whether there is anything to wait for."""
    step = sequencer.step
    if step.fan is msgspec.UNSET or outbox.state.status != "running":
        return
    items, problem = list_of(outbox.state, step, step.fan)
    while (fan := outbox.state.fan) is not None and not problem:
        item = next_item(outbox.state, step, fan)
        if not item:
            break
        begin_item(sequencer, outbox, fan, item, items[item - 1])
    if fan is not None and not fan.running:
        _settle(sequencer, outbox, step, fan)


def after_item(
    sequencer: "StepSequencer", outbox: Outbox, event: ItemFact | ExecutionCharged
) -> None:
    """Something happened to the execution of an item."""
    state = outbox.state
    fan = state.fan
    if isinstance(event, Ended) or (isinstance(event, ExecutionCharged) and event.late):
        charge(outbox, event.execution_id, event.tokens, event.cost, event.usage)
    live = fan.live.get(event.execution_id) if fan is not None else None
    if live is None or state.over or state.stage != "fan":
        return
    if live.status == "ending" and not isinstance(event, Ended):
        return
    match event:
        case ExecutionPaused():
            say_changed(
                outbox,
                live,
                event.execution_id,
                "paused",
                reason=event.reason,
                question=event.question,
                gate=event.gate,
            )
        case ExecutionRefused() if live.status == "resuming":
            say_changed(outbox, live, event.execution_id, "paused", reason=event.reason)
        case ExecutionResumed() if live.status != "running":
            say_changed(outbox, live, event.execution_id, "running")
            _resume_with(sequencer, outbox, event)
        case ExecutionHalted():
            _halted(sequencer, outbox, live, event)
        case ExecutionCompleted():
            _completed(outbox, live, event)
        case ExecutionFailed() | ExecutionCancelled():
            reason = event.reason or "it was cancelled"
            if live.status == "ending":
                reason = live.reason
            say_changed(outbox, live, event.execution_id, "failed", reason=reason)
        case _:
            return
    go_on(sequencer, outbox)


def resumed(
    sequencer: "StepSequencer", outbox: Outbox, event: ExecutionResume, *, stood: bool
) -> None:
    """Go on with the items that wait, begin the failed ones anew, and then the rest."""
    fan = outbox.state.fan
    if fan is None:
        return
    for child, live in fan.live.items():
        if live.stands and not _asks(live):
            _go_on_with(sequencer, outbox, child, live, event)
        elif not stood and not live.stands:
            outbox.resume_child(event, child)  # it was asked to pause and did not yet
    if stood:
        sequencer.restart_timeout()
    go_on(sequencer, outbox)


def not_to_resume(outbox: Outbox, event: ExecutionResume) -> str:
    """Why a resume of the step as a whole does not say what is to be done; "" where it does."""
    fan = outbox.state.fan
    if fan is None or not event.answer:
        return ""
    waiting = [child for child, live in fan.live.items() if live.stands]
    if len(waiting) == 1:
        return ""
    return f"{len(waiting)} items wait: answer the execution of each ({_listed(waiting)})"


def asking(fan: Fan, gate: str) -> tuple[str, str]:
    """The execution of the only item whose *gate* asks; otherwise why there is no such item."""
    found = [child for child, live in fan.live.items() if live.stands and live.gate == gate]
    if len(found) == 1:
        return found[0], ""
    if found:
        return "", f"{gate} asks in {len(found)} items: answer each ({_listed(found)})"
    return "", f"no item waits for {gate}"


def unknown_of(fan: Fan) -> tuple[str, str]:
    """The execution of the only item that asks about an effect; otherwise why there is none."""
    found = [child for child, live in fan.live.items() if live.stands and live.reason == EFFECT]
    if len(found) == 1:
        return found[0], ""
    if found:
        return "", f"{len(found)} items ask what happened: answer each ({_listed(found)})"
    return "", "no effect of that key waits for an answer"


def paused(sequencer: "StepSequencer", outbox: Outbox, reason: str) -> None:
    """Have every item pause, and the step once none is under way."""
    outbox.pause_child(reason)
    go_on(sequencer, outbox)


# What became of an item.


def charge(outbox: Outbox, child: str, tokens: int, cost: float, usage: dict[str, int]) -> None:
    """Count what a child took."""
    state = outbox.state
    if tokens or cost or child in state.leaving:
        outbox.say(
            ExecutionCharged(
                execution_id=state.execution_id,
                child=child,
                tokens=tokens,
                total=state.tokens + tokens,
                late=state.over,
                cost=cost,
                total_cost=state.cost + cost,
                usage=usage,
            )
        )


def _completed(outbox: Outbox, live: Live, event: ExecutionCompleted) -> None:
    fan = outbox.state.fan
    size = len(_SIZE(event.outputs))
    if fan is not None and fan.bytes + size > RESULTS_BYTES:
        reason = (
            f"the results of the items have more than {RESULTS_BYTES:,} bytes together: have each "
            "item write a file and give its path"
        )
        say_changed(outbox, live, event.execution_id, "failed", reason=reason)
    else:
        fields = {"result": event.outputs, "bytes": size}
        say_changed(outbox, live, event.execution_id, "completed", **fields)


def _halted(sequencer: "StepSequencer", outbox: Outbox, live: Live, event: ExecutionHalted) -> None:
    """Keep a halted item for a resume; or end it, and reserve its part until its cost is known."""
    fan = sequencer.step.fan
    if fan is not msgspec.UNSET and fan.failures == "collect":
        reason = f"its step continues without it: {event.reason}"
        outbox.cancel_item(event.execution_id, reason)
        say_changed(outbox, live, event.execution_id, "ending", reason=event.reason)
    else:
        say_changed(
            outbox, live, event.execution_id, "halted", reason=event.reason, gate=event.gate
        )


def _resume_with(sequencer: "StepSequencer", outbox: Outbox, event: ExecutionResumed) -> None:
    """Continue the step after somebody resumed an item of it."""
    if outbox.state.status in ("paused", "halted"):
        note = f"item execution {event.execution_id} was resumed"
        outbox.resume(by=event.by, note=note, stepping=event.stepping)
        sequencer.restart_timeout()


def _asks(live: Live) -> bool:
    """Whether it waits for an answer that a resume of the whole step does not give."""
    return live.status == "paused" and (bool(live.gate) or live.reason == EFFECT)


def _go_on_with(
    sequencer: "StepSequencer", outbox: Outbox, child: str, live: Live, event: ExecutionResume
) -> None:
    """Resume an item; if it had spent its part, it may spend more if more is left."""
    state = outbox.state
    more = None
    if state.fan is not None and sequencer.step.child is None:
        more = more_for(state, sequencer.step, state.fan, live)
    fields = {} if more is None else {"max_cost": more}
    resume_item(outbox, child, event, more)
    say_changed(outbox, live, child, "resuming", **fields)


# Where nothing is under way.


def _settle(sequencer: "StepSequencer", outbox: Outbox, step: LinkedStep, fan: Fan) -> None:
    state = outbox.state
    halts = step.fan is not msgspec.UNSET and step.fan.failures == "halt"
    if halts and (fan.failed or fan.halted):
        _stop(sequencer, outbox, step, _reason_of(fan))
    elif fan.ended == fan.items:
        _complete(sequencer, outbox, step, fan)
    elif fan.live and state.pausing is None:
        _wait(sequencer, outbox, fan)
    elif state.pausing is not None:
        sequencer.drop_deadlines()
        outbox.pause(state.pausing, step.id)
    else:
        spent = spent_by_all(state, step, fan)
        _stop(sequencer, outbox, step, spent or f"the items of {step.id} cannot continue")


def _complete(sequencer: "StepSequencer", outbox: Outbox, step: LinkedStep, fan: Fan) -> None:
    done = fan.items - fan.failed - fan.skipped
    failed = f", {fan.failed} failed" if fan.failed else ""
    skipped = f", {fan.skipped} skipped" if fan.skipped else ""
    outbox.say(
        StepCompleted(
            execution_id=outbox.state.execution_id,
            step_id=step.id,
            attempt=outbox.state.attempt,
            result={"completed": done, "failed": fan.failed},
            summary=f"{done} of {fan.items} {_noun(fan)} completed{failed}{skipped}",
        )
    )
    outbox.drop_timeout(step)
    sequencer.go_on()


def _wait(sequencer: "StepSequencer", outbox: Outbox, fan: Fan) -> None:
    """Every item that is left waits for somebody: so does the step."""
    sequencer.drop_deadlines()
    asking = [(child, live) for child, live in fan.live.items() if live.question]
    waiting = "1 item waits" if len(fan.live) == 1 else f"{len(fan.live)} items wait"
    question, gate = "", ""
    if asking:
        child, first = asking[0]
        question = f"{waiting}; item {first.item} (execution {child}): {first.question}"
        gate = first.gate if len(fan.live) == 1 else ""
    reason = "approval" if gate else ITEMS
    outbox.pause(reason, outbox.state.step_id, question=question, gate=gate)


def _stop(sequencer: "StepSequencer", outbox: Outbox, step: LinkedStep, reason: str) -> None:
    """Stop and keep what is done: a resume continues with the other items."""
    state = outbox.state
    fan = state.fan
    if fan is None:
        return
    if isinstance(step.on_failure, Halt):
        sequencer.drop_deadlines()
        evidence = {"completed": fan.ended - fan.failed - fan.skipped, "items": _failed_items(fan)}
        outbox.halt(reason, step.id, evidence=evidence)
    else:
        outbox.cancel_child(f"its parent continues without it: {reason}")
        sequencer.fail(reason, "failed", retry=False)


def _failed_items(fan: Fan) -> list[dict[str, Any]]:
    failed = [
        {"item": item, "execution": ended.child, "reason": clipped(ended.reason)}
        for item, ended in fan.failures()
    ]
    failed += [
        {"item": live.item, "execution": child, "reason": live.reason}
        for child, live in fan.live.items()
        if live.status == "halted"
    ]
    return failed[:SHOWN]


def _reason_of(fan: Fan) -> str:
    failed = _failed_items(fan)
    many = fan.failed + fan.halted
    first = failed[0]
    which = f"item {first['item']}"
    if fan.branches:
        which = f"branch {fan.branches[first['item'] - 1]}"
    by = f" (execution {first['execution']})" if first["execution"] else ""
    return f"{many} of {fan.items} {_noun(fan)} failed: {which}{by}: {first['reason']}"


def _noun(fan: Fan) -> str:
    one, more = ("branch", "branches") if fan.branches else ("item", "items")
    return one if fan.items == 1 else more


def _listed(children: list[str]) -> str:
    shown = ", ".join(children[:SHOWN])
    return f"{shown}, ..." if len(children) > SHOWN else shown
