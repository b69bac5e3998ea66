"""After an erasure no read of memory shows the person: not now, and not as it was before."""

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest

from cortex.actors.engines import PackageEngine
from cortex.bus import CortexError, serving
from cortex.bus.events import (
    ExecutionRequest,
    MemoryConsolidate,
    MemoryCorrect,
    MemoryEdge,
    MemoryForget,
    MemoryRefused,
    MemoryRestore,
    PackageCompile,
    PackageCompiled,
)
from cortex.runtime import erasure
from cortex.runtime.admin import (
    blame,
    chain_document,
    chain_page,
    consolidation_rows,
    constraints,
    explain_node,
    export_memory,
    list_memories,
    package_rows,
    search_memory,
    show_package,
    view_memory,
)
from cortex.runtime.cache import Cache, CacheConfig, CacheKey, digest_of
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.memory import HomeMemory
from cortex.runtime.subjects import SubjectKeys

from ..staff_world import World
from .test_erasure import found_in
from .test_memory import ASK, COMPONENTS, record, told
from .test_memory_erased import ANNA, SEEDS
from .test_packages import compiled

HALF = random.Random(7).randbytes(400_000)  # two fit the small tiers below, and none compresses


class Lived:
    """A home that knows much of Anna, and what a reader may ask for."""

    def __init__(self, home: Home) -> None:
        self.home = home
        with Runtime(home, components=(*COMPONENTS, PackageEngine)) as runtime:
            world = World(runtime)
            self._remember(world)
            self._use(world)
            self.head = world.client.head
        self._search()
        self._cached = [CacheKey("context.form", (digest_of(each),), 1) for each in SEEDS[90:]]
        self._cache()

    def _remember(self, world: World) -> None:
        fields = {"subject": ANNA, "kind": "observation"}
        self.said = [  # a cluster
            record(world, f"Anna likes her tea black {seed}", **fields) for seed in SEEDS[:8]
        ]
        self.chain = [record(world, f"Anna began {SEEDS[8]}", **fields)]
        for seed in SEEDS[9:40]:  # a long chain
            content = f"Then Anna went on to the next part of her long work, which was {seed}"
            edges = (MemoryEdge("caused_by", self.chain[-1]),)
            self.chain.append(record(world, content, edges=edges, **fields))
        self.talk = [  # side by side
            record(world, f"Anna told of {seed}", source=SEEDS[60], **fields)
            for seed in SEEDS[40:60]
        ]
        self.given = [
            record(
                world,
                f"Anna met {seed}",
                embedding=(0.1, 0.2, 0.3),
                entities=(seed,),
                quote=seed,
                source=seed,
                **fields,
            )
            for seed in SEEDS[61:80]
        ]
        told(world, MemoryCorrect(node_id=self.given[0], content=f"No: {SEEDS[80]}", subject=ANNA))
        told(world, MemoryForget(node_id=self.given[1], why=SEEDS[81], subject=ANNA))
        told(world, MemoryForget(node_id=self.given[2], subject=ANNA))
        told(world, MemoryRestore(node_id=self.given[2]))
        told(world, MemoryConsolidate())
        self.package = compiled(world, self.chain[3]).package_id
        self.office = record(world, "The office closes at six")

    def _use(self, world: World) -> None:
        world.compiled(ASK)
        question = {"question": f"what did Anna begin, and what is {SEEDS[82]}?"}
        asked = ExecutionRequest(execution_id="ex", process="ask_memory", inputs=question)
        ended = world.stopped("ex", world.client.publish(asked, subject=ANNA))
        assert ended.outcome == "completed", ended.end

    def _search(self) -> None:
        with HomeMemory.open(self.home) as memory:
            (hits,) = memory.find(["what did Anna like?"], ("user",), history=True)
        assert hits.hits

    def _cache(self) -> None:
        small = CacheConfig(memory_mb=1, disk_mb=1)
        with serving(SubjectKeys.of_home(self.home.path).id_of(ANNA)):
            cache = Cache(self.home.path, small)
            for key, seed in zip(self._cached, SEEDS[90:], strict=True):
                cache.put(key, seed.encode() + HALF)
            cache.close()

    def cached(self) -> list[bytes | None]:
        cache = Cache(self.home.path)
        try:
            return [cache.get(key, cold=True) for key in self._cached]
        finally:
            cache.close()

    def reads(self, at: int | None) -> Iterator[str]:
        """What each kind of read shows, as it was at a position."""
        home = self.home if at is None else self.home.at(at)
        ids = [self.said[0], self.chain[5], self.given[0], self.given[1], self.talk[1], self.office]
        asked = "what did Anna tell, begin, meet or like?"
        yield from shown(lambda: search_memory(home, asked, ("user",), history=True, limit=100))
        yield from shown(lambda: list_memories(home, history=True, limit=1_000))
        yield from shown(lambda: list_memories(home, gone=True, limit=1_000))
        yield from shown(lambda: consolidation_rows(home))
        yield from shown(lambda: constraints(home, asked, ("user",)))
        yield from shown(lambda: view_memory(home, asked, subject=ANNA))
        yield from shown(lambda: package_rows(home))
        yield from shown(lambda: show_package(home, self.package))
        yield from shown(lambda: blame(home, "ex"))
        for node_id in ids:
            yield from shown(partial(chain_document, home, node_id))
            yield from shown(partial(chain_page, home, node_id))
            yield from shown(partial(explain_node, home, node_id))
        yield from shown(lambda: list(export_memory(home, with_subjects=True)[1]))


