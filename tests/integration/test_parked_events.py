"""What a component gave up: listed, handled once more when a person says so, or dropped."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cortex.bus.events import ComponentFailed, ComponentRetry, TriggerReceived
from cortex.runtime.cli import main
from cortex.runtime.kernel import Home, Runtime

PICKY = """
from collections.abc import Iterator
from pathlib import Path
from cortex.bus.events import ExecutionRated, TriggerReceived, TriggerUnmatched
from cortex.runtime.kernel import Component, Delivery, Output, on


class Picky(Component):
    max_attempts = 1
    start = "beginning"

    @on(TriggerReceived)
    def hear(self, event: TriggerReceived, delivery: Delivery) -> Iterator[Output]:
        if event.goal and not Path(event.goal).exists():
            raise FileNotFoundError(f"{event.goal} is not there")
        yield ExecutionRated(execution_id=event.trigger_id, verdict="good")


class Working(Picky):
    workers = 1
"""
WATCHFUL = """
from collections.abc import Iterator
from cortex.bus.events import ComponentRetry, ExecutionRated, TriggerReceived
from cortex.runtime.kernel import Component, Delivery, Output, on


class Watchful(Component):
    @on(ComponentRetry)
    def hear(self, event: ComponentRetry, delivery: Delivery) -> Iterator[Output]:
        yield ExecutionRated(execution_id=event.component, verdict="good")

    @on(TriggerReceived)
    def see(self, event: TriggerReceived, delivery: Delivery) -> Iterator[Output]:
        yield ExecutionRated(execution_id="another", verdict="good")
"""
Say = Callable[..., tuple[int, Any]]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home with a component of its own."""
    home = Home.create(tmp_path / ".cortex")
    (home.plugins / "picky.py").write_text(PICKY)
    (home.path / "config.toml").write_text('[[components]]\nuse = "picky:Picky"\n')
    return home


@pytest.fixture
def say(home: Home, capsys: pytest.CaptureFixture[str]) -> Say:
    """Runs a command on the home: its code and document."""

    def said(*words: str) -> tuple[int, Any]:
        capsys.readouterr()
        code = main([*words, "--home", str(home.path), "--json"])
        out = capsys.readouterr().out
        return code, json.loads(out) if out else None

    return said


def happen(home: Home, trigger_id: str, goal: str) -> int:
    """Let something happen, and wait until Picky gave it up; its position."""
    with Runtime(home) as runtime:
        client = runtime.client("tests")
        feed = client.follow(("component.failed", None))
        event = TriggerReceived(trigger_id=trigger_id, fields={"a": 1}, goal=goal, waits=False)
        position = client.publish(event)
        while not any(record.causation == position for record in feed.next(1.0)):
            pass
        feed.close()
    return position


def rated(home: Home) -> list[str]:
    """The executions that Picky rated, in order."""
    with Runtime(home, components=[]) as runtime:
        client = runtime.client("tests")
        return [r.stream.removeprefix("execution/") for r in client.read()
                if r.topic == "execution.rated"]  # fmt: skip


def test_a_parked_event_is_listed_and_handled_when_its_cause_is_gone(
    home: Home, say: Say, tmp_path: Path
) -> None:
    position = happen(home, "one", str(tmp_path / "there"))

    _, listed = say("events", "parked")
    failed, still = say("events", "retry", str(position))
    (tmp_path / "there").write_text("x")
    handled, left = say("events", "retry", str(position))
    _, after = say("events", "parked")
    unknown, refused = say("events", "retry", str(position))

    (row,) = listed
    assert (row["position"], row["topic"]) == (position, "trigger.received")
    assert (row["component"], row["attempts"]) == ("Picky", 1)
    assert "is not there" in row["reason"]
    assert (failed, still[0]["position"]) == (1, position)
    assert (handled, left, after) == (0, [], [])
    assert rated(home) == ["one"]
    assert (unknown, refused["error"]["kind"]) == (3, "NotFoundError")


def test_a_dropped_event_is_not_parked_any_more_and_was_never_handled(
    home: Home, say: Say, tmp_path: Path
) -> None:
    position = happen(home, "one", str(tmp_path / "there"))
    (tmp_path / "there").write_text("x")

    code, _ = say("events", "drop", str(position), "--note", "too old")

    assert (code, say("events", "parked")[1]) == (0, [])
    assert rated(home) == []


