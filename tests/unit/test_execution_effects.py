"""Effects that may happen once: begun once, asked about where nobody knows, settled by a person."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cortex.bus.events import (
    EffectIntended,
    EffectSettle,
    EffectSettled,
    EffectUnknown,
    ExecutionPaused,
    ExecutionRefused,
    ExecutionResume,
    StepCompleted,
    StepExecute,
    StepFailed,
)
from cortex.runtime.kernel import Begun
from cortex.runtime.processes import Retry

from .execution_world import World, action_step, process_of


class Once(World):
    """A handler whose effect happens once, and a worker that may be killed in it."""

    def __init__(self, **more: Any) -> None:
        super().__init__(process_of(action_step("act", effect="once", **more)))
        self.begun: dict[int, int] = {}  # how often the effect of each request was begun
        self.start()

    def handed(self) -> tuple[int, StepExecute]:
        """The newest request, and its position."""
        asked: tuple[int, StepExecute] = self.open(StepExecute)[-1]
        return asked

    def effect(self) -> Begun:
        position, asked = self.handed()
        return Begun.of(asked, f"{position}/0/Worker/0", "Worker")

    def work(self) -> None:
        """A worker takes the request: it begins, or finds that it was begun before."""
        position, asked = self.handed()
        if any(failed.attempt >= asked.attempt for failed in self.said(StepFailed)):
            return  # the hub takes no intent for what was given up
        if position not in self.begun:
            self.begun[position] = 1
            self.publish(self.effect().intended(), source="Worker")
        else:
            self.publish(self.effect().unknown("it was killed", 1), source="Worker")
        self.play()

    def settle_it(self, outcome: str, **more: Any) -> None:
        unknown = next(iter(self.state().unknown.values()), None)
        key = unknown.effect_key if unknown else "none"
        self.publish(EffectSettle(execution_id="x", effect_key=key, outcome=outcome, **more))
        self.play()


def test_an_effect_of_unknown_outcome_pauses_and_says_what_was_begun() -> None:
    world = Once()
    world.work()
    world.work()

    (paused,) = world.said(ExecutionPaused)
    assert (paused.reason, world.state().status) == ("effect", "paused")
    assert paused.question.startswith("Did it happen? action work of step act, attempt 1,")


def test_a_resume_is_no_answer_to_it_and_the_refusal_is_recorded() -> None:
    world = Once()
    world.work()
    world.work()

    world.publish(ExecutionResume(execution_id="x"))
    world.play()

    (refused,) = world.said(ExecutionRefused)
    assert "--it-happened RESULT" in refused.reason
    assert world.state().status == "paused"


def test_a_resume_that_has_not_seen_the_halt_is_refused() -> None:
    world = World(process_of(action_step("act")))
    world.start()
    seen = len(world.records)
    world.park_one(0)
    world.play()

    world.publish(ExecutionResume(execution_id="x", seen=seen))
    world.play()
    stood = world.state().status
    world.publish(ExecutionResume(execution_id="x"))
    world.play()

    assert (stood, world.state().status) == ("halted", "running")
    assert "it stopped after the position" in world.said(ExecutionRefused)[0].reason


def test_what_happened_is_the_result_and_again_begins_another_attempt() -> None:
    world = Once()
    world.work()
    world.work()
    world.settle_it("again")
    world.work()
    world.work()
    world.settle_it("happened", result={"by": "hand"})

    assert [each.outcome for each in world.said(EffectSettled)] == ["again", "happened"]
    assert (world.state().status, world.state().results) == ("completed", {"act": {"by": "hand"}})
    assert len(world.begun) == 2


def test_an_outcome_that_is_recorded_after_all_answers_for_itself() -> None:
    world = Once()
    world.work()
    world.work()

    world.publish(StepCompleted(execution_id="x", step_id="act", result={"late": 1}))
    world.play()

    assert (world.state().status, world.state().results) == ("completed", {"act": {"late": 1}})


def test_time_that_runs_out_is_no_failure_to_retry_while_the_effect_is_under_way() -> None:
    world = Once(timeout_s=5.0, retry=Retry(attempts=3, backoff_s=0.0))
    world.work()
    world.fire()
    world.play()
    first = world.state().status
    world.fire()
    world.play()

    assert (first, world.state().status) == ("running", "paused")
    assert len(world.said(StepExecute)) == 1


def test_an_effect_that_begins_as_its_time_runs_out_is_asked_about_and_not_retried() -> None:
    world = Once(timeout_s=5.0, retry=Retry(attempts=3, backoff_s=0.0))
    world.fire()  # the engine has not seen an intent when it handles this
    position, _ = world.handed()
    world.begun[position] = 1
    effect = world.effect()
    world.pump()
    # The hub took it before the failure was recorded; it comes before the second look.
    world.publish(effect.intended(), source="Worker")
    world.play()
    while world.state().status == "running" and world.fire():
        world.play()

    assert world.state().status == "paused"
    assert len(world.said(StepExecute)) == 1


MOVES = st.lists(
    st.sampled_from(["work", "resume", "again", "happened", "restart", "fire", "late", "stale"]),
    max_size=25,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(MOVES)
def test_it_begins_once_and_once_more_for_each_time_a_person_says_so(moves: list[str]) -> None:
    world = Once(timeout_s=5.0, retry=Retry(attempts=5, backoff_s=0.0))
    for move in moves:
        match move:
            case "work":
                world.work()
            case "resume":
                world.publish(ExecutionResume(execution_id="x"))
            case "stale":
                world.publish(EffectSettle(execution_id="x", effect_key="k", outcome="again"))
            case "again" | "happened":
                world.settle_it(move)
            case "restart":
                world.restart()
            case "fire":
                world.fire()
            case _:
                if world.state().unknown:
                    world.publish(StepCompleted(execution_id="x", step_id="act"))
        world.play()

    again = [each for each in world.said(EffectSettled) if each.outcome == "again"]
    intended = {each.effect_key for each in world.said(EffectIntended)}
    begun = len(intended)
    assert begun <= 1 + len(again)
    assert len(world.said(EffectUnknown)) >= len(world.said(EffectSettled))
