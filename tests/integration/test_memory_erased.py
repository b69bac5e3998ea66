"""What is remembered of a person goes with `audit erase`, and nothing brings it back."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from cortex.actors.engines import PackageEngine
from cortex.bus.events import (
    MemoryConsolidate,
    MemoryCorrect,
    MemoryEdge,
    MemoryFind,
    MemoryForget,
    MemoryRecord,
    MemoryRecorded,
    MemoryRefused,
    MemoryRequest,
    MemoryRequested,
    MemoryRestore,
    PackageCompile,
    PackageCompiled,
    PackageRefused,
)
from cortex.runtime import erasure
from cortex.runtime.admin import (
    correct_memory,
    export_memory,
    forget_memory,
    import_memory,
    record_memory,
    restore_memory,
    reword_memory,
    view_memory,
)
from cortex.runtime.kernel import Home, RefusedError, Runtime
from cortex.runtime.log import BlobError
from cortex.runtime.memory import HomeMemory, MemoryView

from ..staff_world import World
from ..unit.test_memory_rewording import shorter
from ..unit.test_memory_summaries import said
from .test_erasure import found_in
from .test_memory import COMPONENTS, found, record, told
from .test_packages import compiled

ANNA = "anna@example.org"
SEEDS = [f"seed-{number:03}-{number * 7919:x}" for number in range(100)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / ".cortex")


def test_no_string_of_an_erased_person_is_left_in_any_file(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        ids = [
            record(world, f"Anna said {seed}", subject=ANNA, entities=(seed,), quote=seed)
            for seed in SEEDS[:50]
        ]
        told(world, MemoryForget(node_id=ids[0]))
        for seed in SEEDS[50:]:
            record(world, f"Anna replied {seed}", subject=ANNA, source=seed)
        other = record(world, "The office closes at six")
        assert found(world.client, "what did Anna say?")
    with HomeMemory.open(home) as memory:
        assert memory.view.count() == 101

    erasure.erase(home, ANNA, "she asked for it")

    assert found_in(home.path, SEEDS) == {}
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        (refused,) = told(world, MemoryRestore(node_id=ids[0]))
        assert isinstance(refused, MemoryRefused)
        assert not [hit for hit in found(world.client, "Anna said") if hit["node"]["id"] in ids]
        assert [hit["node"]["id"] for hit in found(world.client, "office")] == [other]
    with HomeMemory.open(home) as memory:
        assert list(memory.view.nodes(memory.view.touched(0))) == [other]
    assert found_in(home.path, SEEDS) == {}


def test_a_step_is_given_nothing_about_another_person(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        about_anna = record(world, f"Anna takes her tea black {SEEDS[0]}", subject=ANNA)
        other = record(world, "Tea is in the kitchen")
        asked = world.client.publish(
            MemoryRequest(execution_id="e", step_id="s", texts=("tea",), scopes=("user",))
        )
        given = world.wait(
            lambda said: isinstance(said.event, MemoryRequested) and said.record.causation == asked,
            asked,
        ).event

    assert isinstance(given, MemoryRequested)
    assert given.nodes == (other,)
    seen = {
        subject: {each.id for each in view_memory(home, "tea", subject=subject).seen}
        for subject in ("", ANNA, "bob@example.org")
    }
    assert seen == {"": {other}, ANNA: {other, about_anna}, "bob@example.org": {other}}
    erasure.erase(home, ANNA, "she asked for it")
    assert found_in(home.path, SEEDS) == {}


def test_packages_of_an_erased_person_go_with_all_that_was_compiled_into_them(home: Home) -> None:
    components = (*COMPONENTS, PackageEngine)
    with Runtime(home, components=components) as runtime:
        world = World(runtime)
        ids = [record(world, f"Anna said {SEEDS[0]}", subject=ANNA)]
        for seed in SEEDS[1:97]:
            edges = (MemoryEdge("led_to", ids[-1]),)
            ids.append(record(world, f"Anna replied {seed}", subject=ANNA, edges=edges))
        ids += [  # which a consolidation says again
            record(world, f"She likes her tea black {seed}", subject=ANNA, kind="observation")
            for seed in SEEDS[97:]
        ]
        told(world, MemoryConsolidate())
        packages = [compiled(world, ids[5]), compiled(world, ids[0], ids[-1])]
        told(world, MemoryCorrect(node_id=ids[3], content=f"No: {SEEDS[3]}", subject=ANNA))
        other = record(world, "The office closes at six")
        kept = compiled(world, other)
    with HomeMemory.open(home) as memory:
        assert len(memory.packages()) == 3
        assert all(memory.package_text(each) for each in memory.packages())

    erasure.erase(home, ANNA, "she asked for it")

    assert found_in(home.path, SEEDS) == {}
    with HomeMemory.open(home) as memory:
        (left,) = memory.packages()
        assert "office" in memory.package_text(left)
        for each in packages:
            with pytest.raises(BlobError):
                memory.source.blobs.get(each.digest)
    with Runtime(home, components=components) as runtime:
        world = World(runtime)
        for asked in (
            PackageCompile(package_id=packages[0].package_id),
            PackageCompile(chains=(ids[5],)),
        ):
            (refused,) = told(world, asked)
            assert isinstance(refused, PackageRefused)
        (again,) = told(world, PackageCompile(package_id=kept.package_id))
        assert isinstance(again, PackageCompiled)
        assert again.digest == kept.digest
    assert found_in(home.path, SEEDS) == {}


def test_what_was_restored_and_why_it_was_forgotten_go_with_the_person(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        node = record(world, f"Anna said {SEEDS[0]}", subject=ANNA, quote=SEEDS[1])
        told(world, MemoryForget(node_id=node, why=SEEDS[2], subject=ANNA))
        told(world, MemoryRestore(node_id=node))
        assert [hit["node"]["id"] for hit in found(world.client, "what did Anna say?")] == [node]

    erasure.erase(home, ANNA, "she asked for it")

    assert found_in(home.path, SEEDS) == {}


def test_commands_that_name_no_person_record_nothing_of_one_in_clear(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        node = record(World(runtime), f"Anna said {SEEDS[0]}", subject=ANNA)
    right = correct_memory(home, node, f"Anna said {SEEDS[1]}").id
    forget_memory(home, right, SEEDS[2])
    restore_memory(home, right)

    erasure.erase(home, ANNA, "she asked for it")

    assert found_in(home.path, SEEDS) == {}


def test_a_wording_that_names_no_person_belongs_to_that_of_the_summary(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        before: tuple[MemoryEdge, ...] = ()
        for number in range(12):
            node = record(world, said(number), edges=before, update=False, subject=ANNA)
            before = (MemoryEdge("caused_by", node),)
        (summary, *_) = told(world, MemoryConsolidate())
    assert isinstance(summary, MemoryRecorded)

    reword_memory(home, summary.node_id, shorter(summary.content.partition(": ")[2]))

    erasure.erase(home, ANNA, "she asked for it")
    assert found_in(home.path, ["load balancer", "copied by hand"]) == {}


def test_an_edge_to_a_person_is_refused_before_its_text_is_on_record(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        node = record(World(runtime), f"Anna said {SEEDS[0]}", subject=ANNA)
    edge = MemoryEdge("supersedes", node)
    asked = MemoryRecord(kind="decision", content=SEEDS[1], origin="person", edges=(edge,))

    with pytest.raises(RefusedError, match="name the same one with --subject"):
        record_memory(home, asked)

    record_memory(home, replace(asked, content=SEEDS[2], subject=ANNA))
    erasure.erase(home, ANNA, "she asked for it")
    assert found_in(home.path, SEEDS) == {}


@pytest.mark.parametrize("moment", ["before the search", "while it writes the index"])
def test_who_reads_memory_over_an_erasure_writes_nothing_of_the_person_again(
    home: Home, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        record(World(runtime), f"Anna said {SEEDS[0]}", subject=ANNA)
    touched = MemoryView.touched

    def erased_meanwhile(view: MemoryView, after: int) -> list[str]:
        monkeypatch.undo()
        erasure.erase(home, ANNA, "she asked for it")
        return touched(view, after)

    with HomeMemory.open(home) as memory:
        if moment == "before the search":
            erasure.erase(home, ANNA, "she asked for it")
        else:
            monkeypatch.setattr(MemoryView, "touched", erased_meanwhile)
        memory.find(["what did Anna say?"], ("user",))

    assert found_in(home.path, SEEDS) == {}
    with HomeMemory.open(home) as memory:
        (result,) = memory.find(["what did Anna say?"], ("user",))
    assert not result.hits


def test_memories_of_two_people_are_two_though_they_say_the_same(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        anna = record(world, "Likes tea", subject=ANNA)
        ben = record(world, "Likes tea", subject="ben@example.org")
        runtime.client("x").ask(MemoryFind(texts=("tea",)), 60.0)

    erasure.erase(home, ANNA, "she asked for it")

    with HomeMemory.open(home) as memory:
        assert list(memory.view.nodes([anna, ben])) == [ben]


def test_a_person_who_was_erased_may_be_remembered_anew(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        record(World(runtime), "Likes tea", subject=ANNA)
    erasure.erase(home, ANNA, "she asked for it")

    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        node = record(world, "Likes tea", subject=ANNA)
        assert [hit["node"]["id"] for hit in found(world.client, "tea")] == [node]
        (again,) = told(world, MemoryRecord(kind="decision", content="likes tea", subject=ANNA))
    assert getattr(again, "again", False)


def test_what_was_erased_and_imported_again_is_forgotten_and_restored_like_any_memory(
    home: Home,
) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        node = record(World(runtime), "Likes tea", subject=ANNA, quote="tea, please")
    file = list(export_memory(home, with_subjects=True)[1])
    erasure.erase(home, ANNA, "she asked for it")
    import_memory(home, file)

    forget_memory(home, node)
    with HomeMemory.open(home) as memory:
        assert memory.view.nodes([node])[node].content == "Likes tea"
    restore_memory(home, node)

    assert list(export_memory(home, with_subjects=True)[1]) == file


def test_an_id_may_hold_a_short_name_by_chance_and_is_refused_if_it_is_one(home: Home) -> None:
    by_chance = MemoryRecord(
        kind="decision", content="Likes tea", origin="person", subject="ada", node_id="x7adaq2m"
    )
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        (recorded,) = told(world, by_chance)
        (again,) = told(world, replace(by_chance, node_id=""))
        refused = [
            *told(world, replace(by_chance, node_id="anna", subject="Anna")),
            *told(world, replace(by_chance, node_id="1annalena", subject="annalena")),
        ]
        (corrected, _) = told(
            world, MemoryCorrect(node_id="x7adaq2m", content="Likes coffee", subject="ada")
        )
        failures = [each for each in world.said() if each.record.topic == "component.restarted"]

    assert isinstance(recorded, MemoryRecorded)
    assert isinstance(again, MemoryRecorded)
    assert isinstance(corrected, MemoryRecorded)
    assert again.again
    for each in refused:
        assert isinstance(each, MemoryRefused)
        assert "has the name of its subject" in each.reason
    assert not failures
    erasure.erase(home, "ada", "it was asked for")
    assert found_in(home.path, ["Likes tea", "Likes coffee"]) == {}
