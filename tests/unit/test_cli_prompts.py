"""What `cortex prompt diff` and `why` say of two prompts."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.bus.events import ContextCompiled
from cortex.runtime.cli.prompting import (
    Compiled,
    PromptDocument,
    diff_of,
    document_of,
    row_of,
    stats_of,
    why_of,
)
from cortex.runtime.cli.reading import History
from cortex.runtime.context import ContextCompiler, Item, Prompt, Request, Step
from cortex.runtime.kernel import Home
from cortex.runtime.log import BlobError, MemoryBlobs

COMPILER = ContextCompiler()


def prompt(*items: Item, **fields: Any) -> Prompt:
    step = Step(process="p", id="say", description="What did the parser reject?")
    return COMPILER.compile(Request(step=step, window=200_000, items=items, **fields))


def compiled(made: Prompt, manifest: str = "") -> Compiled:
    event = ContextCompiled(
        execution_id="x1",
        step_id="say",
        prompt=made.digest,
        manifest=manifest,
        model="m",
        tokens=made.tokens,
        sections=made.sections,
        window=made.manifest.effective_window,
        headroom=made.manifest.headroom,
    )
    return Compiled(1, 0, event)


def document(made: Prompt) -> PromptDocument:
    return PromptDocument(row_of(compiled(made)), made.text, made.manifest, ())


def note(name: str, text: str, **fields: Any) -> Item:
    return Item(id=name, section="knowledge", kind="note", text=text, **fields)


def test_equal_prompts_differ_in_nothing() -> None:
    same = document(prompt(note("a", "A comma.")))

    found = diff_of(same, same)

    assert (found.same, found.tokens, found.items, found.sections) == (True, 0, [], {})
    assert found.shared == len(same.text)


def test_a_diff_names_each_item_that_changed_and_how() -> None:
    before = document(
        prompt(note("a", "A comma."), note("gone", "Bread."), note("late", "x", produced_by="s"))
    )
    after = document(
        prompt(
            note("a", "A comma and a colon."),
            note("new", "Cheese."),
            note("late", "x", produced_by="s"),
            carry=("s",),
        )
    )

    found = diff_of(before, after)

    assert [(item.id, item.change) for item in found.items] == [
        ("a", "other text"),
        ("gone", "removed"),
        ("late", "added"),
        ("new", "added"),
    ]
    late = next(item for item in found.items if item.id == "late")
    assert late.before == "out: output of step s, which is not carried"
    assert found.tokens == sum(found.sections.values())
    assert before.text[: found.shared] == after.text[: found.shared]
    assert before.text[found.shared] != after.text[found.shared]


def test_how_full_the_window_is_counts_what_is_kept_for_the_answer() -> None:
    made = prompt(note("a", "A comma."))

    row = document(made).about

    taken = made.tokens + made.manifest.headroom
    assert row.utilisation == round(taken / made.manifest.effective_window, 4)


def test_a_manifest_that_is_none_is_an_error_where_it_is_named_and_left_out_of_many() -> None:
    made = prompt(note("a", "A comma."))
    blobs = MemoryBlobs()
    blobs.put(made.text.encode())
    whole = compiled(made, blobs.put(msgspec.json.encode(made.manifest)))
    damaged = [
        *(compiled(made, blobs.put(data)) for data in (b"{}", b"no JSON", b"\xff", b"[" * 9_000)),
        compiled(made, "sha256:" + "0" * 64),
        compiled(made, ""),
    ]
    history = History(Home(Path()), None, blobs)
    unread: list[str] = []

    rows = list(why_of(history, [*damaged, whole], "a", unread))
    found = stats_of(history, [*damaged, whole])

    assert [row.because.partition(":")[0] for row in rows] == ["in"]
    assert (found.prompts, found.unread) == (1, unread)
    assert len(unread) == len(damaged)
    assert "is left out: " in unread[0]
    assert "it is no manifest of a prompt" in unread[0]
    for each in damaged:
        with pytest.raises(BlobError):
            document_of(history, each)
        with pytest.raises(BlobError):
            list(why_of(history, [each], "a"))
