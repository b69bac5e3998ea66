"""The store and its vectors are kept whole: by damage, full disks, other processes and releases."""

import gc
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from cortex.runtime.knowledge import Knowledge, KnowledgeConfig, index
from cortex.runtime.retrieval import (
    ChunkEntry,
    Finder,
    HashingEmbedder,
    NewFile,
    PassageStore,
    StoreDiskError,
)

from .knowledge_world import first, folder, roots, store

__all__ = ["folder", "store"]  # fixtures


def test_a_file_of_very_many_passages_is_written_with_all_of_them_in_order(
    store: PassageStore,
) -> None:
    entries = [ChunkEntry("", number, f"passage{number}", "Ida") for number in range(6_151)]
    file = NewFile("r", "p.md", "p", "home", "d", 1, 1, entries)

    with store.writing():
        store.put([file])
    with store.writing():
        store.put([file])

    found = list(store.chunks(range(1, 20_000)).values())
    words = store.connection.execute("select term, doc from occurrences order by doc").fetchall()
    assert [(chunk.line, chunk.text) for chunk in found] == [e[1:3] for e in entries]
    assert words == [(f"passage{c.line}", c.id) for c in found]


def test_a_full_disk_is_an_error_and_the_store_stays_as_it_was(
    store: PassageStore, folder: Path
) -> None:
    index(store, roots(folder))
    pages = store.connection.execute("pragma page_count").fetchone()[0]
    store.connection.execute(f"pragma max_page_count = {pages}")
    (folder / "leave.md").write_text(
        "# Leave\n\n" + "\n\n".join(f"Rule {i} " * 50 for i in range(999))
    )

    with pytest.raises(StoreDiskError, match="full"):
        index(store, roots(folder))

    assert "people operations" in first(store, "sick days")


def test_files_that_are_remembered_are_those_that_stand_in_the_store(
    store: PassageStore, folder: Path
) -> None:
    def same_as_read_again() -> bool:
        again = PassageStore.open(store.path)
        found = again.files()
        again.close()
        return store.files() == found and bool(found)

    def removed_and_undone() -> None:
        with store.writing():
            store.remove(store.files()[0].path)
            raise ZeroDivisionError

    index(store, roots(folder))
    remembered = [same_as_read_again()]
    (folder / "leave.md").write_text("Leave is over.\n")
    (folder / "ops" / "deploy.md").unlink()
    (folder / "empty.md").write_text("")
    index(store, roots(folder))
    remembered.append(same_as_read_again())
    with pytest.raises(ZeroDivisionError):
        removed_and_undone()
    remembered.append(same_as_read_again())
    other = PassageStore.open(store.path)
    (folder / "other.md").write_text("Another process was first.\n")
    index(other, roots(folder))
    other.close()
    (folder / "leave.md").write_text("Leave begins.\n")
    index(store, roots(folder))
    remembered.append(same_as_read_again())

    assert remembered == [True] * 4
    assert [Path(file.path).name for file in store.files()][-1] == "leave.md"


def test_what_was_filled_is_in_the_file_itself_and_no_thread_is_left(
    store: PassageStore, folder: Path
) -> None:
    for number in range(250):
        (folder / f"page{number}.md").write_text(f"# Page {number}\n\n" + f"Word{number} " * 900)

    index(store, roots(folder))

    names = {thread.name for thread in threading.enumerate()}
    assert not {name for name in names if name.startswith("knowledge-")}
    assert store.path.stat().st_size > 1_000_000
    assert gc.get_threshold()[0] < 100_000, "the collector was left as it was found"


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b""])
def test_a_damaged_store_is_made_anew(tmp_path: Path, folder: Path, damage: bytes) -> None:
    path = tmp_path / "knowledge.db"
    path.write_bytes(damage)

    store = PassageStore.open(path)
    index(store, roots(folder))

    assert store.rebuilt == bool(damage)
    assert "Frankfurt" in first(store, "deployment region")
    store.close()


