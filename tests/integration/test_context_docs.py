"""docs/context.md says what is sent: its example goes to a server on loopback, value by value."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from cortex.actors.providers import AnthropicProvider, OpenAIProvider

from ..servers import Answer, Asking, ScriptedAnthropic, ScriptedOpenAI, config_for

GUIDE = Path(__file__).parents[2] / "docs" / "context.md"
PROVIDERS: dict[str, Any] = {
    "openai": (ScriptedOpenAI, OpenAIProvider),
    "anthropic": (ScriptedAnthropic, AnthropicProvider),
}


def section() -> str:
    if not GUIDE.is_file():
        pytest.skip("docs/ is not beside these tests")
    return GUIDE.read_text().split("### What is sent\n")[1].split("\n## ")[0]


def compiled() -> Any:
    (block,) = re.findall(r"^```python\n(.*?)^```$", section(), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)  # the example as it stands
    return names["prompt"]


@pytest.mark.parametrize("name", sorted(PROVIDERS))
def test_the_requests_in_the_guide_are_those_that_are_sent(name: str) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"the extra {name} is not installed")
    written = re.findall(r"^```json\n(.*?)^```$", section(), re.MULTILINE | re.DOTALL)
    kind, provider = PROVIDERS[name]
    with kind(Answer(text=("At four.",))) as server:
        asking = Asking(provider, config_for(name, server.base_url, model="MODEL", window=200_000))
        asking.ask(asking.invoke(compiled().encoded.decode(), max_tokens=1_500))
        (sent,) = server.asked

    # The guide breaks lines, and SDKs order the outermost keys; no byte of any value differs.
    expected = json.loads(written[sorted(PROVIDERS, reverse=True).index(name)])
    received = json.loads(sent.raw)
    assert received.keys() == expected.keys()
    for key, value in expected.items():
        assert json.dumps(received[key]) == json.dumps(value)
