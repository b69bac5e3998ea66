"""What happens in executions again and again is promoted to one memory, with counts and dates."""

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import Event
from cortex.bus.events import (
    ContextEdited,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionEdited,
    ExecutionFailed,
    ExecutionResumed,
    ExecutionStarted,
    MemoryConsolidated,
    MemoryCorrect,
    MemoryForget,
    MemoryForgotten,
    MemoryRecorded,
    MemoryRecurred,
    MemoryUndo,
    Recurrence,
    SubjectErased,
)
from cortex.runtime.memory import MemoryState, recurring

from .memory_world import T0_NS, MemoryWorld, typed

EXECUTIONS = "ProcessExecutionEngine"
FAILED = "failed"
BEGUN: dict[str, Any] = {
    "process_version": 1,
    "digest": "",
    "linked": "",
    "inputs": {},
    "goal": "",
    "workspace": "",
    "trigger": "",
}


class Executions:
    """A world in which processes run."""

    def __init__(self) -> None:
        self.world, self.count = MemoryWorld(), 0

    def run(
        self,
        end: str = FAILED,
        process: str = "deploy",
        step: str = "tests",
        subject: str | None = None,
        during: Event | None = None,
        **more: Any,
    ) -> str:
        """An execution that ends; the id of its outcome."""
        self.count += 1
        execution = f"e{self.count:03}"
        begun = ExecutionStarted(
            execution_id=execution,
            process=process,
            **{**BEGUN, **more},
        )
        self.world.add(begun, EXECUTIONS, subject)
        if during is not None:
            self.world.add(with_id(during, execution), EXECUTIONS, subject)
        self.world.add(self._end(end, execution, step), EXECUTIONS, subject)
        return f"outcome:{execution}"

    def _end(self, end: str, execution: str, step: str) -> Event:
        reason = f"because of number {self.count}"
        if end == FAILED:
            return ExecutionFailed(execution_id=execution, step_id=step, reason=reason)
        if end == "cancelled":
            return ExecutionCancelled(execution_id=execution, reason=reason)
        return ExecutionCompleted(execution_id=execution)

    def promote(self, scope: str = "", most: int = 1_000) -> list[MemoryRecorded]:
        """What a consolidation writes of what recurs."""
        found = recurring(self.world.view(), scope, most)
        facts = self.world.ask(found, by="GCManager")
        assert bool(found.found) == bool(facts), facts
        assert not facts or isinstance(facts[-1], MemoryConsolidated)
        return [fact for fact in facts if isinstance(fact, MemoryRecorded)]


def with_id(event: Event, execution: str) -> Event:
    return msgspec.structs.replace(event, execution_id=execution)


def cited(fact: MemoryRecorded, edge: str = "refines") -> list[str]:
    return [each.to for each in fact.edges if each.edge == edge]


def test_what_ends_the_same_way_three_times_becomes_one_memory_with_counts_and_dates() -> None:
    run = Executions()
    ids = [run.run() for _ in range(3)]
    run.run("completed")
    run.run(step="lint")

    (wrote,) = run.promote()

    assert wrote.content == (
        "process deploy failed at step tests: 3 times, from 2023-11-16 to 2023-11-20"
    )
    assert (wrote.kind, wrote.origin, wrote.form, wrote.times) == (
        "observation",
        "rule",
        "episodes",
        3,
    )
    assert (wrote.scope, wrote.entities) == ("process:deploy", ("deploy",))
    assert cited(wrote) == ids
    assert wrote.quote.splitlines()[-1] == (
        "2023-11-20 process deploy failed at step tests: because of number 3"
    )


