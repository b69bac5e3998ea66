"""A step of an execution that has ended is carried out by nobody."""

import pytest

from cortex.bus import Draft, Event, Finish, Publish, Release, Subscribe
from cortex.bus.events import (
    VOCABULARY,
    ExecutionCancelled,
    ExecutionCompleted,
    ExecutionFailed,
    StepCompleted,
    StepExecute,
    StepFailed,
    ToolCall,
)

from .bus_world import HubWorld

STEP = StepExecute(execution_id="e1", step_id="fix", action="write_code")
CALL = ToolCall(execution_id="e1", step_id="fix", turn=1, call_id="c1", tool="sh", provider="Files")
ENDS = (
    ExecutionCancelled(execution_id="e1", reason="asked for"),
    ExecutionFailed(execution_id="e1", reason="it ran out of money"),
    ExecutionCompleted(execution_id="e1"),
)


class Writers(HubWorld):
    """A hub with somebody who writes, somebody who serves tools, and somebody who looks on."""

    def __init__(self) -> None:
        super().__init__(VOCABULARY)
        self.one(Subscribe("Writer", "work", (("step.execute", "write_code"),)))
        self.one(Subscribe("Files", "work", (("tool.call", "Files"),)))

    def say(self, *events: Event) -> None:
        self.one(Publish(tuple(Draft.of(event) for event in events)))

    def waiting(self) -> int:
        return len(self.log.state().work)

    def run(self, seconds: float) -> None:
        until_ns = self.now_ns + int(seconds * 1e9)
        while (due_ns := self.hub.next_due_ns()) is not None and due_ns <= until_ns:
            self.now_ns = max(self.now_ns, due_ns)
            self.hub.tick(self.now_ns)
        self.now_ns = until_ns


@pytest.mark.parametrize("end", ENDS, ids=lambda end: type(end).__name__)
def test_what_waits_leaves_with_the_execution_that_wanted_it(end: Event) -> None:
    world = Writers()
    world.say(STEP, CALL)

    world.say(end)

    assert world.waiting() == 0
    assert world.claim("Writer") == ()
    assert world.claim("Files") == ()
    world.run(600)
    assert "step.unclaimed" not in world.topics()


def test_what_others_wait_for_stays() -> None:
    world = Writers()
    world.say(STEP, StepExecute(execution_id="e2", step_id="fix", action="write_code"))

    world.say(ENDS[0])

    (lease,) = world.claim("Writer")
    assert lease.record.stream == "execution/e2"


def test_what_a_dead_worker_held_is_not_carried_out_after_the_end() -> None:
    world = Writers()
    world.say(STEP)
    world.claim("Writer", lease_s=30)
    world.say(ENDS[0])

    world.run(31)
    late = world.claim("Writer")

    assert late == ()
    assert world.waiting() == 0


def test_what_a_dead_worker_held_is_not_told_after_the_end_but_leaves_by_itself() -> None:
    world = Writers()
    world.say(STEP)
    world.claim("Writer", lease_s=30)
    world.say(ENDS[0])

    world.run(600)

    assert world.topics() == ["step.execute", "execution.cancelled"]
    assert world.waiting() == 0
    assert world.hub.next_due_ns() is None


def test_who_is_at_it_when_the_execution_ends_may_still_say_what_came_of_it() -> None:
    world = Writers()
    world.say(STEP)
    (lease,) = world.claim("Writer", lease_s=30)
    world.say(ENDS[0])

    done = Draft.of(StepCompleted(execution_id="e1", step_id="fix"))
    world.one(Finish("Writer", 1, lease.epoch, (done,)))

    assert world.topics()[-1] == "step.completed"


def test_what_is_given_back_after_the_end_is_not_tried_again() -> None:
    world = Writers()
    world.say(STEP)
    (lease,) = world.claim("Writer", lease_s=30)
    world.say(ENDS[0])

    world.one(Release("Writer", 1, lease.epoch, 0))

    assert world.claim("Writer") == ()


def test_an_attempt_that_ran_out_of_time_leaves_its_place_to_the_next() -> None:
    world = Writers()
    again = StepExecute(execution_id="e1", step_id="fix", action="write_code", attempt=2)
    world.say(STEP)

    world.say(StepFailed(execution_id="e1", step_id="fix", error="late", kind="timeout"), again)

    (lease,) = world.claim("Writer")
    assert VOCABULARY.read(lease.record) == again
    assert world.claim("Writer") == ()


def test_an_end_holds_through_a_restart_of_the_hub() -> None:
    world = Writers()
    world.say(STEP)
    world.claim("Writer", lease_s=30)
    world.say(ENDS[0])

    world.reopened()

    assert world.claim("Writer") == ()


def test_an_observer_of_all_steps_sees_those_of_ended_executions_too() -> None:
    world = Writers()
    world.one(Subscribe("Audit", "work", (("step.*", None),)))
    world.say(STEP)

    world.say(ENDS[0])

    assert [lease.record.topic for lease in world.claim("Audit")] == ["step.execute"]
