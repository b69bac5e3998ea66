"""The items of a step that works on several at once, as commands look at them."""

import msgspec

from cortex.runtime.processes.execution import Execution, Live

SHOWN = 10  # items that are listed one by one


class ItemRow(msgspec.Struct, kw_only=True):
    """An item that failed, or waits for somebody."""

    item: int  # from 1
    execution: str
    status: str  # paused, halted or failed
    reason: str
    question: str = ""


class ItemsDocument(msgspec.Struct, kw_only=True):
    """How far a step has come with its items."""

    step: str
    items: int
    at_once: int
    completed: int
    failed: int
    skipped: int
    under_way: int
    standing: int  # items that wait for somebody
    waiting: list[ItemRow]  # the first of those that wait for somebody
    failures: list[ItemRow]  # the first of those that failed


def items_document(state: Execution) -> ItemsDocument | None:
    """The items of the step at which *state* is; None where it has none."""
    fan = state.fan
    if fan is None:
        return None
    waiting = [
        ItemRow(
            item=live.item,
            execution=child,
            status=live.status,
            reason=live.reason,
            question=live.question,
        )
        for child, live in fan.live.items()
        if live.stands
    ]
    failures = [
        ItemRow(item=item, execution=ended.child, status="failed", reason=ended.reason)
        for item, ended in fan.failures()
    ]
    return ItemsDocument(
        step=state.step_id,
        items=fan.items,
        at_once=fan.at_once,
        completed=fan.ended - fan.failed - fan.skipped,
        failed=fan.failed,
        skipped=fan.skipped,
        under_way=fan.running,
        standing=fan.standing,
        waiting=waiting[:SHOWN],
        failures=failures[:SHOWN],
    )


def items_line(items: ItemsDocument) -> str:
    """The same in a line: "812 of 1,000 completed, 2 failed, 14 under way, 2 wait"."""
    parts = [f"{items.completed:,} of {items.items:,} completed"]
    for number, told in (
        (items.failed, "failed"),
        (items.skipped, "skipped"),
        (items.under_way, "under way"),
        (items.standing, "waiting"),
    ):
        if number:
            parts.append(f"{number:,} {told}")
    return ", ".join(parts)


def only_child(state: Execution) -> str:
    """The one execution that carries out the step at hand; "" where there are several, or none."""
    if state.stage == "fan":
        return state.alive[0] if len(state.alive) == 1 else ""
    return state.child if state.stage == "child" else ""


def waiting_child(state: Execution) -> str:
    """The execution of the step at hand that may ask a person; "" where several might."""
    if state.fan is not None:
        found = [child for child, live in state.fan.live.items() if live.stands]
        return found[0] if len(found) == 1 else ""
    return state.child if state.stage == "child" else ""


def asking_items(state: Execution) -> dict[str, Live]:
    """The items of the step at hand that ask a person something, by execution."""
    live = state.fan.live if state.fan is not None else {}
    return {child: each for child, each in live.items() if each.stands and each.question}
