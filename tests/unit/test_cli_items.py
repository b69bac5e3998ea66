"""What is shown of a step that works on several items: each counted once, as it stands now."""

from typing import Any

from cortex.bus.events import (
    VOCABULARY,
    ExecutionCancel,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionRequest,
    GateEvaluate,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepFanned,
    StepItemChanged,
    StepReopened,
)
from cortex.runtime.executions.view import (
    ItemsDocument,
    LiveState,
    Teller,
    items_document,
    items_line,
    spans_of,
)

from .execution_fan_world import answer, branches, each_of, fail, item, started
from .execution_world import World, action_step, answer_to, compare, constant, gate
from .test_cli_reading import ID, spans

FOUR = [10, 20, 30, 40]


def mixed() -> World:
    """One item done, one halted, one that asks, one that was not begun."""
    world = started(each_of(at_once=3, gates=(gate("approved"),)), items=FOUR)
    for n, outcome in enumerate(("passed", "passed", "waiting")):
        position, asked = world.open(GateEvaluate)[0]
        assert asked.execution_id == item(world, n + 1)
        world.forget_request(position)
        world.settle(position, _answered(asked, outcome))
    fail(world, 20)
    answer(world, 10)
    return world


def _answered(asked: Any, outcome: str) -> Any:
    return answer_to(asked, outcome=outcome, reason="may it?")


def shown(world: World) -> ItemsDocument:
    found = items_document(world.state())
    assert found is not None
    return found


def test_every_item_is_counted_as_what_it_is_and_once() -> None:
    world = mixed()

    found = shown(world)

    assert items_line(found) == "1 of 4 completed, 1 halted, 1 waiting, 1 not begun"
    assert (found.standing, found.halted) == (2, 1)
    assert [(each.item, each.status) for each in found.waiting] == [(3, "paused"), (2, "halted")]


def test_no_item_waits_once_its_parent_has_ended() -> None:
    world = mixed()

    world.publish(ExecutionCancel(execution_id="x"))
    world.play()
    found = shown(world)

    assert world.state().status == "cancelled"
    assert items_line(found) == "1 of 4 completed, 2 cancelled, 1 not begun"
    assert (found.waiting, found.standing, found.halted, found.under_way) == ([], 0, 0, 0)


def test_a_branch_that_was_skipped_is_said_by_its_name() -> None:
    never = compare("==", constant(1), constant(2))
    world = started(*branches(action_step("lint", when=never), action_step("types")))

    teller = Teller()
    records = [each for each in world.records if each.stream == "execution/x"]
    told = [teller.tell(each, VOCABULARY.read(each)) for each in records]
    world.answer_all()

    assert [(t.lead, t.text) for t in told if t and t.lead in ("items", "skipped")] == [
        ("items", "both: 2 branches, 2 at once"),
        ("skipped", "both: branch lint: its condition `when` is false"),
    ]
    summary = VOCABULARY.read(next(r for r in world.records[::-1] if r.topic == "step.completed"))
    assert getattr(summary, "summary", "") == "1 of 2 branches completed, 1 skipped"
    rows = [(each, VOCABULARY.read(each)) for each in world.history("execution/x")]
    found = {(span.kind, span.name): span.status for span in spans_of(rows, "x")}
    assert found["item", "lint"] == "skipped"


def test_a_branch_that_stands_is_named() -> None:
    world = started(*branches(action_step("lint"), action_step("types")))
    position, asked = world.open(StepExecute)[0]
    place = {"execution_id": asked.execution_id, "step_id": "lint"}
    world.settle(position, StepFailed(**place, error="it broke"))

    (row,) = shown(world).waiting
    assert (row.item, row.step, row.status) == (1, "lint", "halted")


def test_the_view_counts_halted_items_and_branches_as_such() -> None:
    place: dict[str, Any] = {"execution_id": ID, "step_id": "both", "attempt": 1}
    tally = LiveState()
    tally.fold(StepFanned(**place, items=3, at_once=3, branches=("a", "b", "c")), 0.0)
    for number, status in enumerate(("halted", "paused", "skipped"), 1):
        changed = StepItemChanged(**place, item=number, child=f"c{number}", status=status)
        tally.fold(changed, 0.0)

    (count,) = tally.items.values()
    assert count.activity().text == "both: 1 of 3 branches, 1 halted, 1 waiting"


def test_the_trace_has_of_an_item_what_it_comes_to_and_nothing_older() -> None:
    place: dict[str, Any] = {"execution_id": ID, "step_id": "each", "attempt": 1}
    one: dict[str, Any] = {**place, "item": 1, "child": "c"}

    *_, done = spans(
        ExecutionRequest(execution_id=ID),
        StepFanned(**place, items=1, at_once=1),
        StepDelegated(**place, child="c", purpose="item", item=1),
        StepItemChanged(**one, status="paused", reason="approval", question="may it?"),
        StepItemChanged(**one, status="running"),
        StepItemChanged(**one, status="completed", result={"a": 1}),
    )

    assert (done.status, done.attributes) == ("completed", {"child": "c", "result": {"a": 1}})


def test_no_item_is_open_in_the_trace_of_what_is_over_or_went_back() -> None:
    place: dict[str, Any] = {"execution_id": ID, "step_id": "each", "attempt": 1}
    begun = (
        ExecutionRequest(execution_id=ID),
        StepFanned(**place, items=2, at_once=1),
        StepDelegated(**place, child="c", purpose="item", item=1),
        StepItemChanged(**place, item=1, child="c", status="paused", reason="approval"),
    )
    cancelled = spans(*begun, ExecutionCancelled(execution_id=ID, reason="asked for"))
    reopened = spans(
        *begun,
        StepReopened(execution_id=ID, step_id="each", dropped=()),
        ExecutionCompleted(execution_id=ID),
    )

    for found in (cancelled, reopened):
        statuses = {span.kind: span.status for span in found}
        assert (statuses["item"], statuses["step"]) == ("cancelled", "cancelled")
