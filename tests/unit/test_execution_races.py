"""Whatever comes, in whatever order: no step runs twice, and all ends or waits for something."""

from collections import Counter

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from cortex.bus import Draft
from cortex.bus.events import (
    VOCABULARY,
    ContextCompile,
    ExecutionCancel,
    ExecutionCancelled,
    ExecutionCharged,
    ExecutionPause,
    ExecutionRequest,
    ExecutionResume,
    ModelInvoke,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepReopened,
    ToolCall,
    ToolDenied,
    ToolFailed,
    ToolReturned,
)
from cortex.runtime.executions import ENGINE, Execution, in_order, tokens_of
from cortex.runtime.processes import LinkedProcess

from .execution_world import ASKED, World, action_step, child_step, gate, process_of, question_of
from .test_execution_recovery import FIND, INNER, SERVED, answer_one, processes, told

MIDDLE = process_of(
    child_step("call", "inner", timeout_s=5.0), action_step("after", gates=(gate("g"),)),
    name="middle",
)  # fmt: skip
NUMBER = st.integers(0, 9)


class Races(RuleBasedStateMachine):
    """One process that calls others, and everything that can happen to any of them."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.fired: list[Draft] = []  # deadlines that came, and may come again

    @initialize(process=processes(), called=st.sampled_from(["", "middle", "inner"]))
    def begin(self, process: LinkedProcess, called: str) -> None:
        if called:
            process = process_of(child_step("called", called), *process.steps)
        self.world = World(process, MIDDLE, INNER)
        self.world.publish(*SERVED)
        self.world.publish(*[ExecutionRequest(execution_id=e, process="p") for e in "xy"])
        self.world.play()

    def ids(self) -> list[str]:
        items = [each.child for each in self.world.said(StepDelegated) if each.item]
        asked = [event.execution_id for event in self.world.said(ExecutionRequest)]
        return [*asked, *items]

    @rule(n=NUMBER)
    def an_execution_begins(self, n: int) -> None:
        self.world.begin_one(n)

    @rule(
        n=NUMBER,
        how=st.sampled_from(["answer", "answer", "fail", "twice", "calls", "calls", "wrong"]),
    )
    def somebody_answers(self, n: int, how: str) -> None:
        answer_one(self.world, how, n)

    @rule(n=NUMBER)
    def a_component_gives_up(self, n: int) -> None:
        self.world.park_one(n)

    @rule(n=NUMBER, kind=st.sampled_from([ExecutionPause, ExecutionResume, ExecutionCancel]))
    def a_person_asks(
        self, n: int, kind: type[ExecutionPause | ExecutionResume | ExecutionCancel]
    ) -> None:
        ids = self.ids()
        self.world.publish(kind(execution_id=ids[n % len(ids)]))

    @rule(n=NUMBER, step=st.sampled_from(["s0", "s1", "called", "nowhere"]))
    def a_person_goes_back(self, n: int, step: str) -> None:
        ids = self.ids()
        self.world.publish(ExecutionResume(execution_id=ids[n % len(ids)], from_step=step))

    @precondition(lambda self: self.world.deadlines)
    @rule()
    def a_deadline_comes(self) -> None:
        self.fired += [draft for _, draft in self.world.deadlines.values()]
        self.world.fire()

    @precondition(lambda self: self.fired)
    @rule(n=NUMBER)
    def a_deadline_comes_too_late_or_again(self, n: int) -> None:
        self.world.append(self.fired[n % len(self.fired)], "hub")

    @rule(limit=st.integers(1, 5))
    def the_engine_handles_a_page(self, limit: int) -> None:
        self.world.pump(limit=limit)

    @rule()
    def all_that_was_said_is_handled(self) -> None:
        self.world.play()

    @rule()
    def the_engine_is_killed_before_it_commits(self) -> None:
        self.world.pump_without_commit()

    @rule()
    def the_engine_starts_anew(self) -> None:
        self.world.restart()

    def teardown(self) -> None:
        self.world.drain()
        for each in self.ids():
            self.all_ends_or_waits(each)
            self.nothing_is_asked_after_a_cancel(each)
            self.tokens_are_those_of_the_family(each)
            self.every_call_is_answered_before_the_next_turn(each)
            self.a_prompt_is_sent_five_times_at_most(each)
        self.nothing_is_asked_twice()
        self.no_recorded_step_runs_again()
        self.memory_is_the_fold()

    def all_ends_or_waits(self, execution_id: str) -> None:
        state = self.world.state(execution_id)
        assert state.status in ("completed", "failed", "cancelled", "paused", "halted")
        assert state.reason or state.status == "completed"
        waited_for = self.world.state(state.child) if state.stage in ("child", "cleanup") else None
        if waited_for is not None:
            assert waited_for.status in ("paused", "halted")
        items = state.fan.live if state.fan is not None and not state.over else {}
        for child in items:
            assert self.world.state(child).status in ("paused", "halted")
        if state.over:
            assert all(each.over for each in self.children_of(execution_id))

    def children_of(self, execution_id: str) -> list[Execution]:
        delegated = self.world.said(StepDelegated)
        own = (each for each in delegated if each.execution_id == execution_id)
        return [self.world.state(each.child) for each in own]

    def nothing_is_asked_after_a_cancel(self, execution_id: str) -> None:
        over = False
        for record in in_order(self.world.history(f"execution/{execution_id}")):
            asks = record.source == ENGINE and record.topic in {k.topic_name() for k in ASKED}
            assert not (over and asks)
            over = over or (
                record.source == ENGINE and record.topic == ExecutionCancelled.topic_name()
            )

    def tokens_are_those_of_the_family(self, execution_id: str) -> None:
        state = self.world.state(execution_id)
        of_children = self.children_of(execution_id)
        if all(child.over for child in of_children):
            assert state.tokens == state.own_tokens + sum(child.tokens for child in of_children)
            assert state.cost == state.own_cost + sum(child.cost for child in of_children)
        assert tokens_of(state.usage) == state.tokens
        assert tokens_of(state.own_usage) == state.own_tokens
        awaited = {each for e in self.world.said(StepReopened) for each in e.leaving}
        charged = self.world.said(ExecutionCharged)
        assert all(each.tokens > 0 or each.child in awaited for each in charged)
        assert not state.leaving

    def a_prompt_is_sent_five_times_at_most(self, execution_id: str) -> None:
        sent = [e for e in self.world.said(ModelInvoke) if e.execution_id == execution_id]
        assert all(e.call <= 5 and e.turn <= 4 for e in sent)

    def nothing_is_asked_twice(self) -> None:
        asked = Counter(question_of(e) for e in self.world.said(*ASKED))
        assert set(asked.values()) <= {1}

    def no_recorded_step_runs_again(self) -> None:
        asked = {(e.execution_id, e.step_id, e.attempt) for e in self.world.said(StepExecute)}
        done = {(e.execution_id, e.step_id, e.attempt) for e in self.world.said(StepCompleted)}
        failed = {(e.execution_id, e.step_id, e.attempt) for e in self.world.said(StepFailed)}
        dropped = {
            (e.execution_id, step_id)
            for e in self.world.said(StepReopened)
            for step_id in e.dropped
        }
        for execution_id, step_id, attempt in (done & asked) - failed:
            if (execution_id, step_id) in dropped:
                continue
            status = self.world.state(execution_id).statuses.get(step_id)
            later = {a for e, s, a in asked if (e, s) == (execution_id, step_id) and a > attempt}
            assert not (status == "completed" and later)

    def every_call_is_answered_before_the_next_turn(self, execution_id: str) -> None:
        working: set[tuple[str, int, int, str]] = set()
        for record in in_order(self.world.history(f"execution/{execution_id}")):
            event = VOCABULARY.read(record)
            if isinstance(event, ToolCall | ToolReturned | ToolFailed | ToolDenied):
                place = (event.step_id, event.attempt, event.turn, event.call_id)
                if isinstance(event, ToolCall):
                    working.add(place)
                else:
                    working.discard(place)
            elif isinstance(event, ContextCompile) and event.turn and record.source == ENGINE:
                here = (event.step_id, event.attempt, event.turn - 1)
                assert not [each for each in working if each[:3] == here]

    def memory_is_the_fold(self) -> None:
        for execution_id, state in self.world.engine._executions.items():
            assert self.world.state(execution_id) == state
        self.world.restart()
        before = len(self.world.records)
        self.world.drain()
        assert len(self.world.records) == before


def test_an_answer_of_every_kind_is_known() -> None:
    step = action_step("one", gates=(gate("g"),), tools=("read",), find=FIND)
    world = World(process_of(step))
    world.publish(*SERVED)
    world.start()
    kinds = []

    while asked := world.open(*ASKED):
        position, request = asked[0]
        first = isinstance(request, ModelInvoke) and request.turn == 0
        kinds.append(type(request))
        world.settle(position, told(request, "calls" if first else "answer", 0))

    assert set(kinds) == set(ASKED)


TestRaces = Races.TestCase
TestRaces.settings = settings(
    max_examples=200,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
