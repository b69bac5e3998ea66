"""`cortex what-if`: only what changed is sent, after a person agreed; the rest is on record."""

import json
from collections.abc import Iterator

import pytest

from cortex.bus.events import ModelSelected
from cortex.runtime.executions.view import History

from ..servers import Answer, ScriptedOpenAI
from .what_if_desk import PROCESS, Desk

pytest.importorskip("openai", reason="needs the extra `openai`")

UNDER = Answer(text=("Under", " the mat."))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    with ScriptedOpenAI(default=UNDER) as server:
        yield Desk(tmp_path_factory.mktemp("desk"), server)


@pytest.fixture
def desk(made: Desk) -> Desk:
    """One home for all tests, since no what-if changes the execution that it is about."""
    made.reset(UNDER)
    return made


def test_without_a_change_nothing_is_sent_and_nothing_happens(desk: Desk) -> None:
    before = desk.stream(desk.execution)

    found = desk.what_if()

    assert desk.server.asked == []
    assert desk.said.read_text() == "Under the mat.\n"
    assert (found["plan"]["prompts"], found["plan"]["calls"], found["differs"]) == ([], [], [])
    assert found["what_if"]["status"] == "completed"
    assert found["what_if"]["outputs"] == found["recorded"]["outputs"]
    assert (found["what_if"]["sent"], found["what_if"]["done"]) == (0, 0)
    assert (found["what_if"]["sent_cost"], found["recorded"]["prompts"]) == (0, 2)
    assert desk.stream(desk.execution) == before
    what_if = found["what_if"]["execution"]
    assert "what-if of" in desk.done(f"trace {what_if}")
    desk.done(f"diff {desk.execution} {what_if}")
    desk.done(f"replay {what_if}")
    desk.done("replay")


def test_a_topic_whose_file_changed_since_is_as_it_was(desk: Desk) -> None:
    (desk.home.knowledge / "house.md").write_text("The house has no door any more.\n")

    found = desk.what_if()

    assert found["plan"]["prompts"] == []
    assert desk.server.asked == []


def test_another_topic_sends_the_prompts_that_hold_it_and_no_others(desk: Desk) -> None:
    (desk.folder / "other.md").write_text("The house has two doors.\n")

    found = desk.what_if("--knowledge house=other.md --yes")

    (planned,) = found["plan"]["prompts"]
    assert (planned["step"], planned["model"]) == ("first", "one")
    assert planned["prompt"] != planned["then"]
    assert planned["most"] > 0
    assert len(desk.server.asked) == 1
    assert "two doors" in desk.server.asked[0].raw.decode()
    assert (found["what_if"]["sent"], found["what_if"]["prompts"]) == (1, 2)
    assert 0 < found["what_if"]["sent_cost"] <= planned["most"]


def test_it_says_of_each_model_whether_it_is_named_or_on_record(desk: Desk) -> None:
    found = desk.what_if("--model first=two --yes --allow --budget 1")

    selected = [
        (event.model, event.because)
        for event in desk.said_by(found["what_if"]["execution"])
        if isinstance(event, ModelSelected)
    ]
    assert selected == [("two", "the what-if names it"), ("one", "it was asked on record")]


def test_nothing_is_sent_before_a_person_agrees(desk: Desk) -> None:
    count = len(desk.stream(desk.execution))
    with History.open(desk.home) as history:
        head = history.log.state().head if history.log else 0

    code, out, err = desk.call("what-if", desk.execution, "--model", "first=two", "--quiet")
    shown = desk.done(f"what-if {desk.execution} --model first=two --plan")

    assert code == 5
    assert "1 prompt to send, at most $" in out
    assert "--yes agrees" in err
    assert "to two in place of one" in shown
    assert desk.server.asked == []
    assert len(desk.stream(desk.execution)) == count
    with History.open(desk.home) as history:
        added = list(history.read(head))
    assert not [r for r in added if r.stream.startswith("execution/")]


def test_an_answer_that_differs_stops_the_later_prompt_and_the_effect(desk: Desk) -> None:
    desk.server.script.default = Answer(text=("In the", " safe."))

    found = desk.what_if("--model first=two --yes", 5)

    what_if = found["what_if"]["execution"]
    assert [each["step"] for each in found["plan"]["prompts"]] == ["first"]
    assert len(desk.server.asked) == 1
    assert found["what_if"]["status"] == "paused"
    asks = desk.done(f"execution show {what_if}")
    assert "A prompt of step second is not on record" in asks
    asks = desk.done(f"execution resume {what_if} --approve", 5)
    assert len(desk.server.asked) == 2
    assert "an effect that is not on record: action shell" in asks
    assert desk.said.read_text() == "Under the mat.\n"
    desk.done(f"execution resume {what_if} --approve")
    assert desk.said.read_text() == "Under the mat.\nIn the safe.\n"
    assert len(desk.server.asked) == 2
    parted = desk.done(f"diff {desk.execution} {what_if}", 1)
    assert "they diverge at event" in parted
    desk.done(f"replay {what_if}")


