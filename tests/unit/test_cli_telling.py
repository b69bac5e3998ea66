"""What is told while an execution runs: lines, the state below them, and nothing that acts."""

from io import StringIO
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from cortex.bus import FORMAT, Ephemeral, Event, Recorded
from cortex.bus.events import (
    ContextEdit,
    ContextRefused,
    ExecutionHalted,
    ExecutionIgnored,
    ExecutionRequest,
    ExecutionResumed,
    GateEvaluated,
    KnowledgeRequest,
    KnowledgeRequested,
    ModelDelta,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
    StepFanned,
    StepItemChanged,
    ToolCall,
    ToolDenied,
    ToolReturned,
)
from cortex.runtime.cli.terminal import LiveView
from cortex.runtime.executions.view import LiveState, Teller, asked_of_person
from cortex.runtime.sessions import in_order

STEP: dict[str, Any] = {"execution_id": "e1", "step_id": "mend"}
ASKED = ModelInvoke(**STEP, model="m", provider="openai", prompt="p")
CALL = ToolCall(**STEP, turn=0, call_id="c", tool="grep", provider="x", arguments={"for": "a\nb"})


def recorded(event: Event, position: int, second: float = 0.0) -> Recorded:
    return Recorded(
        FORMAT, position, event.stream(), position, bytes(16), int(second * 1e9),
        event.topic_name(), 1, "e1", None, "tester", event.key(), None, b"\x80",
    )  # fmt: skip


def delta(number: int, text: str) -> ModelDelta:
    return ModelDelta(**STEP, model="m", number=number, text=text)


def responded(**fields: Any) -> ModelResponded:
    return ModelResponded(**STEP, model="m", prompt="p", answer={"text": ""}, **fields)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(st.sampled_from("ab \n"), max_size=8), max_size=12))
def test_the_lines_of_an_answer_are_its_text_however_it_comes(pieces: list[str]) -> None:
    tally = LiveState()
    tally.fold(ASKED, 0.0)

    lines = [line for n, text in enumerate(pieces) for line in tally.fold(delta(n, text), 0.0)]
    lines += tally.fold(responded(), 0.0)

    *finished, last = "".join(pieces).split("\n")
    assert lines == [*finished, *([last] if last.strip() else [])]
    assert tally.tail == ""


def test_a_lost_piece_leaves_a_mark_and_one_that_comes_late_nothing() -> None:
    tally = LiveState()
    tally.fold(ASKED, 0.0)

    lines = tally.fold(delta(2, "the end\n"), 0.0)
    tally.fold(responded(), 0.0)

    assert lines == ["…the end"]
    assert tally.fold(delta(3, "more\n"), 0.0) == []


def test_an_answer_for_a_schema_is_not_shown_line_by_line() -> None:
    tally = LiveState()
    typed = ModelInvoke(**STEP, model="m", prompt="p", answer_schema={"type": "object"})
    tally.fold(typed, 0.0)

    assert tally.fold(delta(0, '{\n"cause": '), 0.0) == []
    assert tally.tail == '"cause": '


def test_what_goes_on_is_what_was_asked_and_not_answered() -> None:
    tally = LiveState()
    tally.fold(ExecutionRequest(execution_id="e1", max_cost=2.0), 0.0)
    tally.fold(ASKED, 1.0)
    tally.fold(responded(input_tokens=3, cached_read_tokens=4, output_tokens=5, cost=0.5), 2.0)
    tally.fold(CALL, 3.0)
    tally.fold(KnowledgeRequest(**STEP, texts=("q",)), 3.5)
    looking = [a.text for a in tally.activities.values()][-1]
    tally.fold(KnowledgeRequested(**STEP, turn=0, call_id="", query="q"), 3.6)
    tally.fold(StepExecute(**STEP, action="write_code"), 4.0)

    assert looking == "mend: looking into the knowledge store"
    assert [a.text for a in tally.activities.values()] == ["mend: grep a", "mend: write_code"]
    assert (tally.usage.input, tally.usage.cached_read, tally.usage.output) == (3, 4, 5)
    assert (tally.cost, tally.max_cost) == (0.5, 2.0)
    tally.fold(ExecutionHalted(execution_id="e1", reason="r"), 5.0)
    assert tally.activities == {}


