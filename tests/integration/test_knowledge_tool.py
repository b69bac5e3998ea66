"""What the tool find_knowledge indexes and finds is recorded, and can be read again."""

import hashlib
from pathlib import Path

import msgspec

from cortex.actors.tools import KnowledgeTools
from cortex.bus import Event
from cortex.bus.events import (
    KnowledgeIndexed,
    KnowledgeRemoved,
    KnowledgeRequested,
    ToolCall,
    ToolReturned,
)
from cortex.runtime.kernel import Delivery, Home
from cortex.runtime.log import MemoryBlobs
from cortex.runtime.retrieval import SearchResult


def ask(tools: KnowledgeTools, question: str) -> list[Event]:
    event = ToolCall(
        execution_id="e1",
        step_id="s1",
        turn=1,
        call_id="c1",
        tool="find_knowledge",
        provider="knowledge",
        arguments={"query": question},
        workspace="",
        timeout_s=120.0,
    )
    given = Delivery(1, 1_700_000_000_000_000_001, "Tested", "tester", "e1", 1, 1)
    return [answer for answer in tools.call(event, given) if isinstance(answer, Event)]


def test_a_question_records_what_was_indexed_and_what_was_found(tmp_path: Path) -> None:
    home = Home.create(tmp_path / ".cortex")
    page = home.knowledge / "parking.md"
    page.write_text("# Parking\n\nThe garage closes at nine.\n")
    blobs = MemoryBlobs()
    tools = KnowledgeTools(home, blobs)
    assert not (home.path / "vectors").exists(), "nothing is made before the first question"

    indexed, requested, returned = ask(tools, "when does the garage close?")

    assert isinstance(indexed, KnowledgeIndexed)
    mine = next(file for file in indexed.files if file["topic"] == "parking")
    text = blobs.get(indexed.blob)[mine["offset"] : mine["offset"] + mine["bytes"]]
    assert hashlib.sha256(text).hexdigest() == mine["digest"]
    assert isinstance(requested, KnowledgeRequested)
    assert requested.topics[0] == "parking"
    found = msgspec.json.decode(blobs.get(requested.found), type=SearchResult)
    assert "nine" in found.passages[0].text
    assert isinstance(returned, ToolReturned)
    assert returned.summary == "1 passage for when does the garage close?"
    assert returned.excerpt.startswith("## parking, lines 1-3\n# Parking\n")

    page.unlink()
    removed, *_ = ask(tools, "when does the garage close?")

    assert removed == KnowledgeRemoved(paths=(str(page),))
    tools.on_stop()
