"""The cache of a home: prompts that are compiled again, history, erasure, and the command line."""

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cortex.actors.managers import CacheManager, topics_run
from cortex.bus.events import (
    ContextCompiled,
    ExecutionRequest,
    RuntimeStarted,
    SubjectErased,
)
from cortex.runtime.admin import cache_statistics, clear_cache
from cortex.runtime.cache import Cache, CacheStatistics
from cortex.runtime.erasure import erase
from cortex.runtime.kernel import Config, Delivery, Home, Runtime
from cortex.runtime.projections import HomeLog
from cortex.runtime.subjects import SubjectKeys

from ..cache_world import key_of
from ..e2e.command_lines import environment, run_many
from ..staff_world import ANSWERING, World

TOPIC = "# House\n\n" + "\n\n".join(
    f"## Rule {number}\n\nIt is important to note that guests of room {number} should, in order to "
    f"be able to have breakfast, please always make sure to come at {number % 12} o'clock, due to "
    "the fact that the kitchen is basically closed at other times."
    for number in range(40)
)
ASKING = """
process: ask
version: 1
description: Answer from what is known
knowledge: [house]
steps:
  - id: answer
    description: Answer
    action: answer_question
    with: {question: When is breakfast for room 7?}
    budget: {tokens: 4000}
"""
OTHER = ASKING.replace("process: ask", "process: other").replace("[house]", "[garden]")


@pytest.fixture
def asked(home: Home) -> Home:
    (home.knowledge / "house.md").write_text(TOPIC)
    (home.knowledge / "garden.md").write_text("# Garden\n\nRoses.\n")
    return home


def prompts_of(home: Home, *, times: int = 1) -> list[str]:
    """The prompts of runs in a runtime of their own."""
    with Runtime(home, components=ANSWERING) as runtime:
        world = World(runtime)
        world.submit(ask=ASKING)
        return [world.run("ask").last(ContextCompiled).prompt for _ in range(times)]


def hits(found: CacheStatistics) -> int:
    """In memory, where a preload was as fast, or in cache.db."""
    hot, warm, _ = found.tiers
    return hot.hits + warm.hits


def test_what_one_process_made_the_next_one_finds_and_the_prompt_is_the_same(asked: Home) -> None:
    (first,) = prompts_of(asked)
    before = cache_statistics(asked)
    (second,) = prompts_of(asked)
    after = cache_statistics(asked)
    for path in asked.path.glob("cache.db*"):
        path.unlink()
    (third,) = prompts_of(asked)

    assert first == second == third
    assert before.kinds == {"context.form": 1}
    assert hits(before) == 0
    assert hits(after) == 1


def test_a_changed_topic_is_compiled_anew(asked: Home) -> None:
    (first,) = prompts_of(asked)
    (asked.knowledge / "house.md").write_text(TOPIC.replace("breakfast", "dinner"))

    (second,) = prompts_of(asked)

    assert first != second
    assert cache_statistics(asked).kinds == {"context.form": 2}


def test_what_is_made_for_a_subject_is_the_subject_s_and_an_erasure_removes_it(
    asked: Home,
) -> None:
    with Runtime(asked, components=ANSWERING) as runtime:
        world = World(runtime)
        world.submit(ask=ASKING)
        request = ExecutionRequest(execution_id="private", process="ask", subject="anna")
        world.stopped("private", world.client.publish(request))
        runtime.cache.put(key_of(1), b"nobody's", ())
    with sqlite3.connect(asked.cache_path) as db:
        whose = db.execute("select count(*), count(distinct entry) from subjects").fetchone()
    (subject,) = SubjectKeys.of_home(asked.path).all()
    cache = Cache(asked.path)

    assert whose == (1, 1)
    assert cache.forget_subject(subject.id) == 1
    assert cache.get(key_of(1)) == b"nobody's"

    cache.close()
    erase(asked, "anna", "asked for it")
    assert not list(asked.path.glob("cache.db*"))


def test_a_home_without_room_for_a_cache_compiles_the_same_prompt(asked: Home) -> None:
    (asked.path / "cache.db").mkdir()
    (first,) = prompts_of(asked)
    (asked.path / "cache.db").rmdir()

    (second,) = prompts_of(asked)

    assert first == second


def test_history_says_whose_topics_come_first(asked: Home) -> None:
    with Runtime(asked, components=ANSWERING) as runtime:
        world = World(runtime)
        world.submit(ask=ASKING, other=OTHER)
        for process in ("other", "ask", "ask"):
            world.run(process)

    with HomeLog.open(asked) as history:
        found = list(topics_run(history, 0, lambda: True))
        newest = list(topics_run(history, 0, lambda: False))
        later = list(topics_run(history, 1 << 62, lambda: True))

    digests = [
        hashlib.sha256((asked.knowledge / name).read_bytes()).hexdigest()
        for name in ("house.md", "garden.md")
    ]
    assert found == digests
    assert newest == digests[:1], "where time runs out, the newest executions count"
    assert later == []


def manager_of(runtime: Runtime, home: Home) -> CacheManager:
    return CacheManager(runtime.cache, runtime.blobs, runtime.log, Config(), home)