@pytest.mark.parametrize(
    ("event", "lead", "text"),
    [
        (ToolReturned(**STEP, turn=0, call_id="c", tool="grep", result="d", summary="2 lines"),
         "tool", "grep a (1.0 s): 2 lines"),
        (ToolDenied(**STEP, turn=0, call_id="c", tool="grep", reason="not allowed"),
         "denied", "grep a (1.0 s): not allowed"),
        (KnowledgeRequested(**STEP, turn=0, call_id="", query="q", topics=("a", "b", "c", "d")),
         "found", "mend: a, b, c and 1 more"),
        (KnowledgeRequested(**STEP, turn=0, call_id="", query="q"), "found", "mend: nothing"),
        (ModelFailed(**STEP, model="m", error="later", kind="overloaded"),
         "model", "mend: m (2.0 s): overloaded: later"),
        (responded(input_tokens=1_200, output_tokens=7, cost=0.0123, stop="length"),
         "answered", "mend: m (2.0 s), 1,200 in, 7 out, $0.0123, cut off by its limit"),
        (ExecutionIgnored(
            execution_id="e1", answer="step.completed", by="mallory", asked="Doer", step_id="mend"
         ),
         "ignored", "step.completed by mallory, who was not asked: Doer was"),
    ],
)  # fmt: skip
def test_answers_are_told_with_what_was_asked(event: Event, lead: str, text: str) -> None:
    teller = Teller()
    teller.tell(recorded(ASKED, 1, 1.0), ASKED)
    teller.tell(recorded(CALL, 2, 2.0), CALL)

    told = teller.tell(recorded(event, 3, 3.0), event)

    assert told is not None
    assert (told.lead, told.text) == (lead, text)


def test_the_last_words_of_an_answer_come_before_its_end() -> None:
    first, end = recorded(ASKED, 1, 1.0), recorded(responded(), 2, 3.0)
    words, later = recorded(delta(0, "a"), 0, 2.0), recorded(delta(1, "b"), 0, 4.0)

    assert list(in_order([first, end, words, later])) == [first, words, end, later]
    assert isinstance(delta(0, "a"), Ephemeral)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300), st.integers(20, 120))
def test_the_lower_part_fits_the_terminal_and_holds_nothing_that_acts(
    text: str, columns: int
) -> None:
    tally, view = LiveState(), LiveView()
    tally.fold(ASKED, 0.0)
    tally.fold(delta(0, text), 0.0)
    tally.fold(ToolCall(**STEP, turn=0, call_id="c", tool=text, provider="x"), 0.0)
    view.update(tally)
    out = StringIO()
    console = Console(file=out, width=columns, color_system=None, force_terminal=True)

    console.print(view)

    lines = out.getvalue().split("\n")
    assert len(lines) <= 7
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for line in lines for c in line)


def test_a_person_is_asked_until_somebody_answers() -> None:
    person = ModelInvoke(**STEP, model="anna", provider="human", prompt="p")

    assert asked_of_person("e1", [person]) == person
    assert asked_of_person("e1", [person, responded()]) is None
    assert asked_of_person("e1", [person, ASKED]) is None
    assert asked_of_person("e2", [person]) is None


def changed(item: int, status: str, **fields: Any) -> StepItemChanged:
    return StepItemChanged(**STEP, item=item, child=f"c{item}", status=status, **fields)


def test_the_view_counts_the_items_of_a_step() -> None:
    tally, view = LiveState(), LiveView()
    tally.fold(StepFanned(**STEP, items=1_000, at_once=16), 0.0)
    for item in range(1, 13):
        tally.fold(changed(item, "completed"), 0.0)
    tally.fold(changed(13, "failed", reason="no"), 0.0)
    tally.fold(changed(14, "paused", question="may it?"), 0.0)

    (count,) = tally.items.values()
    assert count.activity().text == "mend: 13 of 1,000 items, 1 failed, 1 waiting"
    view.update(tally)
    out = StringIO()
    Console(file=out, width=80).print(view)
    assert "13 of 1,000 items" in out.getvalue()
    tally.fold(changed(14, "running"), 0.0)
    (count,) = tally.items.values()
    assert not count.waiting


def test_many_items_are_told_by_tenths_and_by_what_is_wrong() -> None:
    teller = Teller()
    fanned = StepFanned(**STEP, items=100, at_once=16)
    told = [teller.tell(recorded(fanned, 1), fanned)]
    for item in range(1, 101):
        event = changed(item, "failed" if item == 7 else "completed", reason="no" * (item == 7))
        told.append(teller.tell(recorded(event, item + 1), event))

    said = [each.text for each in told if each]
    assert said[0] == "mend: 100 items, 16 at once"
    assert "mend: item 7: no" in said
    assert len(said) == 12
    assert teller.is_many("e1", "mend")


