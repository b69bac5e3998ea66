"""What a prompt was compiled from is kept, each text once, and compiles to the same bytes."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.context import (
    ContextCompiler,
    Inputs,
    Item,
    PromptStep,
    Request,
    Turn,
    TurnPart,
    View,
    counter_for,
    keep_inputs,
    read_inputs,
)
from cortex.runtime.log import BlobMissingError, MemoryBlobs

texts = st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from(("A comma. " * 80, ""))


@st.composite
def inputs(draw: st.DrawFn) -> Inputs:
    def items(prefix: str) -> tuple[Item, ...]:
        made = draw(st.lists(texts, max_size=3))
        return tuple(
            Item(id=f"{prefix}{n}", section="knowledge", kind="note", text=text)
            for n, text in enumerate(made)
        )

    turns = tuple(
        Turn(number=n, said=(TurnPart(id=f"turn:{n}", kind="answer", text=text),))
        for n, text in enumerate(draw(st.lists(texts, max_size=3)))
    )
    step = PromptStep(process="p", id="say", description="What did the parser reject?")
    return Inputs(
        encoding=draw(st.sampled_from(("o200k_base", "cl100k_base", "nobody-knows"))),
        request=Request(step=step, window=200_000, items=items("i"), turns=turns),
        view=View(position=7, items=items("v")),
        program="1",
    )


@settings(max_examples=50, deadline=None)
@given(made=inputs())
def test_what_was_kept_is_read_back_and_compiles_to_the_same_bytes(made: Inputs) -> None:
    blobs = MemoryBlobs()

    digest = keep_inputs(made, blobs.put)
    read = read_inputs(blobs.get(digest), blobs.get)

    assert read == made
    one, other = (
        ContextCompiler(counter_for(each.encoding)).compile(each.request, each.view)
        for each in (made, read)
    )
    assert (one.text, one.manifest) == (other.text, other.manifest)


def test_a_later_turn_keeps_what_is_new_in_it_and_no_text_twice() -> None:
    kept: list[bytes] = []
    blobs = MemoryBlobs()

    def keep(data: bytes) -> str:
        kept.append(data)
        return blobs.put(data)

    def after(turns: int) -> Inputs:
        said = [
            TurnPart(id=f"turn:{n}/c", kind="result", text=f"line {n}\n" * 500) for n in range(9)
        ]
        step = PromptStep(process="p", id="say", description="Say.")
        told = tuple(Turn(number=n, said=(said[n],)) for n in range(turns))
        return Inputs(encoding="o200k_base", request=Request(step=step, window=9_000, turns=told))

    keep_inputs(after(8), keep)
    before = set(kept)
    keep_inputs(after(9), keep)

    new = [data for data in kept if data not in before]
    assert len(new) == 2  # the record, and the one text that came
    assert len(new[-1]) < 2_500


def test_a_text_that_is_gone_is_the_stores_own_error_and_no_record_is_none() -> None:
    item = Item(id="i", section="knowledge", kind="note", text="A comma. " * 80)
    step = PromptStep(process="p", id="say", description="Say.")
    blobs = MemoryBlobs()
    made = Inputs(encoding="o200k_base", request=Request(step=step, window=9_000, items=(item,)))
    record = blobs.get(keep_inputs(made, blobs.put))

    with pytest.raises(BlobMissingError):
        read_inputs(record, MemoryBlobs().get)
    with pytest.raises(msgspec.DecodeError):
        read_inputs(b"[]", blobs.get)
