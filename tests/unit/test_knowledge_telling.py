"""All that was indexed is told, however much it is; what is asked has its bounds."""

from pathlib import Path

import pytest

from cortex.actors.accessors import KnowledgeStoreAccessor
from cortex.bus import Draft, EventInvalidError
from cortex.bus.events import (
    VOCABULARY,
    KnowledgeAnswer,
    KnowledgeFind,
    KnowledgeIndex,
    KnowledgeIndexed,
    KnowledgeRemoved,
    KnowledgeRequest,
    KnowledgeRequested,
)
from cortex.runtime.kernel import Config, Delivery, Home, Runtime
from cortex.runtime.knowledge import Knowledge, KnowledgeConfig, Root
from cortex.runtime.log import MemoryBlobs

GIVEN = Delivery(1, 1_700_000_000_000_000_001, "Tested", "tester", "e1", 1, 1)
MANY = 1_500


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home.create(tmp_path / ".cortex")
    (made.knowledge / "parking.md").write_text("# Parking\n\nThe garage closes at nine.\n")
    return made


def test_as_many_files_as_there_are_are_told_in_events_that_the_bus_takes(home: Home) -> None:
    folder = home.knowledge / ("f" * 200)
    folder.mkdir()
    pages = [folder / f"page{number}.md" for number in range(MANY)]
    for page in pages:
        page.write_text("x\n")
    config = Config(knowledge=KnowledgeConfig(embedder="none"))
    accessor = KnowledgeStoreAccessor(MemoryBlobs(), config, home)

    events = list(accessor.index(KnowledgeIndex(), GIVEN))
    for page in pages:
        page.unlink()
    events.extend(accessor.index(KnowledgeIndex(), GIVEN))
    accessor.on_stop()

    for event in events:
        VOCABULARY.check(Draft.of(event))
    said = [event for event in events if isinstance(event, KnowledgeIndexed)]
    gone = [event for event in events if isinstance(event, KnowledgeRemoved)]
    assert {str(page) for page in pages} <= {file["path"] for e in said for file in e.files}
    assert all(event.blob for event in said)
    assert all(event.chunks == sum(file["chunks"] for file in event.files) for event in said)
    assert sorted(path for event in gone for path in event.paths) == sorted(map(str, pages))


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (
            KnowledgeFind(text="garage", under=("a",) * 101),
            "101 topics stand under `under`, a question may have 100: name one above them",
        ),
        (
            KnowledgeFind(text="x" * 10_001),
            "the text has 10,001 characters, a question may have 10,000: ask in a few words",
        ),
    ],
)
def test_a_question_over_a_bound_is_answered_with_the_bound(
    home: Home, asked: KnowledgeFind, problem: str
) -> None:
    accessor = KnowledgeStoreAccessor(MemoryBlobs(), Config(), home)

    (answer,) = accessor.find(asked, GIVEN)

    assert answer == KnowledgeAnswer(passages=(), problem=problem)
    assert not (home.path / "vectors").exists(), "nothing was looked at"


def test_a_step_that_names_too_many_topics_is_told_the_bound(home: Home) -> None:
    accessor = KnowledgeStoreAccessor(MemoryBlobs(), Config(), home)
    under = tuple(f"t{number}" for number in range(101))
    request = KnowledgeRequest(execution_id="e1", step_id="s1", texts=("garage",), under=under)

    (answer,) = accessor.request(request, GIVEN)

    assert isinstance(answer, KnowledgeRequested)
    assert "a question may have 100" in answer.problem


def test_a_client_that_asks_with_what_is_no_text_gets_an_error_of_the_project(home: Home) -> None:
    with (
        Runtime(home, components=(KnowledgeStoreAccessor,)) as runtime,
        pytest.raises(EventInvalidError, match=r"knowledge\.find: .* is not text"),
    ):
        runtime.client("asker").ask(KnowledgeFind(text="half \ud800 of a pair"))


def test_a_file_that_cannot_be_indexed_is_named_and_not_counted(home: Home) -> None:
    (home.knowledge / "picture.md").write_bytes(b"\0\1\2")
    (home.knowledge / "empty.md").write_text("")
    knowledge = Knowledge.open(
        home.path, [Root(str(home.knowledge), "home")], KnowledgeConfig(embedder="none")
    )

    indexed = knowledge.update()
    told = knowledge.statistics()

    assert knowledge.topics() == ("empty", "parking")
    assert (indexed.files, told.files, told.by_scope) == (2, 2, {"home": 2})
    assert ["picture.md" in note for note in told.notes] == [True]
    knowledge.close()
