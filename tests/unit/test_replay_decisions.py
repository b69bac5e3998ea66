"""What counts as another decision: one that is missing, one too many, or one in other bytes."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.bus import FORMAT, Draft, Event, Recorded
from cortex.bus.events import VOCABULARY, ComponentFailed, ContextCompile, ContextCompiled
from cortex.runtime.context import COMPILER, Inputs, PromptStep, Request, keep_inputs
from cortex.runtime.kernel import Component, Delivery, Home, Later, Output, on
from cortex.runtime.log import MemoryBlobs, MemoryLog
from cortex.runtime.projections import HomeLog
from cortex.runtime.replay import Decider, DecisionReplay, OtherDecision, PastStreams, Prompts

from .bus_world import WORDS as PLANS_ALONE
from .bus_world import PlanWrite, PlanWritten

WORDS = PLANS_ALONE.extended((ComponentFailed,))

PLANS = st.lists(st.text("ab", max_size=3), min_size=1, max_size=8)


class Planner(Component):
    """Writes a plan as often as it has letters; a plan of an exclamation mark fails."""

    @on(PlanWrite)
    def write(self, event: PlanWrite, delivery: Delivery) -> Iterator[Output]:
        if event.plan == "!":
            raise ValueError("no plan")
        if event.plan == "later":
            yield Later("plan/later", delivery.time_ns + 1, PlanWritten(plan="late"))
        for number in range(len(event.plan) if event.plan != "later" else 0):
            yield PlanWritten(plan=f"{event.plan}/{number}")


def record(position: int, event: Event, causation: int | None = None) -> Recorded:
    draft = Draft.of(event)
    return Recorded(
        format=FORMAT,
        position=position,
        stream=draft.stream,
        version=1,
        id=position.to_bytes(16, "big"),
        time_ns=position,
        topic=draft.topic,
        schema=draft.schema,
        correlation=draft.correlation,
        causation=causation,
        source="Planner" if causation else "tests",
        key=draft.key,
        subject=draft.subject,
        body=draft.body,
    )


def recorded(plans: Sequence[str], page: int) -> list[Recorded]:
    """A log in which the planner decided about so many plans at a time."""
    log: list[Recorded] = []
    for start in range(0, len(plans), page):
        part = plans[start : start + page]
        asked = [record(len(log) + n, PlanWrite(plan=plan)) for n, plan in enumerate(part, 1)]
        log += asked
        for cause, plan in zip(asked, part, strict=True):
            for number in range(len(plan)):
                decided = PlanWritten(plan=f"{plan}/{number}")
                log.append(record(len(log) + 1, decided, cause.position))
    return log


def replayed(
    log: Sequence[Recorded], *, cursor: int | None = 1 << 62
) -> tuple[OtherDecision | None, DecisionReplay]:
    decider = Decider(Planner, {"vocabulary": WORDS}, PastStreams(lambda _: ()))
    source = HomeLog(Home.find(), MemoryLog(), MemoryBlobs(), WORDS)
    replay = DecisionReplay(
        [decider],
        WORDS,
        lambda _: True,
        None if cursor is None else {"Planner": cursor},
        Prompts(source),
    )
    for each in log:
        found = replay.take(each)
        if found is not None:
            return found, replay
    return replay.end(), replay


def numbered(log: Sequence[Recorded]) -> list[Recorded]:
    """*log* with positions without gaps; causes move with their events."""
    moved = {each.position: place for place, each in enumerate(log, 1)}
    return [
        msgspec.structs.replace(
            each,
            position=moved[each.position],
            causation=each.causation and moved[each.causation],
        )
        for each in log
    ]


@given(PLANS, st.integers(1, 8))
def test_what_was_decided_is_the_same_however_it_was_committed(plans: list[str], page: int) -> None:
    found, replay = replayed(recorded(plans, page))

    assert found is None
    assert replay.counts() == {"Planner": (len(plans), sum(map(len, plans)))}


@given(PLANS, st.integers(1, 8), st.randoms(use_true_random=False))
def test_a_decision_that_is_missing_changed_or_too_many_is_found_at_its_cause(
    plans: list[str], page: int, dice: random.Random
) -> None:
    log = recorded([*plans, "ab"], page)
    decisions = [place for place, each in enumerate(log) if each.causation]
    place = dice.choice(decisions)
    hit = log[place]
    other = record(len(log) + 1, PlanWritten(plan="other"), hit.causation)

    without = numbered([*log[:place], *log[place + 1 :]])
    changed = [
        *log[:place],
        msgspec.structs.replace(other, position=hit.position),
        *log[place + 1 :],
    ]
    added = numbered([*log[: place + 1], other, *log[place + 1 :]])

    for told in (without, changed, added):
        found, _ = replayed(told)
        assert found is not None
        cause = next(each for each in told if each.position == found.cause)
        assert WORDS.read(cause) == WORDS.read(log[(hit.causation or 0) - 1])


def test_an_event_behind_the_cursor_is_not_decided_about_yet() -> None:
    log = recorded(["a", "b"], 1)

    found, replay = replayed(log[:3], cursor=1)

    assert found is None
    assert replay.pending == 1


@given(PLANS, st.integers(1, 8), st.integers(0, 40))
def test_an_earlier_state_of_a_log_differs_in_nothing(
    plans: list[str], page: int, through: int
) -> None:
    found, _ = replayed(recorded(plans, page)[:through], cursor=None)

    assert found is None


def test_an_event_that_was_given_up_is_not_compared() -> None:
    log = [
        record(1, PlanWrite(plan="!")),
        record(2, ComponentFailed(component="Planner", reason="no plan", position=1)),
        record(3, PlanWrite(plan="a")),
        record(4, PlanWritten(plan="a/0"), 3),
    ]

    found, replay = replayed(log)

    assert found is None
    assert replay.parked == 1


def test_a_decider_that_fails_where_it_did_not_is_found() -> None:
    found, _ = replayed([record(1, PlanWrite(plan="!")), record(2, PlanWritten(plan="x"), 1)])

    assert found is not None
    assert "no plan" in found.failure
    assert found.recorded is not None


@pytest.mark.parametrize("comes", [True, False])
def test_what_a_deadline_appends_is_no_decision_of_its_own(comes: bool) -> None:
    log = [record(1, PlanWrite(plan="later"))]
    log += [record(2, PlanWritten(plan="late"), 1)] if comes else []

    assert replayed(log)[0] is None
    assert replayed([*log[:1], record(2, PlanWritten(plan="early"), 1)])[0] is not None


# Prompts of another compiler.


class Compiles(Component):
    """Compiles every prompt to the same one."""

    @on(ContextCompile)
    def compile(self, event: ContextCompile, delivery: Delivery) -> Iterator[Output]:
        yield prompt_of(event.step_id)


def prompt_of(step_id: str, **fields: Any) -> ContextCompiled:
    every: dict[str, Any] = {
        "prompt": "p", "manifest": "m", "model": "small", "tokens": 1, "sections": {},
        "window": 9, "headroom": 1, **fields,
    }  # fmt: skip
    return ContextCompiled(execution_id="e", step_id=step_id, **every)


@pytest.mark.parametrize(
    ("compiler", "fields", "same"),
    [
        (COMPILER, {}, True),
        (COMPILER, {"prompt": "other"}, False),
        (COMPILER - 1, {"prompt": "other", "tokens": 2}, True),
        (COMPILER - 1, {"prompt": "other", "model": "large"}, False),
    ],
)
def test_other_bytes_by_another_compiler_are_said_and_no_difference(
    compiler: int, fields: dict[str, Any], same: bool
) -> None:
    blobs = MemoryBlobs()
    step = PromptStep(process="p", id="s", description="Say what failed")
    inputs = Inputs(encoding="o200k_base", request=Request(step=step, window=9), compiler=compiler)
    made = prompt_of("s", inputs=keep_inputs(inputs, blobs.put), **fields)
    asked = ContextCompile(execution_id="e", step_id="s", process="p", description="")
    log = [record(1, asked), msgspec.structs.replace(record(2, made, 1), source="Compiles")]
    source = HomeLog(Home.find(), MemoryLog(), blobs, VOCABULARY)
    decider = Decider(Compiles, {"vocabulary": VOCABULARY}, PastStreams(lambda _: ()))
    cursors = {"Compiles": 2}
    replay = DecisionReplay([decider], VOCABULARY, lambda _: True, cursors, Prompts(source))

    found = [*filter(None, map(replay.take, log))]

    assert (not found) is same
    assert dict(replay.other_compilers) == ({COMPILER - 1: 1} if same and fields else {})
