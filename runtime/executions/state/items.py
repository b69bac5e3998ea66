"""The fold of a step that works on several items at once.

Each item is an execution. This state holds how many have begun, which are active, and the results
of those that ended. Ended items are kept in pages, so that one more item costs the same after ten
items as after ten thousand.
"""

from collections.abc import Iterator
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from cortex.bus.events import StepCompleted, StepDelegated, StepFanned, StepItemChanged

PAGE: Final = 128  # items: what is copied when one ends

ItemStatus: TypeAlias = Literal["running", "resuming", "paused", "halted", "ending"]
Outcome: TypeAlias = Literal["completed", "failed", "skipped"]
Pages: TypeAlias = tuple[tuple["Ended | None", ...], ...]


class Live(Struct, frozen=True, kw_only=True):
    """An item that is under way."""

    item: int  # from 1
    status: ItemStatus = "running"
    max_cost: float | None = None  # US dollars
    reason: str = ""  # why it is stopped
    question: str = ""  # what a person is asked
    gate: str = ""  # "process/gate" that asks it

    @property
    def stands(self) -> bool:
        """Whether it waits for somebody."""
        return self.status in ("paused", "halted")


class Ended(Struct, frozen=True, kw_only=True):
    """An item that is over."""

    status: Outcome
    child: str = ""
    result: dict[str, Any] = {}
    reason: str = ""  # why it failed


class Fan(Struct, frozen=True, kw_only=True):
    """How far a step has come with its items."""

    items: int
    at_once: int
    branches: tuple[str, ...] = ()
    begun: int = 0  # items 1 to this one were begun
    redo: tuple[int, ...] = ()  # failed before a resume: begun anew, in order, before the rest
    live: dict[str, Live] = {}  # by execution, in the order in which they began
    standing: int = 0  # of those
    halted: int = 0  # of the standing ones
    ended: int = 0
    failed: int = 0  # of those that ended
    skipped: int = 0
    bytes: int = 0  # of all results
    tokens_before: int = 0  # that the execution had used when the step began
    cost_before: float = 0.0
    pages: Pages = ()
    gone: tuple[frozenset[str], ...] = ()  # executions of failed items: what they cost may be late

    def knows(self, child: str) -> bool:
        """Whether *child* carries out an item, or failed to."""
        return child in self.live or any(child in page for page in self.gone)

    def children(self) -> frozenset[str]:
        """Every execution that may still be heard of."""
        return frozenset(self.live).union(*self.gone)

    @property
    def running(self) -> int:
        """Items that are active and wait for no person."""
        return len(self.live) - self.standing

    @property
    def free(self) -> int:
        """Items that may be begun beside those that are under way."""
        return min(self.at_once - len(self.live), self.items - self.begun + len(self.redo))

    @property
    def promised(self) -> float:
        """US dollars that those under way may spend, all together."""
        return sum(live.max_cost or 0.0 for live in self.live.values())

    def at(self, item: int) -> Ended | None:
        """How *item* ended; None where it did not yet."""
        page, place = divmod(item - 1, PAGE)
        return self.pages[page][place]

    def over(self) -> Iterator[tuple[int, Ended | None]]:
        """Every item, and how it ended."""
        numbered = enumerate((each for page in self.pages for each in page), 1)
        return ((item, ended) for item, ended in numbered if item <= self.items)

    def failures(self) -> Iterator[tuple[int, Ended]]:
        """The items that failed, in order."""
        for item, ended in self.over():
            if ended is not None and ended.status == "failed":
                yield item, ended


