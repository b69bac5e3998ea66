"""How fast is knowledge indexed, brought up to date and found, and how much memory does it take?

Writes Markdown files of made-up words with the frequencies of language, indexes them, changes one
of them again and again, and asks questions of a store with many passages, with the default
embedder's vectors and by words alone. Beside it in the same run, at the same PRAGMAs: the same
texts into a bare FTS5 table, one row a file, and the bare FTS5 query (``order by rank limit 10``).
Each in a process of its own, the first indexing in turn with the bare one.
"""

import argparse
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from measure import Figures, Ratios, heading, in_turn, keep, quickly, ratio, report, run

from cortex.runtime.knowledge import Knowledge, KnowledgeConfig, Root, index
from cortex.runtime.retrieval import ChunkEntry, Finder, HashingEmbedder, NewFile, PassageStore

RESULT = Path(__file__).parent / "results" / "bench_knowledge.txt"
GOALS = {"mb_s": 20, "changed_ms": 100, "p50_ms": 50, "p99_ms": 200}
WORDS = 60_000
BARE = "create virtual table bare using fts5(text, tokenize='porter unicode61')"
QUERY = "select rowid from bare where bare match ? order by rank limit 10"
SETTLED_S = 2.1  # what changed more recently than that is read again, whatever its time stamp
CHANGES = 15


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


def quick() -> Ratios:
    """A first index of some files, to their text in FTS5."""
    with tempfile.TemporaryDirectory() as folder:
        asked = argparse.Namespace(folder=Path(folder), files=400)
        _written(asked.folder / "knowledge", asked.files)
        return {
            "first index": ratio(
                lambda: first_index(asked)["mb_s"], lambda: bare_index(asked)["mb_s"]
            )
        }


def main() -> None:
    quickly(quick)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--chunks", type=int, default=500_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--program", choices=PROGRAMS, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.program:
        report(PROGRAMS[asked.program](asked))
        return
    with tempfile.TemporaryDirectory() as folder:
        keep(lines(asked, Path(folder)), RESULT)


def lines(asked: argparse.Namespace, folder: Path) -> Iterator[str]:
    """The result, as it comes."""

    def measured(program: str) -> Figures:
        sizes = (f"--files={asked.files}", f"--chunks={asked.chunks}")
        more = (f"--questions={asked.questions}", f"--folder={folder}")
        return run(sys.executable, __file__, f"--program={program}", *sizes, *more)

    yield heading(asked.rounds)
    megabytes = _written(folder / "knowledge", asked.files) / 1e6
    found = in_turn(asked.rounds, {name: partial(measured, name) for name in ("bare", "first")})
    yield f"{asked.files:,} Markdown files, {megabytes:.0f} MB"
    yield f"first index      {_speed(found['first'])} (goal >= {GOALS['mb_s']} MB/s)"
    ratio = found["first"]["mb_s"] / found["bare"]["mb_s"]
    yield f"    bare FTS5    {_speed(found['bare'])}, ours {ratio:.2f} x"
    home = measured("home")
    yield f"  with vectors   {_speed(home)}"
    yield (
        f"one file changed {home['changed_ms']:5.1f} ms, {home['changed_cpu_ms']:.1f} ms CPU, with "
        f"its vectors (goal < {GOALS['changed_ms']} ms); none changed {home['same_ms']:.1f} ms"
    )
    built = measured("build")
    yield f"{asked.chunks:,} passages; vectors at {built['chunks_s']:,.0f} passages/s"
    goal = f" (goal: p50 < {GOALS['p50_ms']} ms, p99 < {GOALS['p99_ms']} ms)"
    yield f"find, vectors    {_times(measured('vectors'))}{goal}"
    yield f"find, words      {_times(measured('words'))}"
    yield f"    bare FTS5    {_times(measured('query'))}"


def _speed(found: Figures) -> str:
    return (
        f"{found['mb_s']:5.1f} MB/s, {found['mb_cpu_s']:.1f} MB a CPU second, "
        f"{found['rss_mb']:.0f} MB of memory"
    )


def _times(found: Figures) -> str:
    return (
        f"p50 {found['p50_ms']:5.1f} ms, p99 {found['p99_ms']:5.1f} ms; CPU p50 "
        f"{found['p50_cpu_ms']:.1f} ms, p99 {found['p99_cpu_ms']:.1f} ms; {found['rss_mb']:.0f} MB"
    )


def _written(root: Path, files: int) -> int:
    """Write *files* under *root*; their bytes."""
    language = Language(1)
    size = 0
    for number in range(files):
        path = root / f"part{number % 50}" / f"file{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        sections = (f"## {language.text(3)}\n\n{language.text(160)}\n" for _ in range(4))
        size += path.write_text(f"# {language.text(3)}\n\n" + "\n".join(sections))
    return size


