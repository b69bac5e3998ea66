"""From a model's call to a method and back: whatever a model writes ends as an observation."""

import hashlib
import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortex.actors.tools import ToolError, ToolRefusedError, ToolReply, carry_out, tool
from cortex.bus import CortexError, Draft, Event
from cortex.bus.events import (
    VOCABULARY,
    RuntimeStopped,
    ToolCall,
    ToolDenied,
    ToolFailed,
    ToolReturned,
)
from cortex.runtime.kernel import Component, Delivery, on
from cortex.runtime.log import MemoryBlobs

NOON = Delivery(7, 1_700_000_000_000_000_000, "Weather", "tester", "e1", 1, 1)
RAISED: dict[str, Exception] = {
    "tool": ToolError("no such town"),
    "late": ToolError("the station is slow", "timeout"),
    "refused": ToolRefusedError("towns abroad are not looked at"),
    "cortex": CortexError("one line\nanother"),
    "file": FileNotFoundError(2, "No such file or directory", "/home/ada/.cortex/x"),
    "bug": ZeroDivisionError("division by zero"),
}


class Ask(msgspec.Struct, forbid_unknown_fields=True):
    """What `forecast` takes."""

    town: str
    days: int = 1


class Weather(Component):
    """A tool as somebody may write it."""

    serves = (
        tool("forecast", Ask, provider="weather", effect="read", description="Tell the weather."),
    )

    def __init__(self) -> None:
        self.blobs = MemoryBlobs()
        self.never = threading.Event()

    @on(ToolCall, where={"provider": "weather"})
    def call(self, event: ToolCall, delivery: Delivery) -> Iterator[Event]:
        yield from carry_out(self, event, delivery, self.blobs)

    def forecast(self, asked: Ask, event: ToolCall, delivery: Delivery) -> ToolReply | str:
        if asked.town in RAISED:
            raise RAISED[asked.town]
        if asked.town == "never":
            self.never.wait()
        if asked.town == "told":
            return ToolReply("sunny\n", "fine", (RuntimeStopped(runtime="r"),))
        return asked.town * asked.days


def asked(timeout_s: float = 30.0, name: str = "forecast", **arguments: Any) -> list[Event]:
    event = ToolCall(
        execution_id="e1",
        step_id="s1",
        attempt=2,
        turn=3,
        call_id="c4",
        tool=name,
        provider="weather",
        arguments=arguments,
        timeout_s=timeout_s,
    )
    answers = list(Weather().call(event, NOON))
    for answer in answers:
        if isinstance(answer, ToolReturned | ToolFailed | ToolDenied):
            assert (answer.execution_id, answer.step_id, answer.attempt) == ("e1", "s1", 2)
            assert (answer.turn, answer.call_id, answer.tool) == (3, "c4", name)
        VOCABULARY.check(Draft.of(answer))
    return answers


def test_the_whole_text_is_kept_and_its_beginning_stands_in_the_event() -> None:
    (answer,) = asked(town="rain\n", days=1_000)

    assert isinstance(answer, ToolReturned)
    assert answer.result == hashlib.sha256(b"rain\n" * 1_000).hexdigest()
    assert (answer.bytes, answer.lines, len(answer.excerpt)) == (5_000, 1_000, 2_000)


def test_a_last_line_without_an_end_counts() -> None:
    (answer,) = asked(town="a\nb")

    assert isinstance(answer, ToolReturned)
    assert answer.lines == 2


def test_a_tool_may_record_events_with_its_result() -> None:
    beside, answer = asked(town="told")

    assert beside == RuntimeStopped(runtime="r")
    assert isinstance(answer, ToolReturned)
    assert answer.summary == "fine"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "needs `town`"),
        ({"town": 5}, "`town` is the number 5, expected a string"),
        ({"town": "x", "days": "many"}, "`days` is the text 'many', expected an integer"),
        ({"town": "x", "weeks": 1}, "does not take `weeks`"),
    ],
)
def test_wrong_arguments_are_told_in_one_line_with_what_is_expected(
    arguments: dict[str, Any], said: str
) -> None:
    (answer,) = asked(**arguments)

    assert isinstance(answer, ToolFailed)
    assert answer.kind == "wrong_arguments"
    assert said in answer.error
    assert "it takes town, days (may be left out)" in answer.error


def test_a_number_that_came_as_a_text_is_taken() -> None:
    (answer,) = asked(town="x", days="3")

    assert isinstance(answer, ToolReturned)
    assert answer.excerpt == "xxx"


@pytest.mark.parametrize(
    ("town", "kind", "said"),
    [
        ("tool", "failed", "no such town"),
        ("late", "timeout", "the station is slow"),
        ("cortex", "failed", "one line another"),
        ("file", "failed", "No such file or directory"),
        ("bug", "failed", "ZeroDivisionError: division by zero"),
    ],
)
def test_whatever_a_tool_raises_is_an_observation(town: str, kind: str, said: str) -> None:
    (answer,) = asked(town=town)

    assert isinstance(answer, ToolFailed)
    assert (answer.kind, answer.error) == (kind, said)


def test_what_is_not_allowed_is_denied() -> None:
    (answer,) = asked(town="refused")

    assert isinstance(answer, ToolDenied)
    assert answer.reason == "towns abroad are not looked at"


def test_a_tool_that_is_not_there_is_missing() -> None:
    (answer,) = asked(name="__init__")

    assert isinstance(answer, ToolFailed)
    assert answer.kind == "missing"


def test_a_tool_that_never_returns_ends_as_a_timeout() -> None:
    (answer,) = asked(timeout_s=-2.4, town="never")  # a tenth of a second, with what is added

    assert isinstance(answer, ToolFailed)
    assert answer.kind == "timeout"


@given(st.text(), st.integers(0, 3))
def test_any_text_gets_into_the_event_and_into_the_blob(town: str, days: int) -> None:
    if town in {*RAISED, "never", "told"}:
        return

    (answer,) = asked(town=town, days=days)

    assert isinstance(answer, ToolReturned)


def test_half_a_character_gets_into_the_event_as_a_mark() -> None:
    (answer,) = asked(town="\ud800")

    assert isinstance(answer, ToolReturned)
    assert answer.excerpt == "?"