def shown(read: Callable[[], object]) -> Iterator[str]:
    """What a read shows; or why it shows nothing, in one line."""
    try:
        yield msgspec.json.encode(read()).decode()
    except CortexError as error:
        yield str(error)


@pytest.fixture
def lived(tmp_path: Path) -> Lived:
    return Lived(Home.create(tmp_path / ".cortex"))


def seeds_in(texts: Iterator[str]) -> set[str]:
    whole = "\n".join(texts)
    return {seed for seed in SEEDS if seed in whole}


def test_no_read_now_or_as_it_was_shows_anything_of_an_erased_person(lived: Lived) -> None:
    home, moments = lived.home, (None, lived.head, lived.head // 2)
    assert len(seeds_in(lived.reads(None))) > 75  # the reads would show it
    assert len(seeds_in(lived.reads(lived.head))) > 75
    assert lived.cached() == [seed.encode() + HALF for seed in SEEDS[90:]]
    held = {name.split("/")[0] for name in found_in(home.path, SEEDS)}
    assert {"memory.db", "cache.db", "vectors"} <= held
    assert list((home.path / "cold").rglob("*"))

    erasure.erase(home, ANNA, "she asked for it")

    assert found_in(home.path, SEEDS) == {}
    assert lived.cached() == [None] * 10
    for at in moments:
        assert seeds_in(lived.reads(at)) == set(), at
    assert found_in(home.path, SEEDS) == {}  # the reads derived nothing again
    texts = [*lived.reads(None)]
    assert any("The office closes at six" in each for each in texts)


def test_nothing_brings_back_what_was_erased(lived: Lived) -> None:
    erasure.erase(lived.home, ANNA, "she asked for it")

    with Runtime(lived.home, components=(*COMPONENTS, PackageEngine)) as runtime:
        world = World(runtime)
        for node_id in (lived.said[0], lived.given[1], lived.given[2]):
            (refused,) = told(world, MemoryRestore(node_id=node_id))
            assert isinstance(refused, MemoryRefused)
        told(world, MemoryConsolidate())
        (again,) = told(world, PackageCompile(chains=(lived.office,)))
        assert isinstance(again, PackageCompiled)

    assert seeds_in(lived.reads(None)) == set()
    assert found_in(lived.home.path, SEEDS) == {}