def begun_fan(event: StepFanned, tokens: int, cost: float) -> Fan:
    """The fan as *event* begins it, in an execution that has used *tokens* and *cost* so far."""
    pages = -(-event.items // PAGE)
    return Fan(
        items=event.items,
        at_once=event.at_once,
        branches=event.branches,
        tokens_before=tokens,
        cost_before=cost,
        pages=((None,) * PAGE,) * pages,
    )


def with_begun(fan: Fan, event: StepDelegated) -> Fan:
    """*fan*, once an item was begun."""
    live = Live(item=event.item, max_cost=event.max_cost)
    return replace(_counted(fan, event.item), live={**fan.live, event.child: live})


def with_changed(fan: Fan, event: StepItemChanged) -> Fan:
    """*fan*, after something became of an item."""
    before = fan.live.get(event.child)
    match event.status:
        case "completed" | "failed" | "skipped" as status:
            return _ended(fan, event, status, before)
        case _ if before is None:
            return fan
    live = replace(
        before,
        status=event.status,
        reason=event.reason,
        question=event.question,
        gate=event.gate,
        max_cost=before.max_cost if event.max_cost is None else event.max_cost,
    )
    return replace(
        fan,
        live={**fan.live, event.child: live},
        standing=fan.standing + live.stands - before.stands,
        halted=fan.halted + (live.status == "halted") - (before.status == "halted"),
    )


def with_redo(fan: Fan) -> Fan:
    """*fan*, resumed after it halted: what failed is begun anew, what is done stays done.

    What failed before an earlier resume, and was not begun anew since, goes first.
    """
    failed = tuple(item for item, _ in fan.failures())
    pages = fan.pages
    for item in failed:
        pages = _put(pages, item, None)
    redo, ended = (*fan.redo, *failed), fan.ended - len(failed)
    return replace(fan, redo=redo, ended=ended, failed=0, pages=pages)


def outcome(fan: Fan, step_id: str, event: StepCompleted) -> dict[str, dict[str, Any]]:
    """The results that *fan* adds to those of its execution, by step."""
    failures: list[dict[str, Any]] = []
    for item, ended in fan.failures():
        failed: dict[str, Any] = {"item": item, "error": ended.reason, "execution": ended.child}
        if fan.branches:
            failed["step"] = fan.branches[item - 1]
        failures.append(failed)
    result: dict[str, Any] = {**event.result, "failures": failures}
    if fan.branches:
        return {**_of_branches(fan), step_id: result}
    result["results"] = [
        ended.result if ended is not None and ended.status == "completed" else None
        for _, ended in fan.over()
    ]
    return {step_id: result}


def statuses_of(fan: Fan) -> dict[str, str]:
    """How the branches ended, by step; what was not begun was skipped. Nothing for a list."""
    ends = dict(fan.over()) if fan.branches else {}
    found = {fan.branches[item - 1]: ended for item, ended in ends.items()}
    return {step: ended.status if ended else "skipped" for step, ended in found.items()}


def _of_branches(fan: Fan) -> dict[str, dict[str, Any]]:
    return {
        fan.branches[item - 1]: ended.result
        for item, ended in fan.over()
        if ended is not None and ended.status == "completed"
    }


def _ended(fan: Fan, event: StepItemChanged, status: Outcome, before: Live | None) -> Fan:
    ended = Ended(status=status, child=event.child, result=event.result, reason=event.reason)
    live = fan.live
    if before is None:
        fan = _counted(fan, event.item)  # it was over before it began
    else:
        live = {child: each for child, each in live.items() if child != event.child}
    return replace(
        fan,
        live=live,
        standing=fan.standing - (before is not None and before.stands),
        halted=fan.halted - (before is not None and before.status == "halted"),
        ended=fan.ended + 1,
        failed=fan.failed + (status == "failed"),
        skipped=fan.skipped + (status == "skipped"),
        bytes=fan.bytes + event.bytes,
        pages=_put(fan.pages, event.item, ended),
        gone=_added(fan.gone, event.child) if status == "failed" else fan.gone,
    )


def _added(gone: tuple[frozenset[str], ...], child: str) -> tuple[frozenset[str], ...]:
    if gone and len(gone[-1]) < PAGE:
        return (*gone[:-1], gone[-1] | {child})
    return (*gone, frozenset({child}))


def _counted(fan: Fan, item: int) -> Fan:
    if fan.redo and fan.redo[0] == item:  # as they are begun
        return replace(fan, redo=fan.redo[1:])
    if item in fan.redo:
        return replace(fan, redo=tuple(each for each in fan.redo if each != item))
    return replace(fan, begun=max(fan.begun, item))


def _put(pages: Pages, item: int, ended: Ended | None) -> Pages:
    page, place = divmod(item - 1, PAGE)
    kept = pages[page]
    changed = (*kept[:place], ended, *kept[place + 1 :])
    return (*pages[:page], changed, *pages[page + 1 :])
