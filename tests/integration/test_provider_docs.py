"""The guide for authors of providers says what is so: its provider runs as it stands."""

import asyncio
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from cortex.bus import Event
from cortex.bus.events import ModelDelta, ModelFailed, ModelInvoke, ModelResponded
from cortex.runtime.kernel import Config, Delivery, component_of, construct
from cortex.runtime.log import MemoryBlobs

GUIDE = Path(__file__).parents[2] / "docs" / "providers.md"
CONFIG = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_guides_provider_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not GUIDE.is_file():
        pytest.skip("docs/ is not beside these tests")
    (block,) = BLOCK.findall(GUIDE.read_text())
    (tmp_path / "guides_echo.py").write_text(block)
    monkeypatch.syspath_prepend(str(tmp_path))
    echo = component_of(importlib.import_module("guides_echo").echo)
    assert echo is not None
    config = Config.parse(CONFIG.findall(GUIDE.read_text())[0])
    blobs = MemoryBlobs()
    prompt = blobs.put(b"=== persona ===\nBe kind.\n=== step ===\nSay it\n")

    async def said(model: str) -> list[Event]:
        event = ModelInvoke(
            execution_id="e", step_id="s", model=model, provider="echo", prompt=prompt
        )
        delivery = Delivery(position=1, time_ns=1, component="Echo")
        made: Any = construct(echo, {"blobs": blobs, "config": config, "home": None})
        return [output async for output in made.invoke(event, delivery)]

    *deltas, answer = asyncio.run(said("echo"))
    (refused,) = asyncio.run(said("gone"))

    assert [serves.name for serves in echo.announces(config)] == ["echo"]
    assert all(isinstance(each, ModelDelta) for each in deltas)
    assert isinstance(answer, ModelResponded)
    assert answer.answer == {"text": "=== step === Say it "}
    assert isinstance(refused, ModelFailed)
    assert refused.kind == "missing"
