"""What stands in files is found by what is asked; the store is never half of anything."""

import hashlib
import os
import sys
from pathlib import Path
from typing import IO, Any

import msgspec
import numpy as np
import pytest

from cortex.runtime.knowledge import Knowledge, KnowledgeConfig, TopicIndex, embedder_of, index
from cortex.runtime.retrieval import (
    EmbedderError,
    Finder,
    HashingEmbedder,
    LocalEmbedder,
    PassageStore,
)

from .knowledge_world import DEPLOY, LEAVE, first, folder, roots, store

__all__ = ["folder", "store"]  # fixtures


def test_a_question_finds_the_passage_its_place_and_its_parts(
    store: PassageStore, folder: Path
) -> None:
    index(store, roots(folder))

    passage = Finder(store).find("Which region is deployed first?").passages[0]

    assert (passage.topic, passage.heading, passage.first_line) == ("ops.deploy", "Deploying", 1)
    assert "Frankfurt" in passage.text
    assert passage.digest == hashlib.sha256(DEPLOY.encode()).hexdigest()
    assert set(passage.why) == {"words", "shared", "meaning", "said", "linked"}


def test_a_turn_is_found_by_the_turns_beside_it_and_by_who_says_it(
    store: PassageStore, folder: Path
) -> None:
    index(store, roots(folder))

    found = Finder(store).find("What did Maria make in pottery?", 2)

    assert {p.text.split(":")[0] for p in found.passages} == {"Maria"}
    assert any("bowl" in passage.text for passage in found.passages)


def test_a_name_in_a_good_passage_leads_to_the_next(store: PassageStore, folder: Path) -> None:
    (folder / "band.md").write_text(
        "# Northlight\n\nThe band Northlight was founded by Ida Quist.\n"
    )
    (folder / "ida.md").write_text("# Ida Quist\n\nIda Quist was born in Tromso in 1961.\n")
    for number in range(30):
        (folder / f"other{number}.md").write_text(f"# Someone {number}\n\nWas born in a town.\n")
    index(store, roots(folder))

    found = Finder(store).find("Where was the founder of Northlight born?", 2)

    assert {passage.topic for passage in found.passages} == {"band", "ida"}
    linked = {passage.topic: passage.why["linked"] for passage in found.passages}
    assert linked["ida"] > 0


def test_only_topics_that_are_asked_for_are_searched(store: PassageStore, folder: Path) -> None:
    index(store, roots(folder))

    found = Finder(store).find("weeks region people", under=["ops"])

    assert {passage.topic for passage in found.passages} == {"ops.deploy"}


def test_the_same_question_gives_the_same_answer(store: PassageStore, folder: Path) -> None:
    index(store, roots(folder))

    once = Finder(store, HashingEmbedder())
    once.embed()

    assert once.find("pottery region") == Finder(store, HashingEmbedder()).find("pottery region")


def test_nothing_is_found_where_nothing_fits_or_nothing_is(
    store: PassageStore, folder: Path
) -> None:
    assert Finder(store).find("anything").passages == ()

    index(store, roots(folder))

    assert Finder(store).find("zzyzx").passages == ()
    assert Finder(store).find('"; drop table files --').passages is not None


def test_likeness_that_is_chance_finds_nothing_and_leads_nowhere(
    store: PassageStore, folder: Path
) -> None:
    for number in range(60):
        (folder / f"rule{number}.md").write_text(f"# Rule {number}\n\nSee Leave and Deploying.\n")
    index(store, roots(folder))
    finder = Finder(store, HashingEmbedder())
    finder.embed()

    words = ("xyzzy", "qwfp", "blorptang", "kwyjibo", "how does the zylbrathic frobnitz work")

    assert [word for word in words if finder.find(word).passages] == []
    assert {passage.topic for passage in finder.find("qwfp pottery").passages} == {"talk"}
    assert finder.find("deploiment frankfurd", 1).passages[0].topic == "ops.deploy"


def test_only_what_changed_is_read_again(store: PassageStore, folder: Path) -> None:
    before = index(store, roots(folder))
    (folder / "leave.md").write_text(LEAVE.replace("two weeks", "five months"))
    (folder / "talk.txt").unlink()

    after = index(store, roots(folder))

    assert len(before.changed) == 3
    assert [Path(file.path).name for file in after.changed] == ["leave.md"]
    assert [Path(path).name for path in after.removed] == ["talk.txt"]
    assert "five months" in first(store, "how long ahead must I ask my lead")
    assert first(store, "pottery") == ""
    assert index(store, roots(folder)).changed == ()


