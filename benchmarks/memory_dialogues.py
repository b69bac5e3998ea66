"""BEAM's dialogues: evidence found, the new statement above the old, answerable or not."""

import importlib
import json
import lzma
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

from cortex.bus.events import MemoryLink, MemoryRecord
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.memory import HomeMemory, MemoryFinder, MemoryResult
from cortex.runtime.retrieval import Embedder

EVAL = Path(os.environ.get("CORTEX_EVAL", "../shared/eval")).resolve()
FOUND: Final = 20
FIRST_NS: Final = 1_700_000_000 * 10**9  # of the first message
SECOND_NS: Final = 10**9
LONGEST: Final = 16_000  # characters of a memory
ANSWERS: Final = ("memory.recorded", "memory.linked", "memory.refused")
FILES: Final = ("dev-100k", "dev-500k")
_OLD = re.compile("orig|old|first|init")
_NEW = re.compile("upd|new|second|latest")
_ASKED = ("abstention", "information_extraction")


class Found(NamedTuple):
    """Messages for one question, as ranked, and what was measured beside."""

    places: list[int]
    with_edges: list[int]
    certainty: float
    took_s: float


class Asked(NamedTuple):
    """A question of a dialogue."""

    kind: str
    text: str
    evidence: frozenset[int]
    old: frozenset[int]
    new: frozenset[int]


class Sum:
    """What is summed over questions."""

    def __init__(self) -> None:
        self.first5, self.first20, self.all20 = list[float](), list[float](), list[bool]()
        self.above, self.above_with_edges = list[bool](), list[bool]()
        self.yes, self.no, self.took = list[float](), list[float](), list[float]()

    def add(self, asked: Asked, found: Found) -> None:
        """Count one question."""
        self.took.append(found.took_s)
        if asked.kind in _ASKED:
            (self.no if asked.kind == "abstention" else self.yes).append(found.certainty)
        if not asked.evidence:
            return
        best = set(found.places[:FOUND])
        self.first5.append(len(asked.evidence & set(found.places[:5])) / len(asked.evidence))
        self.first20.append(len(asked.evidence & best) / len(asked.evidence))
        self.all20.append(asked.evidence <= best)
        # One message that holds both cannot stand above itself: it is no pair.
        if asked.old and asked.new and asked.old != asked.new:
            self.above.append(_is_above(asked, found.places))
            self.above_with_edges.append(_is_above(asked, found.with_edges))

    def line(self, name: str) -> str:
        """What came of it."""
        several = [
            f"{100 * statistics.mean(values):6.1f}"
            for values in (self.first5, self.first20, self.all20)
        ]
        pairs = len(self.above)
        area = statistics.mean(
            (one > other) + 0.5 * (one == other) for one in self.yes for other in self.no
        )
        return (
            f"{name:36}{''.join(several)}  {sum(self.above):3} of {pairs}  "
            f"{sum(self.above_with_edges):3} of {pairs} {area:7.2f}"
            f"{statistics.median(self.took) * 1e3:8.1f}"
        )


def dialogue_lines(embedders: Mapping[str, Embedder]) -> Iterator[str]:
    """The record of the baselines and of ours, for each size of dialogue."""
    sys.path.insert(0, str(EVAL))
    retrievers: Any = importlib.import_module("retrievers")
    beam: Any = importlib.import_module("eval_beam")
    made = {"FTS5": beam.FtsBest, "BM25 (bm25s)": retrievers.BASELINES["bm25q"]}
    if "MiniLM" in embedders:
        made |= {"MiniLM": retrievers.Dense, "fusion of the two": retrievers.BASELINES["rrf"]}
    for file in FILES:
        with lzma.open(EVAL / "beam" / f"{file}.json.xz") as packed:
            chats = json.load(packed)
        yield f"\n# BEAM {file}: {len(chats)} dialogues"
        yield (
            f"{'':36}{'5':>6}{'20':>6}{'all20':>6}{'above old':>11}{'with edges':>11}"
            f"{'AUROC':>8}{'ms':>8}"
        )
        for name, make in made.items():
            yield _measured(chats, _Baseline(make, 0)).line(name)
            yield _measured(chats, _Baseline(make, 5)).line(f"{name}, first 5 by date")
        for name, embedder in embedders.items():
            yield _measured(chats, _Ours(embedder)).line(f"ours ({name})")


def _measured(chats: Sequence[Any], ranking: "_Baseline | _Ours") -> Sum:
    total = Sum()
    for chat in chats:
        places = {message[0]: at for at, message in enumerate(chat["messages"])}
        questions = [_asked(question, places) for question in chat["questions"]]
        ranking.index(chat["messages"], questions)
        for asked in questions:
            total.add(asked, ranking.find(asked))
    return total


