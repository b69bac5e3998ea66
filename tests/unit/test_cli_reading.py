"""What the command line makes of a log: which events, which times, which spans."""

import time
from datetime import UTC, datetime
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import FORMAT, Event, Recorded
from cortex.bus.events import (
    ContextCompile,
    ContextCompiled,
    ExecutionCompleted,
    ExecutionRequest,
    GateEvaluate,
    GateEvaluated,
    KnowledgeRequest,
    KnowledgeRequested,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepFanned,
)
from cortex.runtime.executions.view import Span, named_values, spans_of
from cortex.runtime.kernel import duration, iso, parse_time
from cortex.runtime.projections import Selection

NOW_NS = 1_800_000_000_000_000_000
ID = "k3f9q2m7"


def recorded(event: Event, position: int) -> Recorded:
    return Recorded(
        FORMAT,
        position,
        event.stream(),
        position,
        position.to_bytes(16, "big"),
        NOW_NS + position * 1_000_000,
        event.topic_name(),
        1,
        ID,
        None,
        "tester",
        event.key(),
        None,
        b"\x80",
    )


def spans(*events: Event) -> list[Span]:
    return spans_of([(recorded(e, n), e) for n, e in enumerate(events, 1)], ID)


ASKED = StepExecute(execution_id=ID, step_id="read", action="read_ci_log")
GATE = GateEvaluate(execution_id=ID, gate="branch_clean", step_id="read")


def test_what_a_step_looked_for_is_a_span_before_its_context() -> None:
    place: dict[str, Any] = {"execution_id": ID, "step_id": "read"}

    _, step, knowledge, context = spans(
        ExecutionRequest(execution_id=ID, process="triage"),
        KnowledgeRequest(**place, texts=("what about it",)),
        KnowledgeRequested(**place, turn=0, call_id="", query="what about it", topics=("team",)),
        ContextCompile(**place, process="triage", description="d", found="digest"),
    )

    assert (knowledge.kind, knowledge.name, knowledge.status) == ("knowledge", "read", "found")
    assert (knowledge.parent, context.parent) == (step.id, step.id)
    assert knowledge.attributes["topics"] == ("team",)
    assert knowledge.duration_s > 0


def test_what_was_asked_and_answered_is_one_span_under_its_step() -> None:
    found = spans(
        ExecutionRequest(execution_id=ID, process="triage"),
        GATE,
        GateEvaluated(execution_id=ID, gate="branch_clean", step_id="read", outcome="passed"),
        ASKED,
        StepCompleted(execution_id=ID, step_id="read", summary="ok"),
        ExecutionCompleted(execution_id=ID),
    )

    assert [(s.kind, s.name, s.status, s.parent) for s in found] == [
        ("execution", "triage", "completed", ""),
        ("step", "read", "completed", "1"),
        ("gate", "branch_clean", "passed", "2"),
        ("execution.completed", "", "recorded", "1"),
    ]
    assert (found[0].position, found[0].last_position, found[0].duration_s) == (1, 6, 0.005)
    assert len({s.id for s in found}) == len(found)


@pytest.mark.parametrize("item", [-7, 1, 2, 3, 99])
@pytest.mark.parametrize("branches", [(), ("read",), ("read", "write")])
def test_an_item_beyond_the_branches_of_its_step_is_called_by_its_number(
    branches: tuple[str, ...], item: int
) -> None:
    place: dict[str, Any] = {"execution_id": ID, "step_id": "both"}

    *_, begun = spans(
        ExecutionRequest(execution_id=ID, process="triage"),
        StepFanned(**place, items=2, at_once=2, branches=branches),
        StepDelegated(**place, child="c", purpose="item", item=item),
    )

    known = 0 < item <= len(branches)
    assert begun.name == (branches[item - 1] if known else f"both {item}")