def test_a_change_that_leaves_time_and_size_is_seen_while_it_is_fresh(
    store: PassageStore, folder: Path
) -> None:
    path = folder / "leave.md"
    index(store, roots(folder))
    status = path.stat()
    path.write_text(LEAVE.replace("two weeks", "six weeks"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    index(store, roots(folder), now_ns=status.st_mtime_ns + 1)

    assert "six weeks" in first(store, "ask lead ahead")


def test_a_finder_sees_what_another_process_indexed(store: PassageStore, folder: Path) -> None:
    index(store, roots(folder))
    finder = Finder(store)
    other = PassageStore.open(store.path)
    (folder / "new.md").write_text("# Parking\n\nThe garage closes at nine.\n")

    index(other, roots(folder))
    other.close()

    assert "nine" in finder.find("when does the garage close").passages[0].text


def test_what_was_indexed_is_kept_so_that_it_can_be_read_again(
    store: PassageStore, folder: Path
) -> None:
    blobs: dict[str, bytes] = {}

    def keep(data: bytes) -> str:
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return digest

    batch = index(store, roots(folder), keep=keep).batches[0]

    for file in batch.files:
        text = blobs[batch.blob][file.offset : file.offset + file.bytes]
        assert hashlib.sha256(text).hexdigest() == file.digest


def test_files_that_cannot_be_indexed_are_named_and_hold_up_nobody(
    store: PassageStore, folder: Path
) -> None:
    (folder / "binary.txt").write_bytes(b"a\0b")
    (folder / "latin.txt").write_bytes("Die Gr\xfc\xdfe stehen hier".encode("latin-1"))
    with (folder / "huge.log").open("wb") as file:
        file.truncate(2 << 30)  # holes: no block of the disk is used
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "outside.md").symlink_to("/etc/hostname")

    indexed = index(store, roots(folder))

    notes = sorted(Path(note.split(" ", 1)[0]).name for note in indexed.notes)
    assert notes == ["binary.txt", "huge.log", "latin.txt"]
    assert any("2,147,483,648 bytes" in note for note in indexed.notes)
    assert "Gr\xfc\xdfe" in first(store, "Gr\xfc\xdfe")
    assert "Frankfurt" in first(store, "deployment region")


def test_links_that_lead_round_in_circles_are_followed_once(
    store: PassageStore, folder: Path
) -> None:
    for name in ("l1", "l2"):
        (folder / "ops" / name).symlink_to(".")
        (folder / "ops" / f"{name}-up").symlink_to("..")
    for number in range(12):  # each folder has two links to the next: 4,096 ways to the last
        (folder / f"step{number}").mkdir()
        for name in ("a", "b"):
            (folder / f"step{number}" / name).symlink_to(f"../step{number + 1}")
    (folder / "step12").mkdir()
    (folder / "step12" / "end.md").write_text("# The end\n")

    indexed = index(store, roots(folder))
    topics = TopicIndex(roots(folder)).topics()

    long_way = f"step0.{'a.' * 12}end"
    assert sorted(file.topic for file in indexed.changed) == list(topics)
    assert topics == ("leave", "ops.deploy", long_way, "step12.end", "talk")


@pytest.mark.skipif(sys.platform == "darwin", reason="its names are UTF-8, the system sees to it")
def test_a_name_that_is_not_utf8_is_told_in_one_line_and_holds_up_nobody(
    tmp_path: Path, folder: Path
) -> None:
    bad = folder / os.fsdecode(b"bad\xff")
    bad.mkdir()
    for path in (bad.with_suffix(".md"), bad / "inner.md", bad.with_suffix(".png")):
        path.write_text("# Frankfurt\n")
    knowledge = Knowledge.open(tmp_path, roots(folder), KnowledgeConfig())

    indexed = knowledge.update(keep=lambda data: hashlib.sha256(data).hexdigest())
    notes = knowledge.statistics().notes

    assert sorted(note.split(" ", 1)[0] for note in notes) == [
        rf"{folder}/bad\xff",
        rf"{folder}/bad\xff.md",
    ]
    assert all(note.endswith("its name is not UTF-8; rename it") for note in notes)
    assert indexed.files == 3
    assert knowledge.find("deployment region").passages[0].topic == "ops.deploy"
    assert "\\xff" in msgspec.json.encode(indexed.batches).decode()
    bad.with_suffix(".md").rename(folder / "good.md")
    assert knowledge.update().removed == (rf"{folder}/bad\xff.md",)
    knowledge.close()


def test_a_file_that_vanishes_while_it_is_read_is_named(
    store: PassageStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Path.open

    def vanishing(path: Path, mode: str = "r") -> IO[Any]:
        if path.name == "leave.md":
            path.unlink()
        return opened(path, mode)

    monkeypatch.setattr(Path, "open", vanishing)

    indexed = index(store, roots(folder))

    assert len(indexed.notes) == 1
    assert "leave.md" in indexed.notes[0]
    assert "Frankfurt" in first(store, "deployment region")


def test_words_that_are_written_wrongly_are_found_by_their_parts(
    store: PassageStore, folder: Path
) -> None:
    index(store, roots(folder))
    finder = Finder(store, HashingEmbedder())
    finder.embed()

    assert "Frankfurt" in finder.find("deploiment frankfurd").passages[0].text


def test_a_text_has_the_same_vector_in_every_process_and_release() -> None:
    vector = HashingEmbedder().embed(["Frankfurt goes first"])[0]

    expected = [0.0, 0.0, 0.1071, 0.0, 0.0, 0.0, -0.1071, 0.0]
    assert np.allclose(vector[:8], expected, atol=1e-3)


def test_the_knowledge_of_a_home_is_updated_and_found(tmp_path: Path, folder: Path) -> None:
    knowledge = Knowledge.open(tmp_path, roots(folder), KnowledgeConfig(embedder="hashing"))

    knowledge.update()

    assert knowledge.find("deployment region").passages[0].topic == "ops.deploy"
    told = knowledge.statistics()
    assert (told.files, told.vectors, told.embedder) == (3, told.chunks, "hashing-256")
    assert (tmp_path / "vectors" / "knowledge.db").stat().st_mode & 0o077 == 0
    knowledge.close()


def test_an_embedder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match=r"model\.onnx"):
        embedder_of(KnowledgeConfig(embedder="local", model=str(tmp_path)))
    with pytest.raises(ValueError, match="needs `model`"):
        KnowledgeConfig(embedder="endpoint")

    (tmp_path / "model.onnx").write_bytes(b"no model")
    (tmp_path / "tokenizer.json").write_text("{}")
    pytest.importorskip("onnxruntime")
    with pytest.raises(EmbedderError, match="cannot be loaded"):
        LocalEmbedder(tmp_path).embed(["a"])