def test_a_retry_comes_once_however_often_the_runtime_starts(
    home: Home, say: Say, tmp_path: Path
) -> None:
    position = happen(home, "one", str(tmp_path / "there"))
    (tmp_path / "there").write_text("x")
    with Runtime(home, components=[]) as runtime:  # nobody is there to hear it
        runtime.client("tests").publish(ComponentRetry(component="Picky", position=position))

    for _ in range(3):
        assert say("execution", "list")[0] == 0
        with Runtime(home) as runtime:
            pass

    assert rated(home) == ["one"]


def test_a_retry_of_what_is_no_earlier_event_does_nothing(home: Home) -> None:
    with Runtime(home) as runtime:
        client = runtime.client("tests")
        head = client.head
        at = client.publish(
            ComponentRetry(component="Picky", position=head + 1),
            ComponentRetry(component="Picky", position=head + 1_000_000),
            ComponentRetry(component="Picky", position=-1),
        )
        while any(s.name == "Picky" and s.cursor < at for s in runtime.log.state().standings):
            pass

        failed = [r for r in client.read() if r.topic == ComponentFailed.topic_name()]

    assert failed == []


@pytest.mark.parametrize("word", ["nosuch", "0", "-1", "1.5"])
def test_what_names_no_event_is_refused_with_where_the_numbers_are(
    word: str, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["events", "retry", "--home", str(home.path), "--", word]) == 2

    said = capsys.readouterr().err
    assert f"'{word}' names no event" in said
    assert "`cortex events parked`" in said


def test_one_that_takes_work_is_not_asked_again_and_that_says_why(
    home: Home, say: Say, tmp_path: Path
) -> None:
    (home.path / "config.toml").write_text('[[components]]\nuse = "picky:Working"\n')
    position = happen(home, "one", str(tmp_path / "there"))

    code, refused = say("events", "retry", str(position))

    assert code == 1
    assert "have what caused it happen again: Working takes work" in refused["error"]["message"]
    assert f"cortex events drop {position}" in refused["error"]["message"]


def test_one_that_is_gone_is_named_as_such(home: Home, say: Say, tmp_path: Path) -> None:
    position = happen(home, "one", str(tmp_path / "there"))
    with Runtime(home) as runtime:
        runtime.remove("Picky")
    (home.path / "config.toml").write_text("")

    code, refused = say("events", "retry", str(position))

    assert code == 1
    assert "start what hosts Picky, or cortex events drop" in refused["error"]["message"]


def test_one_that_watches_what_others_are_asked_handles_the_request_and_not_the_event(
    home: Home, say: Say, tmp_path: Path
) -> None:
    position = happen(home, "one", str(tmp_path / "there"))
    (tmp_path / "there").write_text("x")
    (home.plugins / "watchful.py").write_text(WATCHFUL)
    with (home.path / "config.toml").open("a") as file:
        file.write('[[components]]\nuse = "watchful:Watchful"\n')

    with Runtime(home) as runtime:
        client = runtime.client("tests")
        at = client.publish(ComponentRetry(component="Picky", position=position))
        while any(s.name == "Watchful" and s.cursor < at for s in runtime.log.state().standings):
            pass

    assert sorted(rated(home)) == ["Picky", "one"]


def test_of_many_and_long_remedies_the_first_are_shown_and_where_the_rest_is(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    with Runtime(home) as runtime:
        client = runtime.client("cortex")
        event = TriggerReceived(trigger_id="t", fields={"a": 1}, waits=False)
        at = client.publish(event)
        names = ["long" * 60, *(f"gone{number}" for number in range(40))]
        client.publish(
            *(
                ComponentFailed(
                    component=name, position=at, about=event.topic_name(), attempts=1, reason="no"
                )
                for name in names
            )
        )

    assert main(["events", "parked", "--home", str(home.path)]) == 0
    remedies = [line for line in capsys.readouterr().out.splitlines() if "\t" not in line]
    assert main(["events", "parked", "--json", "--home", str(home.path)]) == 0
    whole = [each["remedy"] for each in json.loads(capsys.readouterr().out)]

    assert len(remedies) == 20
    assert remedies[-1] == "... 22 more lines: cortex events parked --json"
    assert max(map(len, remedies)) < 250
    assert len(whole) == 41
    assert any(len(each) > 260 for each in whole)