def test_a_model_and_its_context_stand_in_the_attempt_that_asked_them() -> None:
    found = spans(
        ExecutionRequest(execution_id=ID),
        ContextCompile(execution_id=ID, step_id="say", process="p", description=""),
        ContextCompiled(
            execution_id=ID,
            step_id="say",
            prompt="ab",
            manifest="cd",
            model="extractive",
            tokens=9,
            sections={"step": 9},
            window=100,
            headroom=10,
        ),
        ModelInvoke(execution_id=ID, step_id="say", model="extractive", prompt="ab"),
        ModelResponded(
            execution_id=ID, step_id="say", model="extractive", prompt="ab", answer={"text": "hi"}
        ),
        StepExecute(execution_id=ID, step_id="say", action="answer"),
        StepFailed(execution_id=ID, step_id="say", error="no"),
        StepExecute(execution_id=ID, step_id="say", action="answer", attempt=2),
    )

    assert [(s.kind, s.status, s.parent) for s in found] == [
        ("execution", "open", ""),
        ("step", "failed", "1"),
        ("context", "compiled", "2"),
        ("model", "responded", "2"),
        ("step", "open", "1"),
    ]
    assert found[2].attributes["sections"] == {"step": 9}
    assert [s.primitive for s in found] == ["orchestrate"] * 3 + ["execute"] * 2


@given(
    events=st.lists(
        st.sampled_from(
            [
                ExecutionRequest(execution_id=ID),
                ASKED,
                GATE,
                GateEvaluated(execution_id=ID, gate="branch_clean", outcome="failed"),
                StepCompleted(execution_id=ID, step_id="read"),
                StepFailed(execution_id=ID, step_id="other", error="no"),
                ExecutionCompleted(execution_id=ID),
                ModelInvoke(execution_id=ID, step_id="read", model="m", prompt="ab"),
            ]
        ),
        max_size=20,
    )
)
@settings(deadline=None, max_examples=200)
def test_any_order_of_events_gives_a_tree(events: list[Event]) -> None:
    found = spans(*events)

    known: set[str] = set()
    for span in found:
        assert span.id not in known
        assert span.parent == "" or span.parent in known
        assert span.last_position >= span.position
        known.add(span.id)


def test_a_selection_fits_what_fits_all_of_it() -> None:
    record = recorded(ASKED, 7)

    assert Selection().fits(record)
    assert Selection(topics=("gate.*", "step.*"), execution=ID, key="read_ci_log").fits(record)
    assert not Selection(topics=("*.completed",)).fits(record)
    assert not Selection(since_ns=record.time_ns + 1).fits(record)
    assert not Selection(until_ns=record.time_ns).fits(record)
    assert not Selection(source="somebody").fits(record)


@pytest.mark.parametrize(
    ("topics", "asked"),
    [
        ((), "*"),
        (("step.completed",), "step.completed"),
        (("step.*",), "step.*"),
        (("*.failed",), "*"),
        (("st?p.*",), "*"),
        (("gate.*", "step.*"), "*"),
    ],
)
def test_the_index_is_asked_for_the_narrowest_that_holds_all(
    topics: tuple[str, ...], asked: str
) -> None:
    assert Selection(topics=topics).glob.within() == asked


@pytest.mark.parametrize(
    ("text", "ago_s"), [("90s", 90), ("15m", 900), ("1.5h", 5400), ("2d", 172_800)]
)
def test_a_time_may_be_so_long_ago(text: str, ago_s: int) -> None:
    assert parse_time(text, NOW_NS) == NOW_NS - ago_s * 10**9


@given(when=st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2100, 1, 1)))
@settings(deadline=None)
def test_a_time_that_was_printed_is_read_back(when: datetime) -> None:
    seconds = (when.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    time_ns = round(seconds * 1e6) * 1_000

    assert parse_time(iso(time_ns), NOW_NS) == time_ns


@pytest.mark.parametrize("text", ["soon", "", "1x", "99999-01-01", "12:61"])
def test_what_is_no_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(click.BadParameter, match="write 90s, 15m, 1h, 2d or 1w ago"):
        parse_time(text, time.time_ns())


def test_durations_have_the_unit_that_suits_them() -> None:
    assert [duration(s) for s in (0.0004, 0.5, 62, 125, 7_800)] == [
        "0.4 ms",
        "0.5 s",
        "62.0 s",
        "2 min 05 s",
        "2 h 10 min",
    ]


def test_what_a_process_declares_is_shown_though_it_is_empty() -> None:
    values: dict[str, Any] = {
        "found": [],
        "by": {},
        "said": "",
        "left": None,
        "digest": "a" * 64,
        "context": [1],
    }

    assert [*named_values(values)] == [
        "found: []",
        "by: {}",
        'said: ""',
        "left: null",
        f"digest: {'a' * 64}",
    ]
