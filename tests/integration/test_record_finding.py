"""What records of the log are found by: nothing about their place in the store counts."""

import contextlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from cortex.runtime.retrieval import (
    Embedder,
    HashingEmbedder,
    RecordFinder,
    RecordText,
    StoreDiskError,
)

SAID = "Triage a CI failure\ncompleted\nlog: ci.log\nread failure: 2 failing tests (pytest)"
OTHERS = ("Say why the harvest of pears is late", "Rename a module", "Write the changelog")


def scores(folder: Path, texts: dict[str, str], question: str, embedder: Embedder | None) -> object:
    with RecordFinder.open(folder, "executions", embedder) as finder:
        finder.update(
            RecordText(key, "1", "triage ci failure", text) for key, text in texts.items()
        )
        found = finder.find(question, 10)
    return {passage.path: passage.score for passage in found.passages}


@pytest.mark.parametrize("embedder", [None, HashingEmbedder()], ids=["words", "hashing"])
@pytest.mark.parametrize("count", [2, 3, 7])
def test_records_that_say_the_same_are_all_found_with_the_same_score(
    embedder: Embedder | None, count: int, tmp_path: Path
) -> None:
    runs = {f"run{number}": SAID for number in range(count)}

    assert scores(tmp_path, runs, "failing tests", embedder) == dict.fromkeys(runs, 1.0)


@pytest.mark.parametrize("embedder", [None, HashingEmbedder()], ids=["words", "hashing"])
def test_where_a_record_stands_in_the_store_does_not_count(
    embedder: Embedder | None, tmp_path: Path
) -> None:
    texts = {"run": SAID, **{f"other{place}": text for place, text in enumerate(OTHERS)}}
    turned = dict(reversed(texts.items()))

    forth = scores(tmp_path / "forth", texts, "which tests are failing, and why", embedder)
    back = scores(tmp_path / "back", turned, "which tests are failing, and why", embedder)

    assert forth == back


@pytest.mark.parametrize("embedder", [None, HashingEmbedder()], ids=["words", "hashing"])
def test_of_two_records_with_a_word_of_the_question_both_are_found(
    embedder: Embedder | None, tmp_path: Path
) -> None:
    texts = {"one": f"{OTHERS[0]}, and count the pears", "two": f"{SAID}\nlog: pears.log"}

    assert set(scores(tmp_path, texts, "late pears", embedder)) == set(texts)  # type: ignore[call-overload]


def test_a_store_that_proves_damaged_is_made_again_by_the_next_use(tmp_path: Path) -> None:
    texts = {"run": SAID, "other": OTHERS[0]}
    whole = scores(tmp_path, texts, "failing tests", None)
    with closing(sqlite3.connect(tmp_path / "vectors" / "executions.db")) as database:
        database.execute("drop table words")  # as a torn write of its last page leaves it

    with contextlib.suppress(StoreDiskError):
        scores(tmp_path, texts, "failing tests", None)

    assert scores(tmp_path, texts, "failing tests", None) == whole


def test_without_texts_the_same_is_found(tmp_path: Path) -> None:
    with RecordFinder.open(tmp_path, "executions", HashingEmbedder()) as finder:
        finder.update(RecordText(f"{n}", "1", "said", text) for n, text in enumerate(OTHERS))
        whole = finder.find("Why are the pears late?", 10).passages
        bare = finder.find("Why are the pears late?", 10, texts=False).passages

    assert [each.text for each in whole] != [""] * len(whole)
    assert bare == tuple(replace(each, text="") for each in whole)