def bare_index(asked: argparse.Namespace) -> Figures:
    """The same texts into FTS5."""
    texts = [path.read_text() for path in (asked.folder / "knowledge").rglob("*.md")]
    path: Path = asked.folder / "bare-index.db"
    path.unlink(missing_ok=True)
    took = _timed(lambda: _fill(path, ((text,) for text in texts)))
    return _per_second(sum(map(len, texts)), took)


def first_index(asked: argparse.Namespace) -> Figures:
    """Files into an empty store."""
    path: Path = asked.folder / "first.db"
    path.unlink(missing_ok=True)
    store = PassageStore.open(path)
    sizes: list[int] = []

    def work() -> None:
        sizes.append(index(store, [_root(asked)]).text_bytes)
        store.close()

    took = _timed(work)
    return _per_second(sizes[0], took)


def home_index(asked: argparse.Namespace) -> Figures:
    """A home's store with its vectors, then one file that changes."""
    roots = [_root(asked)]
    knowledge = Knowledge.open(asked.folder / "home", roots, KnowledgeConfig())
    sizes: list[int] = []
    first = _timed(lambda: sizes.append(knowledge.update().text_bytes))
    time.sleep(SETTLED_S)
    same = [_timed(knowledge.update)[0] for _ in range(CHANGES)]
    changed: list[tuple[float, float]] = []
    paths = sorted(Path(roots[0].path).rglob("*.md"))
    for path in paths[:: max(len(paths) // CHANGES, 1)][:CHANGES]:
        path.write_text(path.read_text() + "\nOne more line.\n")
        changed.append(_timed(knowledge.update))
    knowledge.close()
    wall, busy = zip(*changed, strict=True)
    return {
        **_per_second(sizes[0], first),
        "same_ms": statistics.median(same) * 1e3,
        "changed_ms": statistics.median(wall) * 1e3,
        "changed_cpu_ms": statistics.median(busy) * 1e3,
    }


def build(asked: argparse.Namespace) -> Figures:
    """A large store, its vectors, and the same passages in a bare table."""
    language = Language(2)
    store = PassageStore.open(asked.folder / "large.db")
    with store.filling():
        for start in range(0, asked.chunks, 20_000):
            with store.writing():
                store.put(list(_files(language, start, min(20_000, asked.chunks - start))))
    store.optimize()
    seconds, _ = _timed(Finder(store, HashingEmbedder()).embed)
    rows = store.connection.execute("select text from chunks order by id")
    _fill(asked.folder / "bare.db", rows)
    store.close()
    return {"chunks_s": asked.chunks / seconds}


def find(asked: argparse.Namespace, *, vectors: bool) -> Figures:
    """Questions to the large store."""
    store = PassageStore.open(asked.folder / "large.db")
    finder = Finder(store, HashingEmbedder() if vectors else None)
    return _asked(asked, finder.find)


def bare_query(asked: argparse.Namespace) -> Figures:
    """The same questions to the bare table."""
    connection = _connected(asked.folder / "bare.db")

    def answer(question: str) -> object:
        return connection.execute(QUERY, (" OR ".join(question.split()),)).fetchall()

    return _asked(asked, answer)


def _root(asked: argparse.Namespace) -> Root:
    return Root(str(asked.folder / "knowledge"), "home")


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
            entries=[ChunkEntry(language.text(3), 1, language.text(60), "") for _ in range(20)],
        )


def _fill(path: Path, rows: Iterator[tuple[str]] | sqlite3.Cursor) -> None:
    connection = _connected(path)
    connection.execute(BARE)
    connection.execute("begin")
    connection.executemany("insert into bare(text) values (?)", rows)
    connection.execute("commit")
    connection.close()


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    for setting in ("journal_mode = wal", "synchronous = normal", "wal_autocheckpoint = 16000"):
        connection.execute(f"pragma {setting}")
    return connection


def _per_second(size: int, took: tuple[float, float]) -> Figures:
    return {"mb_s": size / 1e6 / took[0], "mb_cpu_s": size / 1e6 / took[1]}


def _timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds that *work* took, and seconds that this process computed."""
    start, busy = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - busy


def _asked(asked: argparse.Namespace, answer: Callable[[str], object]) -> Figures:
    language = Language(2)
    questions = [language.question() for _ in range(asked.questions + 10)]
    for question in questions[:10]:
        answer(question)
    took = [_timed(partial(answer, question)) for question in questions[10:]]
    figures: Figures = {}
    for kind, values in zip(("", "_cpu"), zip(*took, strict=True), strict=True):
        ordered = sorted(value * 1e3 for value in values)
        figures[f"p50{kind}_ms"] = ordered[len(ordered) // 2]
        figures[f"p99{kind}_ms"] = ordered[int(len(ordered) * 0.99)]
    return figures


PROGRAMS: dict[str, Callable[[argparse.Namespace], Figures]] = {
    "bare": bare_index,
    "first": first_index,
    "home": home_index,
    "build": build,
    "vectors": partial(find, vectors=True),
    "words": partial(find, vectors=False),
    "query": bare_query,
}

if __name__ == "__main__":
    main()
