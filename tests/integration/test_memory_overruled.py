"""A memory that contradicts a directive is shown as overruled, wherever it is shown, not hidden."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cortex.actors.accessors import MemoryAccessor
from cortex.actors.engines import DirectiveEngine, MemoryChainEngine
from cortex.bus.events import (
    ContextCompiled,
    DirectiveSubmit,
    MemoryAnswer,
    MemoryFind,
    MemoryGet,
    MemoryRecord,
    MemoryRecorded,
)
from cortex.runtime.admin import (
    chain_document,
    chain_page,
    list_memories,
    search_memory,
    view_memory,
)
from cortex.runtime.context import prompt_text
from cortex.runtime.directives import HomeDirectives
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.memory import HomeMemory

from ..staff_world import ANSWERING, World
from .test_memory import ASK

QUESTION = "how is the site deployed?"
DOCKER, OTHER = "We use Docker to deploy the site", "The site is deployed on Fridays"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / ".cortex")


@pytest.fixture
def world(home: Home) -> Iterator[World]:
    components = (*ANSWERING, MemoryAccessor, MemoryChainEngine, DirectiveEngine)
    with Runtime(home, components=components) as runtime:
        world = World(runtime)
        world.client = runtime.client("cli")
        world.compiled(ASK)
        yield world


def told(world: World, request: Any) -> Any:
    asked = world.client.publish(request)
    return world.wait(lambda said: said.record.causation == asked, asked).event


def recorded(world: World, content: str, scope: str = "user") -> str:
    request = MemoryRecord(content=content, kind="decision", origin="person", scope=scope)
    fact = told(world, request)
    assert isinstance(fact, MemoryRecorded), fact
    return fact.node_id


def test_a_prompt_says_which_of_its_memories_is_overruled(world: World) -> None:
    docker, other = recorded(world, DOCKER), recorded(world, OTHER)
    told(world, DirectiveSubmit(text="prohibit docker", scope="process:ask_memory"))

    run = world.run("ask_memory", {"question": QUESTION})

    lines = prompt_text(world.blobs.get(run.last(ContextCompiled).prompt)).splitlines()
    (said,) = [line for line in lines if line.startswith(f"[{docker}, ")]
    (kept,) = [line for line in lines if line.startswith(f"[{other}, ")]
    assert "overruled by `prohibit docker` of the scope process:ask_memory (event " in said
    assert said.endswith(DOCKER)
    assert "overruled" not in kept


def test_answers_commands_and_python_say_it_and_an_earlier_moment_does_not(
    world: World, home: Home
) -> None:
    docker = recorded(world, DOCKER)
    before = world.client.head
    told(world, DirectiveSubmit(text="prohibit docker"))
    by = f"`prohibit docker` of the scope user (event {before + 1})"

    answer = world.client.ask(MemoryFind(texts=(QUESTION,)), 60.0)
    chain = world.client.ask(MemoryGet(node_id=docker), 60.0)

    assert isinstance(answer, MemoryAnswer)
    assert isinstance(chain, MemoryAnswer)
    assert [hit["overruled_by"] for hit in answer.answers[0]["hits"]] == [by]
    assert [node["overruled_by"] for node in chain.chain["nodes"]] == [by]
    for where, expected in ((home, by), (home.at(before), "")):
        found = search_memory(where, QUESTION, (), history=False, limit=5)
        assert [row.overruled_by for row in found.memories] == [expected]
        assert [row.overruled_by for row in list_memories(where).memories] == [expected]
        assert [row.overruled_by for row in chain_document(where, docker).nodes] == [expected]
        assert ("overruled by" in chain_page(where, docker)) == bool(expected)
        assert ("overruled by" in view_memory(where, QUESTION).seen[0].line) == bool(expected)
        with HomeMemory.open(where) as memory, HomeDirectives.open(where) as directives:
            (result,) = memory.find((QUESTION,), ("user",))
            assert [hit.overruled_by for hit in directives.marked(result).hits] == [expected]


def test_the_directives_of_the_scopes_that_are_looked_at_count(world: World, home: Home) -> None:
    recorded(world, DOCKER)
    told(world, DirectiveSubmit(text="prohibit docker"))
    told(world, DirectiveSubmit(text="use docker", scope="project:site"))
    told(world, DirectiveSubmit(text="prohibit docker", scope="project:other"))

    def overruled(*scopes: str) -> list[bool]:
        found = search_memory(home, QUESTION, scopes, history=False, limit=5)
        return [bool(row.overruled_by) for row in found.memories]

    assert overruled() == [True]
    assert overruled("user") == [True]
    assert overruled("user", "project:site") == [False]
    assert overruled("user", "project:other") == [True]
    # A query is for one scope, and says nothing of the directives of others.
    told(world, DirectiveSubmit(text="remove policy docker"))
    answer = world.client.ask(MemoryFind(texts=(QUESTION,)), 60.0)
    assert isinstance(answer, MemoryAnswer)
    assert [hit["overruled_by"] for hit in answer.answers[0]["hits"]] == [""]
