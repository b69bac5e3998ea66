"""Names and speakers count as docs/knowledge.md says: a name leads on, a speaker is no meaning."""

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cortex.runtime.knowledge import Root, index
from cortex.runtime.retrieval import (
    ChunkEntry,
    Finder,
    HashingEmbedder,
    Near,
    NewFile,
    PassageStore,
)

TALK = """\
3 March

Maria: I started pottery classes last week.
Mark: Lovely! What did you make so far?
Maria: A bowl and two cups, both a little crooked.
Mark: I went hiking on Saturday.
"""
QUESTION = "Where was the founder of Northlight born?"


class Told(HashingEmbedder):
    """The default embedder, which remembers what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.texts.extend(texts)
        return super().embed(texts)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PassageStore]:
    opened = PassageStore.open(tmp_path / "vectors" / "knowledge.db")
    yield opened
    opened.close()


def written(store: PassageStore, folder: Path, files: dict[str, str]) -> Finder:
    folder.mkdir()
    others = {f"other{n}.md": f"# Someone {n}\n\nWas born in a town.\n" for n in range(30)}
    for name, text in (files | others).items():
        (folder / name).write_text(text)
    index(store, [Root(str(folder), "home")])
    return Finder(store)


def linked(finder: Finder) -> dict[str, float]:
    """By topic, what a name in a better passage adds to the score."""
    return {found.topic: found.why["linked"] for found in finder.find(QUESTION, 40).passages}


def talked(store: PassageStore, folder: Path) -> tuple[Finder, Told]:
    embedder = Told()
    written(store, folder, {"talk.txt": TALK})
    finder = Finder(store, embedder)
    finder.embed()
    return finder, embedder


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("What did Maria make in pottery?", "What did  make in pottery?"),
        ("Which of Mark's hikes did Maria like?", "Which of  hikes did  like?"),
        ("Who is Maria?", "Who is Maria?"),  # or nothing would be left
        ("How do we mark a bowl?", "How do we mark a bowl?"),  # no name
        ("Did Jonas go hiking?", "Did Jonas go hiking?"),  # says nothing anywhere
    ],
)
def test_a_speaker_whom_the_question_names_is_not_part_of_its_meaning(
    store: PassageStore, tmp_path: Path, question: str, meant: str
) -> None:
    finder, embedder = talked(store, tmp_path / "knowledge")

    finder.find(question)

    assert embedder.texts[-1] == meant


def test_the_date_above_a_turn_is_found_by_words_and_is_not_its_meaning(
    store: PassageStore, tmp_path: Path
) -> None:
    finder, embedder = talked(store, tmp_path / "knowledge")

    found = finder.find("Who talked on 3 March?", 4).passages

    assert {(passage.topic, passage.heading) for passage in found} == {("talk", "3 March")}
    turns = [text for text in embedder.texts if text.startswith(("Maria: ", "Mark: "))]
    assert len(turns) == 4
    assert not any("March" in text for text in turns)
    assert any("Someone 7" in text for text in embedder.texts)  # a title is part of the meaning


@pytest.mark.parametrize(
    "text",
    [
        "The band Northlight was founded by Ida Quist.",
        "The band Northlight is Ida Quist's.",
        "Northlight began in Tromso. Ida Quist founded it.",
        "The band Northlight was founded by Ida\nQuist.",
    ],
)
def test_a_name_leads_on_however_it_ends(store: PassageStore, tmp_path: Path, text: str) -> None:
    files = {
        "band.md": f"# Band\n\n{text}\n",
        "ida.md": "# Ida Quist\n\nIda Quist was born in Bergen in 1961.\n",
    }

    found = linked(written(store, tmp_path / "knowledge", files))

    # From the band to Ida, who gains all of it; the other way round the band would gain more.
    assert found["ida"] > found["band"] > 0


def test_a_word_that_is_written_otherwise_is_no_name(store: PassageStore, tmp_path: Path) -> None:
    files = {
        "band.md": "# Band\n\nThe band Northlight was founded by Snow.\n",
        "person.md": "# Someone else\n\nSnow was born in Bergen in 1961.\n",
        "winter.md": "# Winter\n\nBorn in autumn, the snow lay until May.\n",
    }

    found = linked(written(store, tmp_path / "knowledge", files))

    assert found["person"] > 0
    assert found["winter"] == 0


def test_a_name_that_is_more_of_a_title_leads_there_more(
    store: PassageStore, tmp_path: Path
) -> None:
    text = "Finland was born in 1917.\n"
    files = {
        "band.md": "# Band\n\nThe band Northlight was founded in Finland.\n",
        "all.md": f"# Finland\n\n{text}",
        "part.md": f"# Banks of Finland\n\n{text}",
        "none.md": f"# Republics\n\n{text}",
    }

    found = linked(written(store, tmp_path / "knowledge", files))

    assert found["all"] > 1.2 * found["part"]
    assert found["part"] > 1.2 * found["none"] > 0


def test_a_name_in_a_long_passage_leads_there_less(store: PassageStore, tmp_path: Path) -> None:
    text = "Ida Quist was born in Bergen in 1961."
    files = {
        "band.md": "# Band\n\nThe band Northlight was founded by Ida Quist.\n",
        "short.md": f"# Notes\n\n{text}\n",
        "long.md": f"# Notes\n\n{text} {'It rained a little. ' * 45}\n",
    }

    found = linked(written(store, tmp_path / "knowledge", files))

    assert found["short"] > 1.5 * found["long"] > 0


@pytest.mark.parametrize("neighbours", [0, 1])
def test_words_saturate_alike_where_passages_have_no_neighbours(
    store: PassageStore, tmp_path: Path, neighbours: int
) -> None:
    text = "The kettle whistles. " * 45  # nearly a passage
    beside = "# Another\n\n" + "Nothing happens here today. " * 34 + "\n"
    files = {"one.md": f"# One\n\n{text}\n\n{neighbours * beside}"}
    written(store, tmp_path / "knowledge", files)

    postings: Any = import_module("cortex.runtime.retrieval.postings").Postings(store)

    lengths = [float(postings.lengths[chunk]) for chunk in postings.live]
    assert len(lengths) == 31 + neighbours
    # Two of them, if any, have one neighbour each, which is the other.
    usual = (sum(lengths) + 0.5 * neighbours * sum(lengths[:2])) / len(lengths)
    assert postings.usual_length(Near((0.5, 0.3), 100.0)) == pytest.approx(usual)


def test_a_long_neighbour_counts_less_unless_it_is_the_next(
    store: PassageStore,
) -> None:
    entries = [
        ChunkEntry("", line, "words " * count, "") for line, count in enumerate((5, 5, 50), 1)
    ]
    with store.writing():
        store.put([NewFile("r", "p.md", "p", "home", "d", 1, 1, entries)])

    postings: Any = import_module("cortex.runtime.retrieval.postings").Postings(store)

    first, second, third = map(float, postings.lengths[postings.live])

    def near(at: int, far_words: float) -> float:
        chunks = postings.live[at : at + 1]
        lengths = postings.lengths[postings.live]
        (found,) = postings.near(chunks, postings.live, lengths, Near((0.5, 0.3), far_words))
        return float(found)

    assert near(1, 10.0) == near(1, 100.0) == pytest.approx(second + 0.5 * (first + third))
    assert near(0, 100.0) == pytest.approx(first + 0.5 * second + 0.3 * third)
    assert near(0, 10.0) == pytest.approx(first + 0.5 * second + 0.3 * 10.0)


@pytest.mark.parametrize("most", [1, 2, 100])
def test_words_that_are_counted_together_have_the_counts_of_each(
    store: PassageStore, tmp_path: Path, most: int
) -> None:
    pages = {
        f"{n}.md": f"# Page {n}\n\nKettles whistle {'loudly ' * n}caf\u00e9\n" for n in range(4)
    }
    written(store, tmp_path / "knowledge", pages)
    module: Any = import_module("cortex.runtime.retrieval.postings")
    words = [
        "kettle",
        "whistling",
        "loudly",
        "cafe",
        "caf\u00e9",
        "nobody",
        "\u6f22\u5b57",
        "kettle",
    ]
    each, together = module.Postings(store), module.Postings(store)

    together.count(words, most)
    together.count([], most)

    queries: list[str] = []
    store.connection.set_trace_callback(queries.append)
    counted = [together.among(word, most) for word in words]
    store.connection.set_trace_callback(None)
    assert not queries
    assert counted == [each.among(word, most) for word in words]
    assert [together.stem(word) for word in words] == [each.stem(word) for word in words]
    assert each.among("kettle", most) == min(4, most)