def test_few_items_are_told_one_by_one() -> None:
    teller = Teller()
    fanned = StepFanned(**STEP, items=3, at_once=3)
    teller.tell(recorded(fanned, 1), fanned)
    done = changed(1, "completed")

    assert not teller.is_many("e1", "mend")
    assert teller.tell(recorded(done, 2), done) is None  # its own execution says it


def test_what_an_item_did_is_told_with_its_number() -> None:
    teller = Teller()
    begun = StepDelegated(**STEP, child="e2", purpose="item", item=2)
    teller.tell(recorded(begun, 1), begun)
    done = StepCompleted(execution_id="e2", step_id="mend", summary="it holds")

    told = teller.tell(recorded(done, 2), done)

    assert told is not None
    assert (told.lead, told.text) == ("done", "mend 2: it holds")


def test_why_a_step_has_no_prompt_is_told_once() -> None:
    teller, reason = Teller(), "no model meets what the step needs: small lacks being local"

    refused = teller.tell(recorded(asked := ContextRefused(**STEP, reason=reason), 1), asked)
    failed = teller.tell(recorded(ended := StepFailed(**STEP, error=reason), 2), ended)
    other = teller.tell(recorded(later := StepFailed(**STEP, attempt=2, error="x"), 3), later)

    assert [each and each.text for each in (refused, failed, other)] == [
        f"mend: {reason}",
        "mend",
        "mend (attempt 2): x",
    ]


def test_why_an_item_failed_is_told_once() -> None:
    teller = Teller()
    begun = StepDelegated(**STEP, child="c2", purpose="item", item=2)
    teller.tell(recorded(begun, 1), begun)
    failed = StepFailed(execution_id="c2", step_id="mend", error="no")
    other, same = (changed(2, "failed", reason=reason) for reason in ("it took too long", "no"))
    halted = changed(2, "halted", reason="no")

    assert teller.tell(recorded(failed, 2), failed) is not None
    assert teller.tell(recorded(other, 3), other) is not None
    assert teller.tell(recorded(same, 4), same) is None
    assert teller.tell(recorded(halted, 5), halted) is None


def test_what_a_child_of_an_item_did_is_told_with_the_item() -> None:
    teller = Teller()
    item = StepDelegated(**STEP, child="e2", purpose="item", item=2)
    child = StepDelegated(execution_id="e2", step_id="mend", child="e3")
    gate = GateEvaluated(execution_id="e3", gate="branch_clean", outcome="passed")
    done = StepCompleted(execution_id="e3", step_id="say", summary="said")

    told = [
        teller.tell(recorded(each, n), each) for n, each in enumerate((item, child, gate, done))
    ]

    assert [each.text for each in told if each] == [
        "branch_clean of mend 2 passed",
        "say of mend 2: said",
    ]


def test_what_a_branch_did_is_told_with_its_name_alone() -> None:
    teller = Teller()
    events = (
        StepFanned(**STEP, items=2, at_once=2, branches=("lint", "types")),
        StepDelegated(**STEP, child="e2", purpose="item", item=1),
        StepDelegated(**STEP, child="e3", purpose="item", item=2),
        StepDelegated(execution_id="e3", step_id="types", child="e4"),
        StepCompleted(execution_id="e2", step_id="lint"),
        StepCompleted(execution_id="e4", step_id="check"),
    )

    told = [teller.tell(recorded(each, n), each) for n, each in enumerate(events)]

    assert [each.text for each in told if each][1:] == ["lint", "check of types"]


def test_a_prompt_that_is_made_again_with_a_change_is_not_told_as_going_on() -> None:
    teller = Teller()
    edit = ContextEdit(execution_id="e1", prompt="p", edits=())
    again, on = ExecutionResumed(execution_id="e1", by="ada"), ExecutionResumed(execution_id="e1")

    told = [
        teller.tell(recorded(edit, 3), edit),
        teller.tell(msgspec.structs.replace(recorded(again, 4), causation=3), again),
        teller.tell(recorded(on, 5), on),
    ]

    assert [each.lead for each in told if each] == ["resumed"]
