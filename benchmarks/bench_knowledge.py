"""How fast is knowledge indexed, brought up to date and found?

Writes Markdown files of made-up words with the frequencies of language, indexes them, changes one,
and asks questions of a store with many chunks. Beside it in the same run: the same text into a bare
FTS5 table, and the bare FTS5 query (`order by bm25 limit 10`).
"""

import argparse
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from cortex.runtime.knowledge import Root
from cortex.runtime.knowledge.finding import (
    Entry,
    Finder,
    HashingEmbedder,
    KnowledgeStore,
    NewFile,
    index,
)

WORDS = 60_000
STATEMENT = "create virtual table bare using fts5(text, tokenize='porter unicode61')"


class Language:
    """Words whose frequencies fall as those of a language do."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        letters = "etaoinshrdlucmfwypvbg"
        self.words = [
            "".join(self.random.choices(letters, k=self.random.randint(2, 11)))
            for _ in range(WORDS)
        ]
        self.weights = [0.0]
        for rank in range(1, WORDS + 1):
            self.weights.append(self.weights[-1] + 1 / (rank + 2))
        del self.weights[0]

    def text(self, words: int) -> str:
        """Some sentences."""
        chosen = self.random.choices(self.words, cum_weights=self.weights, k=words)
        return ". ".join(" ".join(chosen[at : at + 14]) for at in range(0, words, 14)) + "."

    def question(self) -> str:
        """Words as a question has them: one rare, some common."""
        ranks = (self.random.randint(1_000, 20_000), self.random.randint(200, 2_000))
        common = (self.random.randint(20, 400) for _ in range(3))
        return " ".join(self.words[rank] for rank in (*ranks, *common))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--chunks", type=int, default=500_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--without-vectors", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        indexing(Path(folder), asked.files)
        finding(Path(folder), asked.chunks, asked.questions, vectors=not asked.without_vectors)


def indexing(folder: Path, files: int) -> None:
    language = Language(1)
    root = folder / "knowledge"
    size = 0
    for number in range(files):
        path = root / f"part{number % 50}" / f"file{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        sections = (f"## {language.text(3)}\n\n{language.text(160)}\n" for _ in range(4))
        size += path.write_text(f"# {language.text(3)}\n\n" + "\n".join(sections))
    texts = [path.read_text() for path in root.rglob("*.md")]
    bare = sqlite3.connect(folder / "bare.db", isolation_level=None)
    bare.execute("pragma journal_mode = wal")
    bare.execute(STATEMENT)
    seconds, busy = _timed(lambda: _fill(bare, texts))
    print(
        f"bare FTS5        {size / 1e6 / seconds:6.1f} MB/s, {size / 1e6 / busy:.1f} a CPU second"
    )
    store = KnowledgeStore.open(folder / "knowledge.db")
    roots = [Root(str(root), "home")]
    seconds, busy = _timed(lambda: index(store, roots))
    print(
        f"first index      {size / 1e6 / seconds:6.1f} MB/s, {size / 1e6 / busy:.1f} a CPU second"
    )
    changed: list[float] = []
    for number in range(10):
        path = root / "part0" / f"file{number * 50}.md"
        path.write_text(path.read_text() + "\nOne more line.\n")
        changed.append(_timed(lambda: index(store, roots))[0])
    print(f"one file changed {statistics.median(changed) * 1e3:6.1f} ms, all {files:,} looked at")
    store.close()


def finding(folder: Path, chunks: int, questions: int, *, vectors: bool) -> None:
    language = Language(2)
    store = KnowledgeStore.open(folder / "large.db")
    with store.filling():
        for start in range(0, chunks, 20_000):
            with store.writing():
                store.put(list(_files(language, start, min(20_000, chunks - start))))
    store.optimize()
    finder = Finder(store, HashingEmbedder() if vectors else None)
    seconds, _ = _timed(finder.embed)
    if vectors:
        print(f"vectors          {chunks / seconds:6,.0f} chunks/s")
    asked = [language.question() for _ in range(questions + 10)]
    for question in asked[:10]:
        finder.find(question)
    _told("find", asked[10:], finder.find)
    query = "select rowid from words where words match ? order by bm25(words) limit 10"
    _told(
        "bare FTS5 query",
        asked[10:],
        lambda question: store.connection.execute(
            query, (" OR ".join(question.split()),)
        ).fetchall(),
    )


def _files(language: Language, start: int, chunks: int) -> Iterator[NewFile]:
    for first in range(start, start + chunks, 20):
        yield NewFile(
            root="r",
            path=f"{first}.md",
            topic=f"t{first}",
            scope="home",
            digest="",
            size_bytes=0,
            changed_ns=0,
            entries=[Entry(language.text(3), 1, language.text(60), "") for _ in range(20)],
        )


def _fill(connection: sqlite3.Connection, texts: list[str]) -> None:
    connection.execute("begin")
    connection.executemany("insert into bare(text) values (?)", ((text,) for text in texts))
    connection.execute("commit")


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds that *work* took, and seconds that this process computed."""
    start, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - busy


def _told(name: str, questions: list[str], work: Callable[[str], object]) -> None:
    times = [_timed(partial(work, question)) for question in questions]
    for kind, values in zip(("wall", "CPU"), zip(*times, strict=True), strict=True):
        ordered = sorted(value * 1e3 for value in values)
        print(
            f"{name:16} {kind:4} p50 {ordered[len(ordered) // 2]:6.1f} ms, "
            f"p99 {ordered[int(len(ordered) * 0.99)]:6.1f} ms"
        )


if __name__ == "__main__":
    main()
