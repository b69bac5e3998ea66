"""The guide to tools is true: its example runs, and it names every tool there is."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.actors.tools import CommandTools, FileTools, KnowledgeTools
from cortex.runtime.functions import StepError
from cortex.runtime.log import MemoryBlobs
from cortex.runtime.testing import call_tool

GUIDE = Path(__file__).parents[2] / "docs" / "tools.md"


@pytest.fixture(scope="module")
def guide() -> str:
    if not GUIDE.is_file():
        pytest.skip("docs/ is not beside these tests")
    return GUIDE.read_text("utf-8")


def test_the_tool_of_the_guide_works(guide: str) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", guide, re.DOTALL))
    names: dict[str, Any] = {"__name__": "weather"}
    exec(compile(code, str(GUIDE), "exec"), names)  # the guide's own example
    forecast = names["forecast"]

    assert call_tool(forecast, {"town": "Ankh", "days": 2}) == "Rain.\nRain.\n"
    with pytest.raises(StepError, match="there is no station in Oz"):
        call_tool(forecast, {"town": "Oz"})


def test_the_tools_of_the_guides_class_share_what_it_keeps(guide: str) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", guide, re.DOTALL))
    names: dict[str, Any] = {"__name__": "weather"}
    exec(compile(code, str(GUIDE), "exec"), names)  # the guide's own example
    library = names["Library"](MemoryBlobs())

    lent = call_tool(library, {"title": "Emma"}, name="lend_book")

    assert lent == "Emma is yours.\n"
    assert call_tool(library, name="list_lent") == '["Emma"]'
    with pytest.raises(StepError, match="Emma is lent"):
        call_tool(library, {"title": "Emma"}, name="lend_book")


def test_the_guide_names_every_tool_with_what_it_takes(guide: str) -> None:
    for component in (FileTools, CommandTools, KnowledgeTools):
        for serves in component.serves:
            assert serves.parameters is not None
            fields = ", ".join(f.name for f in msgspec.structs.fields(serves.parameters))
            assert f"`{serves.name}({fields})`" in guide