def test_the_manager_hints_at_the_topics_once_the_runtime_is_ready(asked: Home) -> None:
    prompts_of(asked)
    with Runtime(asked, components=()) as runtime:
        manager = manager_of(runtime, asked)
        delivery = Delivery(position=1, time_ns=runtime.clock.now_ns(), component="CacheManager")

        manager.started(
            RuntimeStarted(runtime="runtime", cortex_version="1", components=()), delivery
        )
        manager.started(
            RuntimeStarted(runtime="runtime", cortex_version="1", components=()), delivery
        )
        manager.wait()
        manager.on_stop()

        assert runtime.cache.preload() == 1
    with sqlite3.connect(asked.cache_path) as db:
        hinted = db.execute("select input from hints").fetchall()
    assert hinted == [(hashlib.sha256(TOPIC.encode()).digest(),)]


def test_the_manager_makes_no_file_where_nothing_is_cached(home: Home) -> None:
    with Runtime(home, components=()) as runtime:
        manager = manager_of(runtime, home)
        delivery = Delivery(position=1, time_ns=runtime.clock.now_ns(), component="CacheManager")

        manager.started(
            RuntimeStarted(runtime="runtime", cortex_version="1", components=()), delivery
        )
        manager.wait()
        runtime.cache.hint(["00" * 32])
        manager.on_stop()

    assert not home.cache_path.exists()


def test_an_erasure_that_was_recorded_is_forgotten_by_the_cache(home: Home) -> None:
    with Runtime(home, components=()) as runtime:
        runtime.cache.put(key_of(1), b"of anna", ("s_anna",))
        runtime.cache.put(key_of(2), b"of ben", ("s_ben",))
        manager = manager_of(runtime, home)
        erased = SubjectErased(
            subject="s_anna", by="me", why="asked", asked_ns=1, events=0, blobs=0, unencrypted=0
        )

        manager.erased(erased, Delivery(position=1, time_ns=1, component="CacheManager"))

        assert runtime.cache.get(key_of(1), cold=True) is None
        assert runtime.cache.get(key_of(2)) == b"of ben"


def test_a_runtime_in_memory_has_a_cache_in_memory() -> None:
    with Runtime(components=()) as runtime:
        runtime.cache.put(key_of(1), b"value")

        assert runtime.cache.get(key_of(1)) == b"value"


# The command line


class Called:
    def __init__(self, folder: Path) -> None:
        self._folder, self._env = folder, environment(folder)
        self.home = Home(folder / ".cortex")

    def __call__(self, *args: str) -> tuple[int, str, str]:
        (done,) = run_many(self._folder, self._env, [args])
        return done

    def document(self, *args: str) -> Any:
        code, out, err = self(*args, "--json")
        assert code == 0, err
        return json.loads(out)


@pytest.fixture
def called(tmp_path: Path) -> Called:
    called = Called(tmp_path)
    assert called("init")[0] == 0
    return called


def filled(home: Home) -> None:
    with Runtime(home, components=()) as runtime:
        for number in range(3):
            runtime.cache.put(key_of(number), b"value")
            runtime.cache.get(key_of(number))
        runtime.cache.get(key_of("none"))


def test_statistics_are_the_same_by_command_and_from_python(called: Called) -> None:
    assert called.document("cache", "stats")["tiers"][1]["entries"] == 0
    assert not called.home.cache_path.exists(), "a look makes no file"
    filled(called.home)

    shown = called.document("cache", "stats")

    assert shown == msgspec.to_builtins(cache_statistics(called.home))
    hot, warm, cold = shown["tiers"]
    assert (hot["hits"], hot["misses"], hot["hit_rate"]) == (3, 1, 0.75)
    assert (warm["entries"], warm["hits"], warm["misses"]) == (3, 0, 1)
    assert cold["entries"] == cold["bytes"] == 0
    assert shown["kinds"] == {"test.thing": 3}
    table = called("cache", "stats")[1]
    assert "75.0%" in table
    assert "in L2: 3 test.thing" in table


@pytest.mark.parametrize(("tier", "left"), [((), 0), (("--tier", "L1"), 3), (("--tier", "l2"), 0)])
def test_clear_empties_all_tiers_or_one(called: Called, tier: tuple[str, ...], left: int) -> None:
    filled(called.home)

    document = called.document("cache", "clear", *tier)

    assert document["tiers"] == ([tier[1].upper()] if tier else ["L1", "L2", "L3"])
    assert document["removed"] == 3 - left
    assert called.document("cache", "stats")["tiers"][1]["entries"] == left


def test_clear_of_a_home_without_a_cache_removes_nothing_and_makes_nothing(called: Called) -> None:
    assert clear_cache(called.home).removed == 0

    assert not called.home.cache_path.exists()


def test_a_damaged_file_is_one_line_for_who_looks_and_no_error_for_who_clears(
    called: Called,
) -> None:
    called.home.cache_path.write_bytes(b"no database" * 1_000)

    code, _, err = called("cache", "stats")
    cleared = called("cache", "clear")

    assert code != 0
    assert "you may delete it at any time" in err
    assert len(err.strip().splitlines()) == 1
    assert cleared[0] == 0
    assert called.document("cache", "stats")["tiers"][1]["entries"] == 0


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("memory_mb = -1", "`cache.memory_mb` is wrong"),
        ('disk_mb = "2 GB"', "`cache.disk_mb` is wrong"),
        ("window_days = 0", "`cache.window_days` is wrong"),
        ("memory = 1", "did you mean `memory_mb`?"),
    ],
)
def test_a_wrong_setting_is_one_clear_line(called: Called, setting: str, said: str) -> None:
    with called.home.config_path.open("a") as file:
        file.write(f"\n[cache]\n{setting}\n")

    code, _, err = called("cache", "stats")

    assert code != 0
    assert said in err
