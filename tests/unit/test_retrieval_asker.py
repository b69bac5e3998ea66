"""Who asks in the first person finds what he said himself first."""

from pathlib import Path

from cortex.runtime.retrieval import ChunkEntry, Finder, NewFile, PassageStore

TOLD = "The garden gate needs paint."


def test_a_question_in_the_first_person_prefers_what_its_asker_said(tmp_path: Path) -> None:
    store = PassageStore.open(tmp_path / "talk.db")
    # Apart, so that neither is the other's neighbour.
    files = [_file("one", TOLD, "Anna"), _file("two", TOLD, "Boris")]
    with store.writing():
        store.put(files)
    finder = Finder(store)

    def best(question: str, asker: str = "") -> str:
        return finder.find(question, asker=asker).passages[0].path

    assert best("What does my garden gate need?", "Boris") == "two"
    assert best("What does my garden gate need?", "Anna") == "one"
    assert best("What does the garden gate need?", "Boris") == "one"
    assert best("What does my garden gate need?") == "one"
    store.close()


def _file(path: str, text: str, speaker: str) -> NewFile:
    return NewFile(
        root="talk",
        path=path,
        topic="",
        scope="home",
        digest="",
        size_bytes=0,
        changed_ns=0,
        entries=[ChunkEntry("", 1, text, speaker)],
    )
