"""What `find:` brought becomes material of the prompt: named, scored, bounded, accounted for."""

import hashlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.actors.engines import CompilationEngine, found_items
from cortex.bus.events import (
    ComponentAnnounced,
    ContextCompile,
    ContextCompiled,
    ContextRefused,
)
from cortex.runtime.context import Manifest
from cortex.runtime.kernel import Config
from cortex.runtime.log import MemoryBlobs
from cortex.runtime.models import ModelDescription

from .actors_world import delivery

SMALL = ModelDescription(name="small", window=100_000, local=True)


def passage(topic: str, line: int, text: str, score: float) -> dict[str, Any]:
    path = f"/home/knowledge/{topic or 'odd name'}.md"
    digest = hashlib.sha256(text.encode()).hexdigest()
    more = {"chunk": line, "scope": "home", "heading": "", "why": {"words": score}}
    place = {"topic": topic, "path": path, "first_line": line}
    return {**place, **more, "digest": digest, "text": text, "score": score}


PASSAGES = [
    passage("team.rota", 3, "Ada is on call.", 1.1),
    passage("team.rota", 3, "Ada is on call, too.", 0.9),
    passage("", 12, "Tea is served at four.", 0.4),
]


def asked(found: str, **fields: Any) -> ContextCompile:
    return ContextCompile(
        execution_id="e1",
        step_id="s1",
        process="p",
        description="Say who is on call",
        found=found,
        **fields,
    )


def kept(blobs: MemoryBlobs, passages: list[dict[str, Any]], *notes: str) -> str:
    return blobs.put(msgspec.json.encode({"passages": passages, "notes": notes}))


def test_each_passage_is_an_item_with_its_place_and_its_score() -> None:
    blobs = MemoryBlobs()

    items, notes = found_items(asked(kept(blobs, PASSAGES, "no vectors yet")), blobs, len)

    assert [(item.id, item.score) for item in items] == [
        ("team.rota:3", 1.1),
        ("team.rota:3#2", 0.9),
        ("odd name.md:12", 0.4),
    ]
    assert {(item.section, item.kind, item.trust) for item in items} == {
        ("knowledge", "passage", "untrusted")
    }
    assert (items[0].digest, items[0].source) == (PASSAGES[0]["digest"], PASSAGES[0]["path"])
    assert notes == ("no vectors yet",)


def test_a_passage_of_a_declared_topic_is_not_shown_twice() -> None:
    blobs = MemoryBlobs()
    declared = {"topic": "team.rota", "path": PASSAGES[0]["path"], "digest": "d"}

    items, notes = found_items(asked(kept(blobs, PASSAGES), knowledge=(declared,)), blobs, len)

    assert [item.id for item in items] == ["odd name.md:12"]
    assert notes == ("find: 2 passages stand in declared topics already",)


def test_no_more_tokens_than_are_allowed_and_the_rest_is_said() -> None:
    blobs = MemoryBlobs()

    items, notes = found_items(asked(kept(blobs, PASSAGES), found_tokens=20), blobs, len)

    assert [item.id for item in items] == ["team.rota:3"]
    assert notes == ("find: 2 of 3 passages left out: `tokens` allows 20",)


def test_nothing_found_is_said() -> None:
    blobs = MemoryBlobs()

    assert found_items(asked(kept(blobs, [])), blobs, len) == ((), ("find: nothing was found",))
    assert found_items(asked(""), blobs, len) == ((), ())


def compile_with(found: str, blobs: MemoryBlobs) -> Any:
    engine = CompilationEngine(blobs, Config())
    engine.announced(
        ComponentAnnounced(
            component="Models", kind="model", name="small", traits=msgspec.to_builtins(SMALL)
        ),
        delivery(),
    )
    return list(engine.compile(asked(found), delivery()))[-1]


def test_the_manifest_has_them_with_their_score_and_source(tmp_path: Path) -> None:
    blobs = MemoryBlobs()

    compiled = compile_with(kept(blobs, PASSAGES), blobs)

    assert isinstance(compiled, ContextCompiled)
    manifest = msgspec.json.decode(blobs.get(compiled.manifest), type=Manifest)
    entry = next(entry for entry in manifest.items if entry.id == "team.rota:3")
    assert (entry.state, entry.section, entry.kind) == ("in", "knowledge", "passage")
    assert (entry.source, entry.digest) == (PASSAGES[0]["path"], PASSAGES[0]["digest"])
    assert entry.score > 1.1
    assert b"Tea is served at four." in blobs.get(compiled.prompt)


@pytest.mark.parametrize("blob", [b"no json", b""])
def test_passages_that_cannot_be_read_refuse_the_prompt(blob: bytes) -> None:
    blobs = MemoryBlobs()
    digest = blobs.put(blob) if blob else hashlib.sha256(b"gone").hexdigest()

    refused = compile_with(digest, blobs)

    assert isinstance(refused, ContextRefused)
    assert "what `find:` brought cannot be read" in refused.reason
