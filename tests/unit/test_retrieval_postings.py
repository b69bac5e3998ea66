"""Postings: how often words occur, and what stands beside a passage."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cortex.runtime.retrieval
from cortex.runtime.retrieval import ChunkEntry, Near, NewFile, PassageStore

postings: Any = import_module(f"{cortex.runtime.retrieval.__name__}.postings")
SHARES = Near((0.5, 0.25), 3.0)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PassageStore]:
    opened = PassageStore.open(tmp_path_factory.mktemp("postings") / "knowledge.db")
    yield opened
    opened.close()


def written(store: PassageStore, files: Sequence[Sequence[str]]) -> Any:
    """Postings of a store that holds *files*, each of these passages, and nothing else."""
    with store.writing():
        for path in [file.path for file in store.files()]:
            store.remove(path)
        store.put(
            [
                NewFile("r", f"{number}.md", "", "home", "d", 1, 1, entries)
                for number, texts in enumerate(files)
                if (
                    entries := [
                        ChunkEntry("", line, text, "") for line, text in enumerate(texts, 1)
                    ]
                )
            ]
        )
    return postings.Postings(store)


def test_a_word_is_counted_again_where_more_are_asked_for(store: PassageStore) -> None:
    found = written(store, [["bird bird bird", "bird", "a tree"]])

    assert [found.among("bird", most) for most in (2, 10, 3)] == [2, 4, 3]


def test_how_common_a_word_is_does_not_depend_on_what_was_asked_before(
    store: PassageStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postings, "LARGE", 0)
    monkeypatch.setattr(postings, "COUNTED", 3)
    found = written(store, [["bird bird bird", "bird", "a tree"]])
    found.count(["bird", "tree"], 2)

    ids, often = found.of("bird")

    assert len(ids) == 2
    assert often.tolist() == [1, 1]  # of a word so common, it counts once a passage


WORDS = st.lists(st.sampled_from(["owl", "fox", "elk"]), min_size=1, max_size=6).map(" ".join)


@given(st.lists(st.lists(WORDS, max_size=5), max_size=4), st.data())
def test_the_passages_beside_one_count_by_their_distance_within_its_file(
    store: PassageStore, files: list[list[str]], data: st.DataObject
) -> None:
    found = written(store, files)
    told = [(at, text.split()) for at, texts in enumerate(files) for text in texts]
    held = dict(zip(found.live.tolist(), told, strict=True))
    at = np.array(data.draw(st.lists(st.sampled_from(sorted(held)))) if held else [], np.int64)

    def value(chunk: int, step: int) -> float:
        file, words = held.get(chunk + step, (-1, []))
        if file != held[chunk][0]:
            return 0.0
        share = 1.0 if step == 0 else SHARES.shares[abs(step) - 1]
        long = float(found.lengths[chunk + step])
        far = 3.0 / max(long, 3.0) if abs(step) > 1 else 1.0
        return float(words.count("owl") * share * far)

    near = found.near(at, *found.of("owl"), SHARES)

    expected = [sum(value(chunk, step) for step in range(-2, 3)) for chunk in at.tolist()]
    assert near.tolist() == pytest.approx(expected)


def test_threads_may_ask_how_words_are_written_in_the_full_text() -> None:
    stems = postings.Stems()
    words = [
        f"{word}{ending}" for word in ("walk", "talk", "jump") for ending in ("ing", "ed", "s")
    ]

    def ask(turn: int) -> list[str]:
        return [each for _ in range(50) for each in stems.of_each([f"new{turn}", *words])][-9:]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))

    assert found == [["walk"] * 3 + ["talk"] * 3 + ["jump"] * 3] * 8


@pytest.mark.parametrize("large", [0, 1_000], ids=["large", "small"])
def test_words_are_counted_alike_in_a_large_store_and_in_a_small_one(
    store: PassageStore, monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(postings, "LARGE", large)
    found = written(store, [["bird bird birds", "bird", "a tree", "trees of birds"]])

    found.count(["bird", "tree", "stone"], 3)

    assert [found.among(word, 3) for word in ("bird", "tree", "stone")] == [3, 2, 0]


def test_a_name_is_written_just_so_or_over_the_end_of_a_line(store: PassageStore) -> None:
    texts = ["Hank\nSnow sang", "the snow of hank snow", "Hank Snow", "Snow Hank"]
    found = written(store, [texts])
    chunks = found.stored(found.live.tolist()).values()

    assert [found.writes(chunk, "Hank Snow") for chunk in chunks] == [True, False, True, False]


def test_of_many_names_the_first_ones_are_taken(store: PassageStore) -> None:
    found = written(store, [["Alba met Boris Vian in Cadiz, and Alba saw Dover."]])
    (chunk,) = found.stored(found.live.tolist()).values()

    assert [*found.names(chunk, 2).values()] == ["Alba", "Boris Vian"]
    assert [*found.names(chunk, 9).values()] == ["Alba", "Boris Vian", "Cadiz", "Dover"]