def test_a_what_if_that_went_on_is_compared_again(desk: Desk) -> None:
    desk.server.script.default = Answer(text=("In the", " safe."))
    command = "what-if {} --compare"

    paused = desk.done(f"what-if {desk.execution} --quiet --model first=two --yes", 5)
    what_if = desk.newest()
    compare = command.format(what_if)
    before = json.loads(desk.done(f"{compare} --json"))
    resumed = desk.done(f"execution resume {what_if} --approve", 5)
    ended = desk.done(f"execution resume {what_if} --approve")
    head = len(desk.stream(what_if))
    after = json.loads(desk.done(f"{compare} --json"))
    shown = desk.done(compare)

    for told in (paused, resumed, ended):
        assert f"cortex {compare}   (" in told
    assert before["what_if"]["status"] == "paused"
    assert (after["plan"], after["changed"]) == (None, ["model two for first"])
    assert after["recorded"]["execution"] == desk.execution
    assert after["what_if"]["outputs"] == {"said": "In the safe."}
    assert (after["what_if"]["sent"], after["what_if"]["effects"]) == (2, 1)
    assert set(after["differs"]) >= {"outputs", "cost"}
    assert f"what if execution {desk.execution}: model two for first changed" in shown
    assert "* output said" in shown
    assert len(desk.stream(what_if)) == head
    assert len(desk.server.asked) == 2
    for line, code, said in (
        (command.format(desk.execution), 1, "is no what-if"),
        (f"{compare} --yes", 2, "--compare goes without --yes"),
        (f"{compare} --persona Brief.", 2, "--compare goes without --persona"),
        (f"{compare} --budget 0", 2, "--compare goes without --budget"),
    ):
        ended_with, out, err = desk.call(*line.split())
        assert (ended_with, out, err.count("\n")) == (code, "", 1), err
        assert said in err


def test_a_person_can_read_the_prompts_before_they_agree(desk: Desk) -> None:
    line = ("what-if", desk.execution, "--persona", "Brief.", "--from", "second")

    _, alone, _ = desk.call(*line, "--plan", "--full")
    code, asked, err = desk.call(*line, "--full")
    full = json.loads(desk.call(*line, "--plan", "--full", "--json")[1])
    brief = json.loads(desk.call(*line, "--plan", "--json")[1])

    for shown in (alone, asked):
        assert "    | === persona ===\n    | Brief.\n" in shown
        assert "    | question: Is that safe?" in shown
    assert (code, "--full shows its prompts" in err) == (5, True)
    (prompt,) = full["plan"]["prompts"]
    assert "Brief." in prompt["text"]
    assert "Under the mat." in prompt["text"]
    assert [each["text"] for each in brief["plan"]["prompts"]] == [""]
    assert desk.server.asked == []


def test_a_denied_effect_does_not_happen(desk: Desk) -> None:
    desk.server.script.default = Answer(text=("In the", " safe."))
    found = desk.what_if("--model first=two --yes --budget 1", 5)
    assert len(desk.server.asked) == 2

    desk.done(f"execution resume {found['what_if']['execution']} --deny", 1)

    assert desk.said.read_text() == "Under the mat.\n"


def test_within_the_budget_later_prompts_are_sent_and_beyond_it_nothing(desk: Desk) -> None:
    desk.server.script.default = Answer(text=("In the", " safe."))
    plan = desk.what_if("--model first=two --plan")["plan"]
    most = plan["prompts"][0]["most"]

    code, _, err = desk.call(
        "what-if", desk.execution, "--model", "first=two", "--yes", "--budget", f"{most / 2}"
    )
    assert (code, desk.server.asked) == (1, [])
    assert "and the budget is" in err
    found = desk.what_if(f"--model first=two --yes --budget {most * 1.001}", 5)
    assert len(desk.server.asked) == 1
    assert found["what_if"]["sent_cost"] <= most
    asks = desk.done(f"execution show {found['what_if']['execution']}")
    assert "which the budget does not cover" in asks
    found = desk.what_if(f"--model first=two --yes --allow --budget {most * 3}")
    assert len(desk.server.asked) == 3
    assert found["what_if"]["effects"] == 1
    assert found["what_if"]["outputs"] == {"said": "In the safe."}
    assert set(found["differs"]) >= {"outputs", "cost"}


