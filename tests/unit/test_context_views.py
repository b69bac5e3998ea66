"""What is kept of a long history makes compiles faster, and changes no byte of any prompt."""

import importlib
import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.context import (
    ContextCompiler,
    Item,
    ItemRepeatedError,
    Link,
    Prompt,
    PromptStep,
    Request,
    TokenCounter,
    View,
)
from cortex.runtime.retrieval import Occurrences

room = ContextCompiler.__module__.rpartition(".")[0]
occurrences_module = importlib.import_module(Occurrences.__module__)
preselect = importlib.import_module(f"{room}.selection.preselect")
word_places = importlib.import_module(f"{room}.selection.word_places")

COUNTER = TokenCounter()
WORDS = [f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}o{n % 7}" for n in range(400)]

# What a question's word may be: runs of letters, of digits, and what one letter becomes when it is
# written small.
words = st.text(st.sampled_from("ab\u0130\u0131ß9\uff11中"), min_size=1, max_size=3).map(str.lower)
texts = st.lists(
    st.text(st.sampled_from("abAB\u0130\u0131ß91\uff11中 _-\n"), max_size=12), max_size=8
)


@settings(max_examples=200, deadline=None)
@given(texts=texts, asked=st.lists(words, max_size=4), block=st.integers(1, 7))
def test_a_word_is_found_in_whichever_block_it_begins(
    texts: list[str], asked: list[str], block: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(occurrences_module, "BLOCK_BYTES", block)

        found = Occurrences().of(asked, texts)

    assert {word: list(places) for word, places in found.items()} == {
        word: [at for at, text in enumerate(texts) if word in text.lower()] for word in asked
    }


@settings(max_examples=200, deadline=None)
@given(texts=texts, asked=st.lists(words, max_size=4), chars=st.integers(0, 60))
def test_a_word_is_found_where_it_stands_however_much_was_read(
    texts: list[str], asked: list[str], chars: int
) -> None:
    occurrences = Occurrences()
    for _ in range(3):
        found = occurrences.of(asked, texts)
        assert {word: list(found[word]) for word in asked} == {
            word: [at for at, text in enumerate(texts) if word in text.lower()] for word in asked
        }
        occurrences.read(texts, chars)


@settings(max_examples=200, deadline=None)
@given(
    texts=texts,
    asked=st.lists(st.tuples(st.lists(words, max_size=4), st.integers(0, 8)), max_size=6),
    kept=st.integers(0, 6),
)
def test_a_word_that_is_asked_again_is_found_in_the_texts_that_came_since(
    texts: list[str], asked: list[tuple[list[str], int]], kept: int
) -> None:
    upto = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_places, "PLACES_KEPT", kept)
        patch.setattr(word_places, "MOST_LATER", 3)
        places = word_places.WordPlaces()
        for those, more in asked:
            upto = min(upto + more, len(texts))
            found = places.of(those, texts[:upto])
            assert {word: list(found[word]) for word in those} == {
                word: [at for at, text in enumerate(texts[:upto]) if word in text.lower()]
                for word in those
            }
            places.read(texts[:upto], 5)


def held(number: int) -> Item:
    rng = random.Random(number)
    superseded = (Link("supersedes", f"h{number - 5}"),) if number % 97 == 0 else ()
    return Item(
        id=f"h{number}",
        section="memory" if number % 11 == 0 else "history",
        kind="turn",
        text=" ".join(rng.choices(WORDS, k=rng.randint(3, 30))),
        logged=number + 1,
        produced_by=("", "", "read", "other")[number % 4],
        links=superseded,
        priority=int(number % 501 == 0),
        score=number % 301 == 0,
    )


HELD = tuple(held(number) for number in range(2_600))


def request(number: int) -> Request:
    rng = random.Random(number)
    asked = " ".join(rng.choices(WORDS, k=4))
    named = Item(id=f"n{number}", section="history", kind="note", text=asked, produced_by="read")
    return Request(
        step=PromptStep(process="p", id="s", description=f"What of {asked}?"),
        window=200_000,
        effective_window=3_000,
        items=(named,),
        carry=("read",) if number % 2 else (),
    )


def view(upto: int) -> View:
    return View(position=upto, items=HELD[:upto])


def test_a_history_that_grew_gives_the_bytes_that_it_gives_a_compiler_that_never_saw_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(preselect, "INDEXED_CHARS", 30_000)  # not all of it at once
    warm = ContextCompiler(COUNTER)

    # It grows, shrinks, and is another one now and then.
    for number, upto in enumerate((1_900, 1_901, 2_300, 900, 2_300, 2_600, 2_600)):
        grown = warm.compile(request(number), view(upto))
        monkeypatch.setattr(preselect, "INDEXED_CHARS", 0 if number % 2 else 30_000)
        fresh = ContextCompiler(COUNTER).compile(request(number), view(upto))
        assert grown == fresh
        assert grown.tokens <= 3_000


def test_two_items_of_one_name_are_refused_in_a_history_that_grew_too() -> None:
    compiler = ContextCompiler(COUNTER)
    compiler.compile(request(1), view(1_500))
    twice = View(items=(*HELD[:1_500], msgspec.structs.replace(HELD[0], text="other")))

    for _ in range(2):
        with pytest.raises(ItemRepeatedError, match="the id h0"):
            compiler.compile(request(1), twice)
    assert compiler.compile(request(1), view(1_501)).tokens > 0


def told(prompt: Prompt) -> int:
    manifest = prompt.manifest
    return len(manifest.items) + sum(each.count for each in manifest.passed_over)


def test_every_item_is_listed_or_counted() -> None:
    every = tuple(msgspec.structs.replace(each, produced_by="gone") for each in HELD)

    mixed = ContextCompiler(COUNTER).compile(request(0), view(2_600))
    foreign = ContextCompiler(COUNTER).compile(request(0), View(items=every))

    assert told(mixed) == told(foreign) == 2_601
    assert {each.reason for each in foreign.manifest.passed_over} == {
        "output of a step that is not carried, or superseded"
    }


def test_the_best_of_what_holds_the_question_goes_on_and_the_newest() -> None:
    needle = msgspec.structs.replace(HELD[40], id="needle", text="The quetzal is green.")
    asked = PromptStep(process="p", id="s", description="Which colour has the quetzal?")
    items = (*HELD[:40], needle, *HELD[41:])

    prompt = ContextCompiler(COUNTER).compile(
        Request(step=asked, window=200_000), View(items=items)
    )

    states = {entry.id: entry.state for entry in prompt.manifest.items}
    assert states["needle"] == "in"
    old = {link.to for each in HELD for link in each.links}
    newest = [
        each.id
        for each in HELD
        if (each.section, each.produced_by) == ("history", "") and each.id not in old
    ]
    assert set(newest[-preselect.NEWEST :]) <= states.keys()
    assert len(states) < len(HELD)
