"""What people are shown of an execution: bounded, readable, and honest about sizes."""

from importlib import import_module
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.bus import FORMAT, Event, Recorded
from cortex.bus.events import (
    ExecutionCompleted,
    ExecutionPaused,
    ExecutionRated,
    ExecutionRequest,
    ExecutionResumed,
    ExecutionStarted,
)
from cortex.runtime.executions import DECIDER
from cortex.runtime.executions.view import (
    REVIEW_LINES,
    Chosen,
    CompiledContext,
    ExecutionDocument,
    hints_of,
    log_lines,
    readable,
    review_of,
    scalars,
    took_s,
)
from cortex.runtime.processes import Expression, parse_condition
from cortex.runtime.processes.catalog import as_written, condition_as_written

show_execution: Any = import_module("cortex.runtime.cli.outcome").show_execution  # an inner part
Screen: Any = import_module("cortex.runtime.cli.screen").Screen
ID = "k3f9q2m7"
SHELL = {"exit_code": 0, "stdout": "one\ntwo\n", "stderr": "", "stdout_blob": "a" * 64}
STARTED = ExecutionStarted(
    execution_id=ID, process="p", process_version=1, digest="", linked="", inputs={}, goal="",
    workspace="", trigger="",
)  # fmt: skip


def document(**changes: Any) -> ExecutionDocument:
    fields: dict[str, Any] = {
        "id": ID, "status": "completed", "process": "p", "version": 1, "goal": "", "requested": "",
        "duration_s": 0.0, "steps": {}, "tokens": 0, "reason": "", "verdict": "", "parent": "",
        "workspace": "", "inputs": {}, "question": "", "step": "", "outputs": {}, "results": {},
        "summaries": {}, "contexts": [], "unreviewed": [],
    }  # fmt: skip
    return ExecutionDocument(**(fields | changes))


def context(tokens: int, *, sent: bool = True) -> CompiledContext:
    return CompiledContext(
        step="diagnose", attempt=1, tokens=tokens, sections={}, window=24_000, model="m", prompt="",
        sent=sent,
    )  # fmt: skip