def test_another_process_runs_and_its_new_effect_waits(desk: Desk) -> None:
    other = desk.folder / "report.yaml"
    other.write_text(PROCESS.replace("said.txt", "other.txt"))

    found = desk.what_if("--process report.yaml", 5)

    assert desk.server.asked == []
    (call,) = found["plan"]["calls"]
    assert (call["kind"], call["name"], call["step"], call["acts"]) == (
        "action", "shell", "note", True,
    )  # fmt: skip
    assert not (desk.folder / "other.txt").exists()
    desk.done(f"execution resume {found['what_if']['execution']} --approve")
    assert (desk.folder / "other.txt").read_text() == "Under the mat.\n"
    assert desk.server.asked == []


def test_execution_show_says_what_was_changed_in_the_words_of_the_plan(desk: Desk) -> None:
    (desk.folder / "other.md").write_text("The house has two doors.\n")
    (desk.folder / "report.yaml").write_text(PROCESS.replace("version: 1", "version: 2"))

    plain = desk.what_if()["what_if"]["execution"]
    found = desk.what_if(
        "--process report.yaml --knowledge house=other.md --model first=two --window 9000 "
        "--section step=2000 --persona Brief. --yes"
    )

    changed = found["plan"]["changed"]
    assert changed[0].startswith("process report 2 (")
    assert changed[1:] == [
        "topic house from other.md",
        "model two for first",
        "prompts with a window of 9,000 tokens",
        "section step with 2,000 tokens",
        "prompts with persona Brief.",
    ]
    what_if = found["what_if"]["execution"]
    assert json.loads(desk.done(f"execution show {what_if} --json"))["changed"] == changed
    for command in ("execution show", "trace"):
        assert f"changed    {', '.join(changed)}" in desk.done(f"{command} {what_if}")
    assert "changed    nothing" in desk.done(f"execution show {plain}")
    assert "changed" not in desk.done(f"execution show {desk.execution}")


def test_from_a_step_or_an_event_the_earlier_prompts_stay(desk: Desk) -> None:
    answered = [r for r in desk.stream(desk.execution) if r.topic == "model.responded"]

    by_step = desk.what_if("--from second --persona Brief. --plan")["plan"]
    by_event = desk.what_if(f"--from {answered[0].id.hex()} --persona Brief. --plan")["plan"]
    whole = desk.what_if("--persona Brief. --plan")["plan"]

    assert [each["step"] for each in by_step["prompts"]] == ["second"]
    assert [each["step"] for each in by_event["prompts"]] == ["second"]
    assert (by_event["from_step"], by_event["position"]) == ("first", answered[0].position)
    assert [each["step"] for each in whole["prompts"]] == ["first", "second"]


def test_what_cannot_be_is_one_line_and_changes_nothing(desk: Desk) -> None:
    (desk.folder / "gone.yaml").write_text(PROCESS.replace("action: shell", "action: vanish"))
    (desk.folder / "else.yaml").write_text(PROCESS.replace("process: report", "process: other"))
    with History.open(desk.home) as history:
        head = history.log.state().head if history.log else 0
    for line, code, said in (
        ("--process gone.yaml", 1, "vanish"),
        ("--process else.yaml", 1, "name a file with a version of report"),
        ("--process none.yaml", 3, "none.yaml"),
        ("--model nothing", 3, "nothing"),
        ("--model note=two", 3, "asks no model"),
        ("--knowledge house=none.md", 3, "none.md"),
        ("--knowledge street=notes.txt", 3, "street"),
        ("--from nowhere", 3, "step 'nowhere' is not in report: it has `first`"),
        ("--from fist", 3, "did you mean `first`?"),
        ("--model nowhere=two", 3, "nowhere"),
        ("--model first=one --model first=two", 2, "--model: 'first' is given twice"),
        ("--model one --model two", 2, "--model: is given twice"),
        ("--model =two", 2, "--model"),
        ("--knowledge house", 2, "--knowledge: expected TOPIC=FILE"),
        ("--knowledge house=", 2, "--knowledge: expected TOPIC=FILE"),
        ("--knowledge house=.", 2, "--knowledge: '.' is a folder"),
        ("--section =5", 2, "--section"),
        ("--section step=5 --section step=6", 2, "--section: 'step' is given twice"),
        ("--from 999999", 3, "999999"),
        ("--section step=many", 2, "--section"),
        ("--section nothing=5", 3, "nothing"),
        ("--strategy odd", 2, "odd"),
    ):
        plan = () if "gone" in line else ("--plan",)  # which needs no runtime, and so is fast
        ended, out, err = desk.call("what-if", desk.execution, *line.split(), *plan)
        assert (ended, out) == (code, ""), (line, out, err)
        assert said in err, (line, err)
        assert err.count("\n") == 1, err
    with History.open(desk.home) as history:
        added = [r.topic for r in history.read(head) if r.stream.startswith("execution/")]
    assert added == []
    assert desk.server.asked == []
