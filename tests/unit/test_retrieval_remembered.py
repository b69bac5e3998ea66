"""What is remembered of texts: the same answers, within a bound."""

import importlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cortex.runtime.retrieval
from cortex.runtime.retrieval import Remembered, content_words

words = importlib.import_module(f"{cortex.runtime.retrieval.__name__}.words")

TEXTS = st.lists(st.text("ab", max_size=12), max_size=40)


@given(TEXTS, st.integers(1, 60))
def test_a_remembered_answer_is_the_one_that_is_made(texts: list[str], chars: int) -> None:
    length = Remembered(len, chars)

    assert [*map(length, texts)] == [*map(len, texts)]


def test_no_more_texts_are_remembered_than_their_characters_allow() -> None:
    made: list[str] = []

    def make(text: str) -> int:
        made.append(text)
        return len(text)

    length = Remembered(make, 80)
    texts = [f"text {number:03}" for number in range(100)]
    for text in (*texts, *reversed(texts)):
        length(text)

    assert len(texts) - 80 // len(texts[0]) <= len(made) - len(texts) < len(texts)


def test_what_is_asked_for_again_and_again_is_made_once() -> None:
    made: list[str] = []

    def make(text: str) -> int:
        made.append(text)
        return len(text)

    length = Remembered(make, 80)
    for number in range(100):
        length("again")
        length(f"other {number}")

    assert made.count("again") == 1


def test_what_is_longer_than_an_eighth_of_all_is_made_anew() -> None:
    made: list[str] = []

    def make(text: str) -> None:
        made.append(text)

    nothing = Remembered(make, 80)
    for text in ("x" * 10, "x" * 11) * 2:
        nothing(text)

    assert [len(text) for text in made] == [10, 11, 11]


@given(st.lists(st.text("abAB12_中 ", max_size=20), max_size=8), st.integers(1, 4))
def test_words_are_the_same_however_few_are_known(texts: list[str], kept: int) -> None:
    found = list(map(content_words, texts))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(words, "KEPT_RUNS", kept)
        again = list(map(content_words, texts))

    assert again == found
