"""Chunks and relevance, each on its own."""

import importlib

from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.retrieval import Chunk, TextScores, chunks_of_lines, content_words

CHUNK_CHARS = importlib.import_module(Chunk.__module__).LINES_CHARS

lines = st.lists(
    st.sampled_from(
        ["", "# Heading", "word " * 30, "x" * 3_000, "```", "Title", "=====", "- item"]
    ),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(text=lines)
def test_chunks_are_all_lines_in_order_and_small_unless_one_line_is_not(text: list[str]) -> None:
    chunks = chunks_of_lines(text)

    assert [line for c in chunks for line in text[c.start : c.end]] == text
    for chunk in chunks:
        size = sum(len(line) + 1 for line in text[chunk.start : chunk.end])
        assert size <= CHUNK_CHARS or chunk.end - chunk.start == 1


def test_a_chunk_knows_the_heading_it_stands_under() -> None:
    text = ["# First", *["one " * 90] * 3, "Second", "======", *["two " * 90] * 4]

    chunks = chunks_of_lines(text)

    assert {chunk.heading for chunk in chunks} == {"First", "Second"}
    assert chunks[0].heading == "First"
    assert chunks[-1].heading == "Second"


def test_a_heading_inside_code_is_no_heading() -> None:
    text = ["```", "# comment", "```", "text"]

    assert [chunk.heading for chunk in chunks_of_lines(text)] == [""]


def test_words_are_split_stemmed_and_stripped_of_what_questions_are_made_of() -> None:
    words = content_words("Why does parseConfigFile() fail when loading the cached HTTPResponses?")

    assert words == ["pars", "config", "fil", "fail", "load", "cach", "http", "respons"]


def test_forms_of_a_word_count_as_the_same_word() -> None:
    for forms in (
        "fail fails failed failing",
        "cache caches cached caching",
        "file files filed",
        "stop stops stopped",
    ):
        assert len(set(content_words(forms))) == 1


def test_a_text_with_the_rarer_word_scores_higher() -> None:
    texts = [["parser", "comma"], ["parser", "bread"], ["parser", "bread"], ["cheese", "bread"]]

    scores = TextScores(texts, ["parser", "comma"]).scores

    assert scores[0] > scores[1] == scores[2] > scores[3] == 0
