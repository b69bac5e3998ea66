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


def passage(topic: str, line: int, text: str, score: float, heading: str = "") -> dict[str, Any]:
    path = f"/home/knowledge/{topic or 'odd name'}.md"
    digest = hashlib.sha256(text.encode()).hexdigest()
    more = {"chunk": line, "scope": "home", "heading": heading, "why": {"words": score}}
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


def kept(
    blobs: MemoryBlobs, passages: list[dict[str, Any]], *notes: str, **more: str | float
) -> str:
    return blobs.put(msgspec.json.encode({"passages": passages, "notes": notes, **more}))


def test_passages_in_one_line_are_items_of_their_own_with_place_and_score() -> None:
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


def test_nothing_found_is_said_in_the_prompt_too() -> None:
    blobs = MemoryBlobs()

    (item,), notes = found_items(asked(kept(blobs, [])), blobs, len)
    compiled = compile_with(kept(blobs, []), blobs)

    assert notes == ("find: nothing was found",)
    assert (item.trust, item.text.count("\n")) == ("trusted", 0)
    assert item.text.encode() in blobs.get(compiled.prompt)
    assert found_items(asked(""), blobs, len) == ((), ())


@pytest.mark.parametrize("strategy", ["pre-assembled", "just-in-time"])
def test_one_line_above_uncertain_passages_says_so(strategy: str) -> None:
    blobs = MemoryBlobs()
    said = "it is uncertain that what was found answers the question: certainty 0.60"
    found = kept(blobs, PASSAGES, caution=said)

    items, notes = found_items(asked(found), blobs, len)
    text = blobs.get(compile_with(found, blobs, strategy=strategy).prompt).decode()

    assert items[0].text == f"I{said[1:]}."
    assert (items[0].trust, len(items)) == ("trusted", 4)
    assert notes == (f"find: {said}",)
    places = [text.index(each) for each in (items[0].text, *(item.text for item in items[1:]))]
    assert places[0] == min(places)
    assert text.count(items[0].text) == 1


def test_passages_that_were_kept_without_a_caution_give_the_same_items_as_ever() -> None:
    blobs = MemoryBlobs()

    items, _ = found_items(asked(kept(blobs, PASSAGES, certainty=0.6)), blobs, len)

    assert [item.kind for item in items] == ["passage"] * 3


def test_a_file_is_one_item_with_each_title_once_and_the_numbers_of_its_lines() -> None:
    blobs = MemoryBlobs()
    passages = [
        passage("talk", 9, "Maria: A bowl.", 0.9, "3 March"),
        passage("ops", 1, "# Deploying\n\nBy region.", 0.8, "Deploying"),
        passage("talk", 3, "Jonas: Hello.", 0.7, "1 March"),
        passage("talk", 10, "Jonas: Lovely!", 0.6, "3 March"),
        passage("talk", 20, "Jonas: Bye.", 0.5, "3 March"),
    ]

    (talk, ops), _ = found_items(asked(kept(blobs, passages)), blobs, len)

    assert talk.text.split("\n") == [
        "[1 March]",
        "Jonas: Hello.",
        "[3 March]",
        "Maria: A bowl.",
        "Jonas: Lovely!",
        "Jonas: Bye.",
    ]
    assert talk.line_numbers == (2, 3, 8, 9, 10, 20)
    assert (talk.id, talk.score) == ("talk:3", 0.9)
    assert (ops.text, ops.first_line, ops.line_numbers) == (passages[1]["text"], 1, ())


def test_tokens_decide_how_many_passages_come() -> None:
    blobs = MemoryBlobs()
    turns = [passage("talk", at, f"Maria: cup {at:03}.", 0.5, "3 March") for at in range(2, 90)]
    found = kept(blobs, turns)

    (all_,), _ = found_items(asked(found), blobs, len)
    (some,), notes = found_items(asked(found, found_tokens=200), blobs, len)

    assert all_.text.count("cup") == 88
    assert 9 <= some.text.count("cup") <= 12
    assert notes[0].endswith("of 88 passages left out: `tokens` allows 200")


def compile_with(found: str, blobs: MemoryBlobs, **fields: Any) -> Any:
    engine = CompilationEngine(blobs, Config())
    engine.announced(
        ComponentAnnounced(
            component="Models", kind="model", name="small", traits=msgspec.to_builtins(SMALL)
        ),
        delivery(),
    )
    return list(engine.compile(asked(found, **fields), delivery()))[-1]


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
