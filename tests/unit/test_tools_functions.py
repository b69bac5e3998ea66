"""A decorated function is a tool: what it gives is a text, what goes wrong is told to the model."""

import asyncio
from pathlib import Path as PlainPath
from typing import Annotated

import pytest
from msgspec import Meta

from cortex.actors.tools import ToolReply, tool
from cortex.runtime.functions import EffectUnknownError, Path, Step, StepError
from cortex.runtime.kernel import ComponentInvalidError, component_of
from cortex.runtime.log import Blobs
from cortex.runtime.testing import Stated, call_tool


@tool("forecast", effect="read", pack="weather")
def forecast(
    town: Annotated[str, Meta(description="its name in English")], step: Step, days: int = 1
) -> str:
    """Tell the weather
    of the next days.

    This is for people.
    """
    if town != "Ankh":
        raise StepError(f"there is no station in {town}", kind="timeout")
    step.summary = "rain"
    return "Rain.\n" * days


@tool("list_words", effect="read")
def list_words(path: Path, *, blobs: Blobs) -> list[str]:
    """List the words of a file."""
    return [*path.read_text().split(), type(blobs).__name__]


@tool("send", effect="once", component="Sender", workers=2)
async def send(to: str) -> None:
    """Send it."""
    if to == "lost":
        raise EffectUnknownError("nobody heard of it")
    if to == "bug":
        raise ZeroDivisionError
    if to == "late":
        await asyncio.Event().wait()


@tool("whole")
def whole() -> ToolReply:
    """Give all of it."""
    return ToolReply("all\n", "all of it")


def test_a_function_is_called_with_what_the_model_wrote() -> None:
    assert call_tool(forecast, {"town": "Ankh", "days": "2"}) == "Rain.\nRain.\n"
    assert call_tool(whole) == "all\n"
    assert call_tool(send, {"to": "Ada"}) == ""


def test_what_is_no_text_becomes_one_as_json(tmp_path: PlainPath) -> None:
    (tmp_path / "a.txt").write_text("one two")

    text = call_tool(list_words, {"path": "a.txt"}, Stated(workspace=tmp_path))

    assert text == '["one","two","MemoryBlobs"]'


def test_what_the_model_is_told_says_what_went_wrong(tmp_path: PlainPath) -> None:
    def told(function: object, **arguments: str) -> tuple[str, str]:
        with pytest.raises(StepError) as raised:
            call_tool(function, arguments, Stated(workspace=tmp_path))  # type: ignore[arg-type]
        return raised.value.kind, str(raised.value)

    assert told(forecast, town="Oz") == ("timeout", "there is no station in Oz")
    assert told(forecast, city="Oz") == (
        "wrong_arguments",
        "forecast: does not take `city`; it takes town, days (may be left out)",
    )
    assert told(list_words, path="gone") == ("failed", "No such file or directory")
    assert told(list_words, path="../x") == (
        "denied",
        "'../x' leads out of the workspace: name a path in it",
    )
    assert told(send, to="lost") == ("failed", "nobody heard of it")


def test_an_error_of_what_may_happen_once_is_no_answer() -> None:
    with pytest.raises(ZeroDivisionError):
        call_tool(send, {"to": "bug"})


def test_an_async_tool_is_cancelled_when_its_time_is_over() -> None:
    with pytest.raises(EffectUnknownError, match=r"it returned nothing within 0\.01 s"):
        call_tool(send, {"to": "late"}, Stated(timeout_s=0.01))


def test_what_a_tool_announces_comes_from_its_function() -> None:
    found, sender = component_of(forecast), component_of(send)
    assert found is not None
    assert sender is not None
    (serves,) = found.serves

    assert serves.traits == {
        "provider": "forecast",
        "pack": "weather",
        "description": "Tell the weather of the next days.",
    }
    assert serves.parameters is not None
    assert serves.parameters.__struct_fields__ == ("town", "days")
    assert (found.component_name(), sender.component_name(), sender.workers) == (
        "Forecast",
        "Sender",
        2,
    )


def test_a_tool_without_a_docstring_is_refused() -> None:
    def silent() -> str:
        return ""

    with pytest.raises(ComponentInvalidError, match="without a docstring: say what it does"):
        tool("silent")(silent)
