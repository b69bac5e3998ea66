"""A process that is killed while it compiles packages: what is there equals a clean replay."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from cortex.actors.engines import PackageEngine
from cortex.bus.events import VOCABULARY, PackageCompiled
from cortex.runtime.context import counter_for
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.memory import (
    COUNTED_IN,
    HomeMemory,
    PackageState,
    package_text,
    planned_again,
)

from .killing import kill_until_done
from .test_memory import COMPONENTS as MEMORY

COMPONENTS = (*MEMORY, PackageEngine)
KILLS, SEED, LINES_MOST = 4, 20_261_129, 12
PATIENCE_S = 120.0
# Each round makes packages stale and asks for them. It says so before they are compiled, so that a
# kill falls into that.
CHILD = """
import sys
from pathlib import Path
from cortex.bus.events import MemoryCorrect, MemoryEdge, MemoryRecord, PackageCompile
from cortex.runtime.kernel import Home, Runtime

def answered(feed, asked):
    while all(record.causation != asked for record in feed.next(1.0)):
        pass


first = int(sys.argv[2])
with Runtime(Home(Path(sys.argv[1]))) as runtime:
    client = runtime.client("writer")
    facts = client.follow(("memory.corrected", None), ("memory.refused", None))
    packages = client.follow(("package.compiled", None))
    for n in range(first, first + 1_000):
        for chain in "ab":
            edges = (MemoryEdge("led_to", f"{chain}{n - 1:05}"),) if n > 1 else ()
            record = MemoryRecord(
                kind="observation", content=f"{chain} saw {n}", node_id=f"{chain}{n:05}",
                edges=edges, update=False,
            )
            client.publish(record)
        node = f"a{n:05}"
        answered(facts, client.publish(MemoryCorrect(node_id=node, content=f"a was out at {n}")))
        client.publish(PackageCompile(chains=(node,)))
        asked = client.publish(PackageCompile(chains=(node, f"b{n:05}")))
        print(n, flush=True)
        answered(packages, asked)
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.create(tmp_path / ".cortex")


def settled(runtime: Runtime) -> Counter[int]:
    """Wait until every request is answered; how often each was."""
    client = runtime.client("waiting")
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        records = list(client.read())
        asked = {each.position for each in records if each.topic == "package.compile"}
        answers = Counter(
            each.causation or 0
            for each in records
            if each.topic in ("package.compiled", "package.refused")
        )
        requests = Counter(each.topic for each in records)
        told = requests["memory.recorded"] + requests["memory.refused"]
        wanted = requests["memory.record"] + requests["memory.correct"]
        if asked == answers.keys() and told >= wanted:
            return answers
        client.follow(after=client.head).next(0.2)
    raise AssertionError(f"requests are left: {sorted(asked - answers.keys())}, {requests}")


@pytest.mark.timeout(2 * PATIENCE_S)
def test_after_each_kill_every_request_is_answered_once_and_what_there_is_is_a_replay(
    home: Home,
) -> None:
    lives = 0

    def next_life(heard: Sequence[str]) -> list[str]:
        nonlocal lives
        lives += 1
        if lives > KILLS:
            return [sys.executable, "-c", ""]
        first = int(heard[-1]) + 1 if heard else 1
        return [sys.executable, "-I", "-c", CHILD, str(home.path), str(first)]

    killed = kill_until_done(next_life, kills=KILLS, seed=SEED, lines_most=LINES_MOST)
    assert killed.kills == KILLS

    with Runtime(home, components=COMPONENTS) as runtime:
        answers = settled(runtime)
        records = list(runtime.client("reader").read())

    assert set(answers.values()) == {1}
    state = PackageState()
    for record in records:
        state.apply(VOCABULARY.read(record), record.position, record.subject or "")
    assert not any(known.asked for known in state.packages.values())
    with HomeMemory.open(home) as memory:
        before = memory.packages()
        assert len(before) >= 2
        assert all(package.fresh for package in before)
        for package in before:
            _check(memory, package.id)
    for path in home.path.glob("memory.db*"):
        path.unlink()
    with HomeMemory.open(home) as memory:
        assert memory.packages() == before
    assert any(isinstance(VOCABULARY.read(record), PackageCompiled) for record in records)


def _check(memory: HomeMemory, package_id: str) -> None:
    """A package has the text that a clean compilation of its chains gives."""
    package = memory.package(package_id)
    plan = planned_again(memory.view, package_id, package.scope)
    text = package_text(plan.chains, plan.scope, plan.subject, counter_for(COUNTED_IN))
    assert memory.package_text(package) == text.text
    assert memory.package_text(package, history=False) == text.current_text
    assert (package.sources, package.replaced) == (text.sources, text.replaced)
