"""Counts of the parts of one text, known ones not counted again."""

import importlib
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.context import ENCODINGS, TokenCounter

counted = importlib.import_module("cortex.runtime.context.counted")
CountedOnce, ends_token, shares = counted.CountedOnce, counted.ends_token, counted.shares

LETTERS = st.text(
    st.sampled_from(" \n\t\r\x85\u2028\xa0aB1.,/é中🎉'=<|>") | st.characters(codec="utf-8"),
    max_size=40,
)
PIECES = st.tuples(
    st.sampled_from(["", '<data id="a">\n', "search "]),
    LETTERS | LETTERS.map(lambda text: text + "\n"),
    st.sampled_from(["", "</data>\n"]),
)


class Recording:
    """Counts with the real encoding, and keeps what was counted."""

    def __init__(self, counter: TokenCounter) -> None:
        self._counter, self.counted = counter, list[str]()
        self.encoding, self.exact = counter.encoding, counter.exact

    def count(self, text: str) -> int:
        self.counted.append(text)
        return self._counter.count(text)

    def lengths(self, text: str) -> Sequence[int]:
        self.counted.append(text)
        return self._counter.lengths(text)


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(max_examples=300, deadline=None)
@given(parts=st.lists(PIECES, max_size=6))
def test_shares_are_those_of_the_whole_text(
    encoding: str, parts: list[tuple[str, str, str]]
) -> None:
    counter = TokenCounter(encoding)

    assert shares(parts, CountedOnce(counter)) == shares(parts, counter)


@pytest.mark.parametrize("encoding", ENCODINGS)
@settings(max_examples=300, deadline=None)
@given(before=LETTERS, after=LETTERS)
def test_counts_add_up_where_a_token_ends(encoding: str, before: str, after: str) -> None:
    counter = TokenCounter(encoding)
    before += "\n"

    if ends_token(before, after):
        assert [*counter.lengths(before), *counter.lengths(after)] == [
            *counter.lengths(before + after)
        ]


@pytest.mark.parametrize(
    ("before", "after"),
    [("one", "two"), ("one.\n", "/two"), ("one\n", "\ntwo"), ("one\n", " two"), ("one\n", "")],
)
def test_no_token_is_said_to_end_where_one_may_go_on(before: str, after: str) -> None:
    assert not ends_token(before, after)


@pytest.mark.parametrize("long", ["a" * 30_000, " \n" * 15_000, "." * 30_000])
def test_shares_of_texts_that_are_counted_in_stretches_are_those_of_the_whole(long: str) -> None:
    parts = [("<a>\n", "one\n", "</a>\n"), ("<a>\n", f"two{long}\n", "</a>\n"), ("", "end\n", "")]
    counter = TokenCounter()

    assert shares(parts, CountedOnce(counter)) == shares(parts, counter)


def test_what_was_counted_is_not_counted_again() -> None:
    parts = [("<a>\n", "one two three\n", "</a>\n"), ("<b>\n", "four\n", "</b>\n")]
    recording = Recording(TokenCounter())
    counter = CountedOnce(recording)
    counter.adds_up = True  # it does what the counter behind it does

    first = shares(parts, counter)
    recording.counted.clear()

    assert shares(parts, counter) == first
    assert recording.counted == []