def recorded(event: Event, second: int) -> Recorded:
    return Recorded(
        FORMAT, second, event.stream(), second, bytes(16), second * 1_000_000_000,
        event.topic_name(), 1, ID, None, "tester", event.key(), None, b"\x80",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("began", "said"),
    [
        (DECIDER, f"version {DECIDER}"),
        (0, f"it began before the version of the decider was recorded, this is {DECIDER}"),
        (DECIDER + 1, f"decider version {DECIDER + 1} began it, this is {DECIDER}"),
        (None, ""),
    ],
)
def test_an_execution_is_shown_with_the_version_of_its_decider(
    began: int | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_execution(Screen(), document(decider=began, requested="2026-03-01T09:30"))

    lines = capsys.readouterr().out.splitlines()
    assert [line.split(None, 1)[1] for line in lines if line.startswith("decider")] == [
        *filter(None, [said])
    ]


@pytest.mark.parametrize(
    ("changes", "compared"),
    [
        ({"what_if": True, "status": "paused"}, ID),
        ({"what_if": True}, ID),
        ({"what_if": True, "parent": "whole"}, "whole"),
        ({"fork_of": "other"}, ""),
    ],
)
def test_a_what_if_says_how_it_is_compared(changes: dict[str, Any], compared: str) -> None:
    told = [hint for hint in hints_of(document(**changes)) if "what-if" in hint]

    wanted = f"cortex what-if {compared} --compare   (beside the recorded execution)"
    assert told == ([wanted] if compared else [])


def test_digests_and_what_is_meant_for_prompts_are_not_shown() -> None:
    lines = list(readable(SHELL | {"context": [{"text": "x"}]}))

    assert lines == ["exit_code: 0", "stdout:", "  one", "  two"]
    assert list(scalars(SHELL, "")) == ["exit_code: 0", "stdout:", "  one", "  two"]


def test_of_a_long_text_a_result_in_short_has_the_beginning_and_says_where_the_rest_is() -> None:
    said = "\n".join(map(str, range(30)))

    lines = list(scalars({"stdout": said, "line": "x" * 300}, "cortex execution show e"))

    assert lines[:2] == ["stdout:", "  0"]
    assert lines[19] == "... 12 more lines: cortex execution show e"
    assert lines[20] == f"line: {'x' * 194}…"
    assert lines[21:] == ["... the rest of a line that ends in …: cortex execution show e"]


def test_each_long_line_of_a_text_is_cut_and_where_the_rest_is_stands_once() -> None:
    said = f"short\n{'y' * 5_000}\n{'y' * 5_000}\nlast"

    lines = list(scalars({"stdout": said}, "cortex execution show e"))

    cut = f"  {'y' * 198}…"
    rest = "... the rest of a line that ends in …: cortex execution show e"
    assert lines == ["stdout:", "  short", cut, cut, "  last", rest]


@pytest.mark.parametrize(
    ("read", "said"), [(120_162, "the log has 120,162 tokens; 4,390 were sent (3.7 %)"), (300, "")]
)
def test_a_log_is_compared_with_what_was_sent_only_where_it_is_larger(read: int, said: str) -> None:
    results = {"read": {"log": "/ci.log", "excerpt": "", "tokens": read}, "other": {"tokens": 9999}}

    told = [context(4_400, sent=False), context(4_390)]  # the first was edited by a person

    assert "".join(log_lines(document(results=results, contexts=told))) == said


def test_an_element_of_a_list_begins_behind_its_dash() -> None:
    said = [{"word": "a", "parts": ["x", "y"]}, {}, [1, 2], {"text": "one\ntwo"}]

    assert list(readable(said)) == [
        "- word: a", "  parts:", "    - x", "    - y", "- {}", "- - 1", "  - 2", "- text:",
        "    one", "    two",
    ]  # fmt: skip


def test_who_is_asked_what_is_next_is_not_shown_what_went_before_a_failure() -> None:
    step: dict[str, Any] = {"goal": "goal", "action": "shell", "parameters": {}, "by": "ada"}
    chosen = [
        Chosen(step="goal.1", turn=0, status="completed", **step),
        Chosen(step="goal.2", turn=0, status="failed", **step),
    ]
    asked = {"may": ["shell"], "results": {"goal.1": {"n": 1}}, "unreviewed": ["goal.1"]}

    assert review_of(document(**asked, chosen=chosen[:1])) == ["goal.1", "  n: 1"]
    assert review_of(document(**asked, chosen=chosen)) == []


@given(st.lists(st.integers(0, 200), max_size=50))
def test_what_is_shown_before_a_question_is_bounded(sizes: list[int]) -> None:
    results = {f"s{n}": {"stdout": "x\n" * size} for n, size in enumerate(sizes)}

    lines = review_of(document(results=results, unreviewed=list(results)))

    assert len(lines) <= REVIEW_LINES


def test_time_is_counted_from_the_start_to_the_end_without_waiting_for_people() -> None:
    events = [
        (0, ExecutionRequest(execution_id=ID)),
        (5, STARTED),
        (7, ExecutionPaused(execution_id=ID, reason="approval", question="go on?")),
        (1_000, ExecutionResumed(execution_id=ID, answer="approved")),
        (1_003, ExecutionCompleted(execution_id=ID)),
        (9_000, ExecutionRated(execution_id=ID, verdict="good")),
    ]

    assert took_s([(recorded(event, second), event) for second, event in events]) == 5.0


def test_a_template_is_shown_as_it_is_written() -> None:
    compiled = {
        "type": "map",
        "entries": [
            ["run", {"type": "list", "items": [
                {"type": "constant", "value": "git"},
                {"type": "text", "parts": [
                    {"type": "constant", "value": "v"},
                    {"type": "ref", "path": ["inputs", "tag"]},
                ]},
            ]}],
        ],
    }  # fmt: skip

    assert as_written(compiled) == {"run": ["git", "v${inputs.tag}"]}
    assert as_written({"name": "x", "type": "list"}) == {"name": "x", "type": "list"}


LITERALS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda number: round(number, 3))
    | st.text(st.characters(codec="utf-8"), max_size=8)
)
REFERENCES = st.sampled_from([("inputs", "n"), ("steps", "a", "ok"), ("execution", "attempt")])
OPERATORS = st.sampled_from(["==", "<=", "in", "not in", "contains", "starts_with"])
CONDITIONS = st.recursive(
    st.builds(lambda v: {"type": "constant", "value": v}, LITERALS | st.lists(LITERALS, max_size=3))
    | st.builds(lambda path: {"type": "ref", "path": list(path)}, REFERENCES),
    lambda inner: (
        st.builds(lambda o: {"type": "not", "operand": o}, inner)
        | st.builds(
            lambda kind, operands: {"type": kind, "operands": operands},
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=2, max_size=3),
        )
        | st.builds(
            lambda o, a, b: {"type": "compare", "operator": o, "left": a, "right": b},
            OPERATORS,
            inner,
            inner,
        )
    ),
    max_leaves=8,
)


@given(CONDITIONS)
@settings(max_examples=200, deadline=None)
def test_a_condition_as_it_is_written_compiles_to_itself(compiled: dict[str, Any]) -> None:
    text = condition_as_written(compiled)

    assert parse_condition(text)[0] == msgspec.convert(compiled, Expression)


def test_a_condition_is_shown_as_it_is_written() -> None:
    compiled, _ = parse_condition("inputs.n > 2 and not (steps.a.ok or inputs.s == 'x')")

    written = as_written({"id": "b", "when": msgspec.to_builtins(compiled)})

    assert written["when"] == "inputs.n > 2 and not (steps.a.ok or inputs.s == 'x')"
    assert condition_as_written(None) is None