@pytest.mark.parametrize("at", [0.2, 0.5, 0.8])
def test_a_store_that_is_damaged_within_is_made_anew_when_that_shows(
    tmp_path: Path, folder: Path, at: float
) -> None:
    for number in range(40):
        (folder / f"page{number}.md").write_text(f"# Page {number}\n\n" + f"Word{number} " * 900)
    knowledge = Knowledge.open(tmp_path, roots(folder), KnowledgeConfig())
    knowledge.update()
    knowledge.close()
    path = tmp_path / "vectors" / "knowledge.db"
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(int(size * at))
        file.write(b"\xff" * (size // 5))

    knowledge = Knowledge.open(tmp_path, roots(folder), KnowledgeConfig())
    knowledge.update()
    found = knowledge.find("which region is deployed first, and word7")
    told = knowledge.statistics()
    knowledge.close()

    assert {"ops.deploy", "page7"} <= {passage.topic for passage in found.passages}
    assert (told.files, told.vectors) == (43, told.chunks)


def test_vectors_of_a_store_that_was_deleted_are_not_taken_for_those_of_the_next(
    tmp_path: Path, folder: Path
) -> None:
    knowledge = Knowledge.open(tmp_path, roots(folder), KnowledgeConfig(embedder="hashing"))
    knowledge.update()
    knowledge.close()
    (tmp_path / "vectors" / "knowledge.db").unlink()
    (folder / "a.md").write_text("# First of all\n\nThis one was not there.\n")

    knowledge = Knowledge.open(tmp_path, roots(folder), KnowledgeConfig(embedder="hashing"))
    knowledge.update(vectors=0)
    notes = knowledge.find("deploiment frankfurd").notes
    knowledge.update()
    found = knowledge.find("deploiment frankfurd").passages
    knowledge.close()

    assert "no vector yet" in notes[0]
    assert found[0].topic == "ops.deploy"


def test_a_store_of_another_format_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.db"
    with sqlite3.connect(path) as connection:
        connection.execute("pragma user_version = 99")
    connection.close()

    store = PassageStore.open(path)

    assert store.rebuilt
    store.close()


class Sized:
    """An embedder of a given size."""

    weight = 1.0
    alike = 0.25
    name = "sized"

    def __init__(self, size: int) -> None:
        self.size = size

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        return np.full((len(texts), self.size), self.size**-0.5, np.float32)


def test_an_embedder_that_changes_its_dimension_is_told_and_vectors_are_made_anew(
    store: PassageStore, folder: Path
) -> None:
    index(store, roots(folder))
    embedder = Sized(8)
    finder = Finder(store, embedder)
    finder.embed()
    embedder.size = 16

    found = finder.find("deployment region")

    assert "8" in found.notes[0]
    assert "Frankfurt" in found.passages[0].text
    finder.embed()
    assert finder.find("deployment region").notes == ()


def test_vectors_that_came_later_are_added_to_the_file_and_found_by_the_next_process(
    store: PassageStore, folder: Path
) -> None:
    index(store, roots(folder))
    once = Finder(store, HashingEmbedder())
    once.embed()
    before = store.path.with_suffix(".faiss").read_bytes()
    for number in range(3):
        (folder / f"later{number}.md").write_text(f"# Later {number}\n\nGarage {number}.\n")
        index(store, roots(folder))
        once.embed()

    again = Finder(store, HashingEmbedder())

    assert store.path.with_suffix(".faiss").read_bytes() == before
    assert again.vectors == once.vectors
    assert again.embed() == 0
    assert again.find("garages later") == once.find("garages later")


def test_what_another_process_embedded_is_not_embedded_again(
    store: PassageStore, folder: Path
) -> None:
    index(store, roots(folder))
    here = Finder(store, HashingEmbedder())
    here.embed()
    there = Finder(store, HashingEmbedder())
    made = []
    for number, finder in enumerate((here, there, here)):
        (folder / f"later{number}.md").write_text(f"# Later {number}\n\nGarage {number}.\n")
        index(store, roots(folder))
        made.append(finder.embed())

    assert made == [1, 1, 1]
    assert (here.embed(), there.embed()) == (0, 0)
    assert here.vectors == there.vectors
    assert here.find("garages later") == there.find("garages later")


@pytest.mark.parametrize("damage", ["cut", "wrong", "twice"])
def test_added_vectors_that_are_cut_off_wrong_or_another_process_s_are_made_again(
    store: PassageStore, folder: Path, damage: str
) -> None:
    index(store, roots(folder))
    once = Finder(store, HashingEmbedder())
    once.embed()
    (folder / "later.md").write_text("# Later\n\nThe garage closes at nine.\n")
    index(store, roots(folder))
    once.embed()
    path = store.path.with_suffix(".added")
    data = path.read_bytes()
    changed = {"cut": data[:-1], "wrong": data[:-9] + b"\xff" * 9, "twice": data + data}
    path.write_bytes(changed[damage])

    again = Finder(store, HashingEmbedder())
    again.embed()

    assert again.vectors == once.vectors
    assert Finder(store, HashingEmbedder()).find("garages") == once.find("garages")


@pytest.mark.parametrize("suffix", [".faiss", ".ids", ".json"])
def test_damaged_vectors_are_made_anew(store: PassageStore, folder: Path, suffix: str) -> None:
    index(store, roots(folder))
    Finder(store, HashingEmbedder()).embed()
    store.path.with_suffix(suffix).write_bytes(b"damaged")

    finder = Finder(store, HashingEmbedder())

    assert finder.vectors == 0
    assert "no vector yet" in finder.find("region").notes[0]
    assert finder.embed() > 0
    assert finder.find("region").notes == ()