def test_what_people_decide_and_change_again_and_again_is_promoted_too() -> None:
    run = Executions()
    denied = ExecutionResumed(execution_id="", answer="denied", by="ada", step_id="ship")
    edited = ContextEdited(
        execution_id="",
        step_id="draft",
        attempt=1,
        turn=1,
        before="",
        prompt="",
        edits=(),
        by="ada",
    )
    changed = ExecutionEdited(
        execution_id="", inputs={"city": "Rome"}, changed=("city",), max_cost=None, by="bo"
    )
    for n in range(9):
        run.run(("completed", FAILED, "cancelled")[n % 3], during=(denied, edited, changed)[n // 3])

    wrote = {each.content.partition(": 3 times")[0] for each in run.promote()}

    assert wrote == {
        "process deploy: what was asked before step ship was denied",
        "process deploy: the prompt of step draft was changed",
        "process deploy: city was changed",
        "process deploy completed",
        "process deploy failed at step tests",
        "process deploy was cancelled",
    }


def test_two_processes_people_and_scopes_are_kept_apart() -> None:
    run = Executions()
    for _ in range(2):
        run.run(process="deploy")
        run.run(process="review")
        run.run(subject="anna")
        run.run(process="", workspace="/x/shop", goal="build it")
        run.run(process="", workspace="/x/site", goal="build it")

    assert run.promote() == []


def test_of_one_person_it_belongs_to_that_person_and_goes_with_him() -> None:
    run = Executions()
    for _ in range(3):
        run.run(subject="anna")

    (wrote,) = run.promote()
    assert wrote.subject == "anna"
    run.world.decider.state.apply(
        SubjectErased(subject="anna", by="ada", why="asked", asked_ns=1, events=9, blobs=0)
    )

    state = run.world.decider.state
    assert (wrote.node_id in state.nodes, state.cited_by) == (False, {})


def test_it_is_told_anew_after_three_more_and_a_tenth_more() -> None:
    run = Executions()
    ids = [run.run() for _ in range(3)]
    (first,) = run.promote()
    ids += [run.run() for _ in range(2)]
    assert run.promote() == []
    ids.append(run.run())
    (second,) = run.promote()

    assert second.content.startswith("process deploy failed at step tests: 6 times, ")
    assert (cited(second), cited(second, "supersedes")) == (ids, [first.node_id])
    assert not run.world.view().states([first.node_id])[first.node_id].current


def test_of_many_the_newest_are_cited_and_all_are_counted() -> None:
    run = Executions()
    ids = [run.run() for _ in range(70)]

    (wrote,) = run.promote()

    assert (wrote.times, cited(wrote)) == (70, ids[-64:])


def test_an_outcome_that_is_corrected_or_forgotten_takes_it_away_and_is_no_longer_counted() -> None:
    run = Executions()
    ids = [run.run() for _ in range(5)]
    (first,) = run.promote()

    facts = run.world.ask(MemoryForget(node_id=ids[0], scope="process:deploy"))
    assert [f.node_id for f in facts if isinstance(f, MemoryForgotten)] == [ids[0], first.node_id]
    (second,) = run.promote()
    assert (second.times, cited(second)) == (4, ids[1:])

    run.world.ask(MemoryCorrect(node_id=ids[1], scope="process:deploy", content="It was a test"))
    (third,) = run.promote()
    assert (third.times, cited(third)) == (3, ids[2:])


def test_what_was_undone_is_told_again_only_after_more_of_it() -> None:
    run = Executions()
    for _ in range(4):
        run.run()
    (first,) = run.promote()

    run.world.ask(MemoryUndo(consolidation_id=first.consolidation_id))

    assert run.world.view().states([first.node_id])[first.node_id].gone == "undone"
    assert run.promote() == []
    for _ in range(3):
        run.run()
    (second,) = run.promote()
    assert (second.times, cited(second, "supersedes")) == (7, [])


def test_a_person_who_forgot_it_is_not_told_again_at_once() -> None:
    run = Executions()
    for _ in range(3):
        run.run()
    (first,) = run.promote()

    run.world.ask(MemoryForget(node_id=first.node_id, scope="process:deploy"))

    assert run.promote() == []


def test_a_budget_leaves_kinds_for_the_next_consolidation() -> None:
    run = Executions()
    for step in ("a", "b", "c"):
        for _ in range(3):
            run.run(step=step)

    counts = [len(run.promote(most=4)) for _ in range(4)]

    assert counts == [1, 1, 1, 0]


def test_only_the_scope_that_was_asked_for_is_looked_at() -> None:
    run = Executions()
    for process in ("deploy", "review"):
        for _ in range(3):
            run.run(process=process)

    (wrote,) = run.promote("process:review")

    assert wrote.scope == "process:review"


def test_what_is_not_of_one_kind_is_not_promoted_whoever_says_so() -> None:
    run = Executions()
    ids = [run.run(), run.run(step="lint"), run.run("completed")]
    (found,) = recurring_of(ids)

    facts = run.world.ask(MemoryRecurred(found=(found,)), by="GCManager")

    assert [type(fact) for fact in facts] == [MemoryConsolidated]


def recurring_of(ids: list[str]) -> tuple[Any]:
    return (Recurrence(tuple(ids), 3, T0_NS, T0_NS),)


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["run", "run", "run", "promote", "forget", "undo"]), st.integers(0, 20)
    ),
    max_size=40,
)


@settings(max_examples=100, deadline=None)
@given(ACTS)
def test_no_current_one_cites_what_is_not_current_and_the_fold_is_the_same(
    acts: list[tuple[str, int]],
) -> None:
    run, ids = Executions(), list[str]()
    world = run.world
    for act, n in acts:
        state = world.decider.state
        match act:
            case "run":
                ids.append(run.run(step=("a", "b")[n % 2], end=(FAILED, "completed")[n % 3 == 0]))
            case "forget" if ids and state.is_live(ids[n % len(ids)]):
                world.ask(MemoryForget(node_id=ids[n % len(ids)], scope="process:deploy"))
            case "undo" if state.wrote:
                world.ask(MemoryUndo(consolidation_id=list(state.wrote)[n % len(state.wrote)]))
            case "promote":
                run.promote()
            case _:
                pass
        written = [each for wrote in state.wrote.values() for each in wrote]
        current = list(filter(state.is_current, written))
        to = {e.to for each in current for e in world.view().edges([each]) if e.edge == "refines"}
        assert all(map(state.is_current, to))
        states = world.view().states(written)
        assert [each for each in written if states[each].current] == current
    folded = MemoryState()
    for record, event in zip(world.records, typed(world.records), strict=True):
        if record.source == "MemoryChainEngine":
            folded.apply(event, position=record.position)
    assert folded == world.decider.state
