"""The items of a step that works on several at once, for commands."""

from collections.abc import Sequence
from typing import Any

import msgspec

from .. import Execution, Live
from .history import History

SHOWN = 10  # items that are listed one by one


class ItemRow(msgspec.Struct, kw_only=True):
    """An item that failed, or waits until somebody answers or resumes it."""

    item: int  # from 1
    step: str = ""  # the branch that it is, of a step with `parallel:`
    execution: str
    status: str  # paused, halted or failed
    reason: str
    question: str = ""

    @property
    def name(self) -> str:
        """What people call it."""
        return f"branch {self.step}" if self.step else f"item {self.item}"


class ItemsDocument(msgspec.Struct, kw_only=True):
    """How far a step has come with its items."""

    step: str
    items: int
    at_once: int
    completed: int
    failed: int
    skipped: int
    under_way: int
    standing: int  # items that wait for somebody, those that halted among them
    halted: int = 0  # of those
    cancelled: int = 0  # were alive when the execution ended
    not_begun: int = 0
    waiting: list[ItemRow]  # the first of those that are stopped; halted ones come last
    failures: list[ItemRow]  # the first of those that failed


def items_document(state: Execution) -> ItemsDocument | None:
    """The items of the step at which *state* is; None where it has none."""
    fan = state.fan
    if fan is None:
        return None
    over = state.over  # then active items end, too, and wait for nobody
    waiting = [
        ItemRow(
            item=live.item,
            step=_branch(fan.branches, live.item),
            execution=child,
            status=live.status,
            reason=live.reason,
            question=live.question,
        )
        for child, live in fan.live.items()
        if live.stands and not over
    ]
    failures = [
        ItemRow(
            item=item,
            step=_branch(fan.branches, item),
            execution=ended.child,
            status="failed",
            reason=ended.reason,
        )
        for item, ended in fan.failures()
    ]
    return ItemsDocument(
        step=state.step_id,
        items=fan.items,
        at_once=fan.at_once,
        completed=fan.ended - fan.failed - fan.skipped,
        failed=fan.failed,
        skipped=fan.skipped,
        under_way=0 if over else fan.running,
        standing=0 if over else fan.standing,
        halted=0 if over else fan.halted,
        cancelled=len(fan.live) if over else 0,
        not_begun=fan.items - fan.begun + len(fan.redo),
        waiting=sorted(waiting, key=lambda row: row.status == "halted")[:SHOWN],
        failures=failures[:SHOWN],
    )


def failed_items(result: Any) -> list[ItemRow]:
    """The first of the items that failed, by the *result* of a step that is done all the same."""
    failures = result.get("failures") if isinstance(result, dict) else None
    if not isinstance(failures, list | tuple):
        return []
    rows: list[ItemRow] = []
    for each in failures[:SHOWN]:
        try:
            failed = msgspec.convert(each, _Failure)
        except msgspec.ValidationError:
            return []  # an action's own field of that name
        rows.append(
            ItemRow(
                item=failed.item,
                step=failed.step,
                execution=failed.execution,
                status="failed",
                reason=failed.error,
            )
        )
    return rows


class _Failure(msgspec.Struct):
    item: int
    error: str
    execution: str
    step: str = ""


def items_line(items: ItemsDocument) -> str:
    """The same in a line, each item once: "2 of 9 completed, 4 under way, 3 not begun"."""
    parts = [f"{items.completed:,} of {items.items:,} completed"]
    for number, told in (
        (items.failed, "failed"),
        (items.skipped, "skipped"),
        (items.under_way, "under way"),
        (items.halted, "halted"),
        (items.standing - items.halted, "waiting"),
        (items.cancelled, "cancelled"),
        (items.not_begun, "not begun"),
    ):
        if number:
            parts.append(f"{number:,} {told}")
    return ", ".join(parts)


def _branch(branches: Sequence[str], item: int) -> str:
    return branches[item - 1] if 0 < item <= len(branches) else ""


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


def outermost(history: History, execution_id: str) -> str:
    """The execution that *execution_id* is, directly or not, a part of; itself where of none."""
    seen = {execution_id}
    while (parent := history.execution(execution_id).parent) and parent not in seen:
        seen.add(parent)
        execution_id = parent
    return execution_id