def _asked(question: Any, places: Mapping[int, int]) -> Asked:
    def those(pattern: re.Pattern[str]) -> frozenset[int]:
        roles = question.get("roles", {}).items()
        return frozenset(
            places[one]
            for role, ids in roles
            if pattern.search(role)
            for one in ids
            if one in places
        )

    update = question["type"] == "knowledge_update"
    evidence = frozenset(places[one] for one in question["evidence"] if one in places)
    return Asked(
        question["type"],
        question["question"],
        evidence,
        those(_OLD) if update else frozenset(),
        those(_NEW) if update else frozenset(),
    )


def _is_above(asked: Asked, places: Sequence[int]) -> bool:
    at = {place: rank for rank, place in enumerate(places)}
    last = len(at)
    new, old = (min(at.get(one, last) for one in side) for side in (asked.new, asked.old))
    return new < old


class _Baseline:
    """A retriever of CORTEX_EVAL; the first *recent* by date."""

    def __init__(self, make: Any, recent: int) -> None:
        self._make, self._recent = make, recent

    def index(self, messages: Sequence[Any], _: Sequence[Asked]) -> None:
        doc: Any = importlib.import_module("retrievers").Doc
        self._retriever = self._make()
        self._retriever.index(
            [doc(str(one[0]), one[3], one[2] or "", at, {}) for at, one in enumerate(messages)]
        )

    def find(self, asked: Asked) -> Found:
        began = time.perf_counter()
        ranked = self._retriever.rank(asked.text)
        took = time.perf_counter() - began
        places = [*sorted(ranked[: self._recent], reverse=True), *ranked[self._recent :]]
        known = self._retriever.score(asked.text) if hasattr(self._retriever, "score") else 0.0
        return Found(places, _above(places, asked), known, took)


def _above(places: Sequence[int], asked: Asked) -> list[int]:
    """*places*, what an edge has replaced put right behind what replaced it."""
    gone = asked.old - asked.new
    left = [place for place in places if place not in gone]
    there = [left.index(one) for one in asked.new if one in left]
    at = 1 + min(there, default=len(left))
    return [*left[:at], *(place for place in places if place in gone), *left[at:]]


class _Ours:
    """A home in which who asks is a person, and the assistant a model; each date is a source."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._opened = ExitStack()

    def index(self, messages: Sequence[Any], questions: Sequence[Asked]) -> None:
        pairs = {
            (max(asked.new), one)
            for asked in questions
            if asked.new and asked.old
            for one in asked.old - asked.new
        }
        self._opened.close()
        folder = self._opened.enter_context(tempfile.TemporaryDirectory(prefix="cortex-memory-"))
        self._plain = self._recorded(Path(folder) / "plain", messages, set())
        self._linked = self._recorded(Path(folder) / "linked", messages, pairs)

    def find(self, asked: Asked) -> Found:
        began = time.perf_counter()
        result = self._plain(asked.text)
        took = time.perf_counter() - began
        with_edges = self._linked(asked.text) if asked.old and asked.new else result
        return Found(_places(result), _places(with_edges), result.answers, took)

    def _recorded(
        self, folder: Path, messages: Sequence[Any], pairs: set[tuple[int, int]]
    ) -> Callable[[str], MemoryResult]:
        """What finds in a home with these memories, and these edges between them."""
        home = Home.create(folder / ".cortex")
        with Runtime(home, components=["cortex.actors.engines:MemoryChainEngine"]) as runtime:
            client = runtime.client("bench")
            feed = client.follow(("memory.*", None))
            for role, told in groupby(enumerate(messages), lambda each: str(each[1][1])):
                runtime.client(role).publish(*(_request(at, one) for at, one in told))
            links = [
                MemoryLink(node_id=_name(new), edge="supersedes", to=_name(old))
                for new, old in sorted(pairs)
            ]
            if links:
                client.publish(*links)
            answers = 0
            while answers < len(messages) + len(links):
                answers += sum(each.topic in ANSWERS for each in feed.next(60.0))
        memory = self._opened.enter_context(HomeMemory.open(home))
        finder = MemoryFinder.open(folder, self._embedder)
        self._opened.callback(finder.close)
        finder.update(memory.view)
        return lambda text: finder.find(text, memory.view, ("user",), limit=FOUND, thorough=False)


def _request(at: int, message: Any) -> MemoryRecord:
    return MemoryRecord(
        kind="observation",
        content=message[3][:LONGEST] or "(nothing)",
        origin="person" if message[1] == "user" else "model",
        source=f"talk of {message[2]}",
        happened_ns=FIRST_NS + at * SECOND_NS,  # in their order: of most only the day is known
        node_id=_name(at),
    )


def _name(at: int) -> str:
    return f"m{at:06}"


def _places(result: MemoryResult) -> list[int]:
    return [int(hit.node.id[1:]) for hit in result.hits]
