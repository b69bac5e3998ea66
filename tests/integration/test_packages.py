"""Packages in a running Cortex: compiled, compiled again when memory changes, and suggested."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from cortex.actors.engines import PackageEngine
from cortex.bus import Event
from cortex.bus.events import (
    ContextCompiled,
    ExecutionRequest,
    GcCollect,
    MemoryCollected,
    MemoryCorrect,
    MemoryEdge,
    MemoryForget,
    MemoryRefused,
    PackageCompile,
    PackageCompiled,
    PackageRefused,
    PackageSuggest,
    PackageSuggested,
)
from cortex.runtime.admin import (
    compile_package,
    explain_node,
    gc_statistics,
    package_rows,
    show_package,
    view_memory,
)
from cortex.runtime.context import Manifest, prompt_text
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.memory import HomeMemory

from ..staff_world import World
from .test_memory import ASK, record, told
from .test_memory import COMPONENTS as MEMORY

COMPONENTS = (*MEMORY, PackageEngine)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / ".cortex")


@pytest.fixture(params=["home", "memory"])
def world(request: pytest.FixtureRequest, home: Home) -> Iterator[World]:
    """With a home, where packages are compiled in a process of their own, and in memory alone."""
    given = home if request.param == "home" else None
    with Runtime(given, components=COMPONENTS) as runtime:
        yield World(runtime)


def compiled(world: World, *nodes: str, scope: str = "user") -> PackageCompiled:
    (fact,) = told(world, PackageCompile(chains=nodes, scope=scope))
    assert isinstance(fact, PackageCompiled), fact
    return fact


def compiled_after(world: World, position: int) -> PackageCompiled:
    said = world.wait(lambda each: isinstance(each.event, PackageCompiled), position)
    assert isinstance(said.event, PackageCompiled)
    return said.event


def text_of(world: World, package: PackageCompiled, *, history: bool = True) -> str:
    return world.blobs.get(package.digest if history else package.current_digest).decode()


def billing(world: World) -> tuple[str, str]:
    """A memory that holds, which has replaced another one; and what it came of."""
    cause = record(world, "Billing lost rows twice in May", kind="observation")
    old = record(world, "We use MySQL for billing", edges=(MemoryEdge("caused_by", cause),))
    fact = told(world, MemoryCorrect(node_id=old, content="We use Postgres for billing"))[0]
    return fact.node_id, cause  # type: ignore[attr-defined]  # it is a MemoryRecorded


def test_a_chain_is_compiled_into_one_text(world: World) -> None:
    new, cause = billing(world)

    package = compiled(world, cause)

    assert "We use MySQL for billing" in text_of(world, package)
    assert "MySQL" not in text_of(world, package, history=False)
    assert package.sources == (new, cause)
    assert 0 < package.current_tokens < package.tokens
    assert package.raw_tokens > package.tokens


def test_a_package_follows_its_memories(world: World) -> None:
    new, cause = billing(world)
    first = compiled(world, new)
    asked = world.client.publish(MemoryCorrect(node_id=new, content="We use SQLite for billing"))

    second = compiled_after(world, asked)
    forgotten = world.client.publish(MemoryForget(node_id=cause))
    third = compiled_after(world, forgotten)

    assert first.package_id == second.package_id == third.package_id
    assert "SQLite" in text_of(world, second, history=False)
    assert "Postgres" not in text_of(world, second, history=False)
    assert "lost rows" not in text_of(world, third)


def test_a_package_is_no_more_when_nothing_of_it_is_current(world: World) -> None:
    node = record(world, "Tea is out")
    package = compiled(world, node)
    asked = world.client.publish(MemoryForget(node_id=node))

    assert compiled_after(world, asked).digest == ""
    (refused,) = told(world, PackageCompile(chains=(node,)))
    assert isinstance(refused, PackageRefused)
    assert "nothing of" in refused.reason
    assert package.digest


def test_a_request_that_makes_no_sense_is_refused_in_one_line(world: World) -> None:
    node = record(world, "Tea is out")
    for asked, why in (
        (PackageCompile(), "from 1 to 8"),
        (PackageCompile(chains=("nowhere",)), "nowhere"),
        (PackageCompile(chains=(node,), scope="project:shop"), "in the scope project:shop"),
        (PackageCompile(package_id="none"), "cortex package list"),
    ):
        (refused,) = told(world, asked)
        assert isinstance(refused, PackageRefused)
        assert why in refused.reason
        assert "\n" not in refused.reason


def test_chains_that_steps_retrieve_together_are_suggested_and_compiled(world: World) -> None:
    garage = record(world, "The garage closes at nine")
    gate = record(world, "The gate of the garage is green")
    world.compiled(ASK)
    for _ in range(3):
        run = world.run("ask_memory", {"question": "what about the garage?"})
        assert run.outcome == "completed", run.end

    asked = world.client.publish(PackageSuggest())
    said = world.wait(lambda each: isinstance(each.event, PackageSuggested), asked)
    package = compiled_after(world, asked)

    assert isinstance(said.event, PackageSuggested)
    assert said.event.chains == package.chains == tuple(sorted((garage, gate)))
    assert said.event.package_id == package.package_id
    assert said.event.steps == 3
    again = world.client.publish(PackageSuggest())
    world.client.publish(PackageCompile(chains=(garage,)))
    assert compiled_after(world, again).package_id != package.package_id


def test_packages_are_read_without_a_runtime_and_as_they_were(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        new, _ = billing(world)
        package = compiled(world, new)
        then = world.client.head
        asked = world.client.publish(MemoryCorrect(node_id=new, content="We use SQLite"))
        compiled_after(world, asked)

    with HomeMemory.open(home) as memory:
        (now,) = memory.packages()
        text = memory.package_text(now, history=False)
    with HomeMemory.open(home.at(then)) as memory:
        before = memory.package(package.package_id[:6])
        text_before = memory.package_text(before, history=False)

    assert "SQLite" in text
    assert "Postgres" in text_before
    assert before.fresh
    assert (now.position > before.position, now.fresh) == (True, True)
    assert before.ratio > 1


def without_packages(home: Home, request: Event) -> None:
    """Change memory where nothing compiles packages, as in a command that ends before it could."""
    others = tuple(each for each in COMPONENTS if each is not PackageEngine)
    with Runtime(home, components=others) as runtime:
        (fact, *_) = told(World(runtime), request)
        assert not isinstance(fact, MemoryRefused)


def test_what_was_forgotten_is_in_no_package_though_no_runtime_compiled_it_again(
    home: Home,
) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        new, cause = billing(world)
        package = compiled(world, new)
        then = world.client.head

    without_packages(home, MemoryForget(node_id=cause))

    with HomeMemory.open(home) as memory:
        (now,) = memory.packages()
        assert now == memory.package(package.package_id)
        assert (now.fresh, now.sources, now.digest) == (False, (new,), "")
        assert now.tokens < package.tokens
        for history in (True, False):
            assert "May" not in memory.package_text(now, history=history)
            assert "Postgres" in memory.package_text(now, history=history)
    with HomeMemory.open(home.at(then)) as memory:
        (before,) = memory.packages()
        assert "May" in memory.package_text(before)

    without_packages(home, MemoryForget(node_id=new))

    with HomeMemory.open(home) as memory:
        assert memory.packages() == []
        assert memory.package_text(memory.package(package.package_id)) == ""


def test_a_package_that_no_prompt_has_is_collected_and_comes_back(home: Home) -> None:
    (home.path / "config.toml").write_text("[gc]\npackage_days = 0\n")
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        new, _ = billing(world)
        package = compiled(world, new)
        asked = world.client.publish(GcCollect(generation=2))
        ended = world.wait(lambda said: isinstance(said.event, MemoryCollected), asked)

    assert isinstance(ended.event, MemoryCollected)
    assert (ended.event.packages, ended.event.nodes) == ((package.package_id,), ())
    assert package_rows(home) == []
    assert explain_node(home, package.package_id).state == "collected"
    shown = show_package(home, package.package_id)
    assert shown.package.collected == ended.record.position
    assert "Postgres" in shown.text

    back = compile_package(home, (new,))

    assert (back.id, back.fresh, back.collected) == (package.package_id, True, 0)
    explained = explain_node(home, package.package_id)
    assert "goes with a collection" in explained.said or "goes with the next" in explained.said
    generations = gc_statistics(home).generations
    assert [(each.nodes, each.packages) for each in generations] == [(3, 1), (0, 0), (0, 0)]


def test_the_fold_of_packages_is_the_same_after_a_restart(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        new, _ = billing(world)
        first = compiled(world, new)
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        asked = world.client.publish(MemoryCorrect(node_id=new, content="We use SQLite"))

        assert compiled_after(world, asked).package_id == first.package_id


HISTORY = ASK.replace("ask_memory", "ask_history").replace(
    'memory: "${inputs.question}"', 'memory: {text: "${inputs.question}", history: true}'
)
QUESTION = {"question": "why does billing use a database, and which one: was billing losing rows?"}


def asked(world: World, source: str = ASK, subject: str = "") -> tuple[ContextCompiled, str]:
    """What a step that asks about billing was sent."""
    name = f"ask{world.client.head}"
    world.compiled(source.replace("ask_memory", name).replace("ask_history", name))
    request = ExecutionRequest(execution_id=f"of-{name}", process=name, inputs=QUESTION)
    after = world.client.publish(request, subject=subject or None)
    run = world.stopped(request.execution_id, after)
    assert run.outcome == "completed", run.end
    compiled = run.last(ContextCompiled)
    return compiled, prompt_text(world.blobs.get(compiled.prompt))


def test_a_step_gets_a_fresh_package_in_place_of_single_memories(world: World) -> None:
    new, cause = billing(world)
    single, before = asked(world)
    package = compiled(world, new)

    prompt, text = asked(world)

    (use,) = prompt.packages
    assert single.packages == ()
    assert set(single.memories) == set(prompt.memories) == {new, cause}
    assert (use.package_id, use.digest) == (package.package_id, package.current_digest)
    assert use.tokens == package.current_tokens < use.instead_of
    assert text_of(world, package, history=False) in text
    assert f"[{new}, " in before
    assert f"[{new}, " not in text
    assert "MySQL" not in text
    assert prompt.sections["memory"] < single.sections["memory"]
    manifest = msgspec.json.decode(world.blobs.get(prompt.manifest), type=Manifest)
    assert [entry.id for entry in manifest.items if entry.section == "memory"] == [
        f"package:{package.package_id}"
    ]


def test_a_step_that_asks_for_history_gets_what_was_replaced_as_such(world: World) -> None:
    new, _ = billing(world)
    package = compiled(world, new)

    prompt, text = asked(world, HISTORY)

    assert [use.digest for use in prompt.packages] == [package.digest]
    (line,) = (line for line in text.splitlines() if "MySQL" in line)
    assert "replaced by 1" in line
    assert set(prompt.memories) == {*package.sources, *package.replaced}


def test_no_replaced_memory_is_in_a_prompt_by_way_of_a_package_that_became_stale(
    world: World,
) -> None:
    new, _ = billing(world)
    compiled(world, new)
    told(world, MemoryCorrect(node_id=new, content="We use SQLite for billing"))

    prompt, text = asked(world)  # whether the package was compiled again by then, or not

    assert "SQLite" in text
    assert "Postgres" not in text
    assert new not in prompt.memories


def test_the_personal_data_of_one_is_in_no_package_for_another(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        first = record(world, "Billing lost rows of Anna", subject="anna@example.org")
        edges = (MemoryEdge("caused_by", first),)
        record(world, "Billing uses a database for Anna", subject="anna@example.org", edges=edges)
        compiled(world, first)

        ours, _ = asked(world)
        hers, _ = asked(world, subject="anna@example.org")

    assert ours.packages == ()
    assert len(hers.packages) == 1


def test_uses_are_counted_in_prompts_and_nowhere_else(home: Home) -> None:
    with Runtime(home, components=COMPONENTS) as runtime:
        world = World(runtime)
        new, _ = billing(world)
        package = compiled(world, new)
        asked(world)
        asked(world)

    show_package(home, package.package_id)
    seen = view_memory(home, QUESTION["question"])

    assert show_package(home, package.package_id).package.uses == 2
    assert [each.id for each in seen.packages] == [package.package_id]
    assert not {each.id for each in seen.seen} & {*package.sources}
