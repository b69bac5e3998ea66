"""A memory of statements over the finder of retrieval, alone and among turns of real talks."""

import importlib
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from changing_facts import DAY_NS, START_NS, Said, World

from cortex.runtime.memory.updates import Statement
from cortex.runtime.retrieval import ChunkEntry, Embedder, Finder, NewFile, PassageStore

EVAL = Path(os.environ.get("CORTEX_EVAL", "../shared/eval")).resolve()


class Memory:
    """Statements in a store of their own: each is a file of one passage, so none is a neighbour."""

    def __init__(self, said: Sequence[Said], embedder: Embedder | None) -> None:
        self.statements = {
            each.id: Statement(each.id, each.text, each.time_ns, each.speaker) for each in said
        }
        self._ids = [each.id for each in said]
        self._folder = tempfile.TemporaryDirectory(prefix="cortex-memory-")
        self._store = PassageStore.open(Path(self._folder.name) / "memory.db")
        with self._store.writing():
            self._store.put([_file(each) for each in said])
        self._finder = Finder(self._store, embedder)
        self._finder.embed()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._store.close()
        self._folder.cleanup()

    def find(self, question: str, asker: str = "user") -> list[tuple[Statement, float]]:
        """Statements with their scores, the best first."""
        ranking, _ = self._finder.rank(question, asker=asker)
        ids = [self._ids[chunk - 1] for chunk in ranking.ids.tolist()]
        return [
            (self.statements[one], score)
            for one, score in zip(ids, ranking.scores.tolist(), strict=True)
        ]


def _file(each: Said) -> NewFile:
    return NewFile(
        root="memory",
        path=each.id,
        topic="",
        scope="home",
        digest="",
        size_bytes=0,
        changed_ns=0,
        entries=[ChunkEntry("", 1, each.text, each.speaker)],
    )


def conversations() -> Iterator[list[Said]]:
    """The turns of LoCoMo, one conversation after the other."""
    sys.path.insert(0, str(EVAL))
    locomo: Any = importlib.import_module("eval_locomo")
    for talk in locomo.load(str(EVAL / "locomo" / "locomo-dev.json")):
        yield [
            Said(f"t{at}", doc.text.partition(": ")[2], 0, doc.text.partition(": ")[0], "", 0, "")
            for at, doc in enumerate(talk["docs"])
        ]


def among(turns: Sequence[Said], made: World) -> World:
    """*made*, its statements at even distances among *turns*; who asks said them."""
    speaker = turns[0].speaker
    step = len(turns) / len(made.said)
    told = [(float(at), 0, turn) for at, turn in enumerate(turns)]
    told += [
        ((at + 0.5) * step, 1, each._replace(speaker=speaker)) for at, each in enumerate(made.said)
    ]
    said = dated([each for _, _, each in sorted(told, key=lambda one: one[:2])])
    return World(tuple(said), made.chains)


def dated(said: Sequence[Said]) -> list[Said]:
    """*said*, one a day."""
    return [each._replace(time_ns=START_NS + at * DAY_NS) for at, each in enumerate(said)]
