"""A store says nothing where it is not certain; how certain it is, is measured on docs/."""

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from cortex.runtime.knowledge import Root, index
from cortex.runtime.retrieval import (
    SHOWN,
    SURE,
    Finder,
    HashingEmbedder,
    Passage,
    PassageStore,
    SearchResult,
    fused,
)

from .knowledge_world import folder, roots, store

__all__ = ["folder", "store"]  # fixtures

ROOT = Path(__file__).parents[2]
QUESTIONS = ROOT / "benchmarks" / "docs_questions.toml"


class Letters:
    """Knows meaning by the letters of a text: enough to tell chance from likeness."""

    name, weight, alike = "letters", 1.0, 0.25

    def __init__(self) -> None:
        self.asked = 0

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.asked += len(texts)
        rows = np.array([[text.count(chr(at)) for at in range(97, 123)] for text in texts], "f4")
        lengths = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        return np.asarray(rows / lengths, np.float32)


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finder]:
    if not QUESTIONS.is_file():
        pytest.skip("only in a checkout")
    opened = PassageStore.open(tmp_path_factory.mktemp("docs") / "knowledge.db")
    index(opened, [Root(str(ROOT / "docs"), "home")])
    finder = Finder(opened, HashingEmbedder())
    finder.embed()
    yield finder
    opened.close()


def test_questions_with_an_answer_are_told_from_those_without(docs: Finder) -> None:
    asked = tomllib.loads(QUESTIONS.read_text())
    named = [docs.rank(question)[0].certainty for question, *_ in asked["answerable"]]
    nowhere = {
        kind: [docs.rank(question)[0].certainty for question in asked[kind]]
        for kind in ("off_topic", "near_topic", "letters")
    }
    others = np.array([each for found in nowhere.values() for each in found])

    above = np.mean([np.mean(one > others) + np.mean(one == others) / 2 for one in named])

    assert above >= 0.85, "AUROC"
    assert np.mean(np.array(named) < SHOWN) <= 0.1
    assert np.mean(np.array(named) < SURE) <= 0.2
    assert np.mean(others < SHOWN) >= 0.6  # a third of them are near to what docs/ has
    assert np.mean(others < SURE) >= 0.85
    assert max(nowhere["letters"]) < SHOWN


def test_a_question_that_is_hardly_answered_finds_nothing_and_says_so(docs: Finder) -> None:
    found = docs.find("Which wine goes with grilled salmon?")

    assert found.passages == ()
    assert found.caution.startswith("nothing here is likely to answer the question: certainty 0.")
    assert "below 0.45 nothing is shown" in found.caution
    assert found.certainty < SHOWN


def test_passages_between_the_lines_are_shown_and_called_uncertain(docs: Finder) -> None:
    asked = tomllib.loads(QUESTIONS.read_text())
    between = [
        question
        for question, *_ in asked["answerable"]
        if SHOWN <= docs.rank(question)[0].certainty < SURE
    ]

    found = [docs.find(question) for question in between]

    assert found
    assert all(one.passages for one in found)
    assert all("certain from 0.80" in one.caution for one in found)


@pytest.mark.parametrize(
    ("certainties", "said"),
    [
        ((0.1, 0.44), "nothing here is likely to answer the question: certainty 0.44"),
        ((0.1, 0.6), "it is uncertain that what was found answers the question: certainty 0.60"),
        ((0.1, 0.79999), "certainty 0.79"),
        ((0.1, 0.6, 0.8), ""),
    ],
)
def test_the_most_certain_of_several_questions_decides_what_is_said(
    certainties: Sequence[float], said: str
) -> None:
    results = [_result(chunk, certainty) for chunk, certainty in enumerate(certainties)]

    together = fused(results)

    assert together.certainty == max(certainties)
    assert said in together.caution
    assert bool(together.caution) == bool(said)


def _result(chunk: int, certainty: float) -> SearchResult:
    passage = Passage(
        chunk=chunk,
        topic="a",
        path="a.md",
        scope="home",
        digest="",
        heading="",
        first_line=1,
        text="One.",
        score=1.0,
        why={},
    )
    passages = (passage,) if certainty >= SHOWN else ()
    return SearchResult(passages, (), certainty, "low" if certainty < SURE else "")


def test_in_a_small_store_a_word_that_is_missing_says_little(
    store: PassageStore, folder: Path
) -> None:
    index(store, roots(folder))

    found = Finder(store).find("How far ahead must I tell my boss about a holiday?")

    assert found.passages[0].topic == "leave"
    assert found.certainty > SHOWN


def test_a_question_about_a_speaker_is_about_the_talk(store: PassageStore, tmp_path: Path) -> None:
    knowledge = tmp_path / "talks"
    knowledge.mkdir()
    said = "Maria: I started number {n} of my pots.\nMark: How did it turn out, number {n}?\n"
    talk = "3 March\n\n" + "".join(said.format(n=n) for n in range(60))
    (knowledge / "talk.txt").write_text(talk + "Maria: My church has a new roof.\n")
    index(store, [Root(str(knowledge), "home")])
    finder = Finder(store)

    named = finder.rank("Would Maria be called a devout member of a church?")[0]
    unnamed = finder.rank("Would one be called a devout member of a church?")[0]

    assert named.certainty > unnamed.certainty


def test_sections_exist_that_the_questions_name() -> None:
    if not QUESTIONS.is_file():
        pytest.skip("only in a checkout")
    asked = tomllib.loads(QUESTIONS.read_text())
    named = {section for _, *sections in asked["answerable"] for section in sections}

    missing = []
    for section in named:
        page, heading = section.split(" > ", 1)
        lines = (ROOT / "docs" / f"{page}.md").read_text().splitlines()
        if not any(line.lstrip("#") == f" {heading}" for line in lines):
            missing.append(section)

    assert missing == []


def test_what_nothing_finds_is_measured_once_for_a_store(store: PassageStore, folder: Path) -> None:
    index(store, roots(folder))
    embedder = Letters()
    finder = Finder(store, embedder)
    finder.embed()
    before = embedder.asked

    first = finder.rank("pottery")[0].evidence
    measured = embedder.asked - before
    finder.rank("deployment")

    assert first.likeness is not None
    assert embedder.asked == before + measured + 1
