"""How fast is memory written, recalled for a step, rebuilt and started, and what does it take?

Records made-up statements with the frequencies of language through a hub, a tenth of which replace
earlier ones, in ten scopes, beside ended executions; recalls for questions as a step does, into
10,000 tokens; deletes all that is derived and makes it again from the log. Beside it in the same
run: the same statements into a bare FTS5 table, one row and one commit for as many as a request
has, and its query (`order by rank limit 100`).
"""

import argparse
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench_knowledge import Language
from measure import Figures, Ratios, heading, in_turn, keep, percentiles, quickly, report, run

from cortex.bus.events import (
    ExecutionCompleted,
    ExecutionStarted,
    MemoryEdge,
    MemoryFind,
    MemoryRecord,
    MemoryRequest,
)
from cortex.runtime.kernel import Home, Runtime
from cortex.runtime.memory import HomeMemory

RESULT = Path(__file__).parent / "results" / "bench_memory.txt"
TOGETHER = 250  # statements in one request to the hub
SCOPES = 10
WORDS = 14  # of a statement
BARE = "create virtual table bare using fts5(text, tokenize='porter unicode61')"
QUERY = "select rowid from bare where bare match ? order by rank limit 100"
TOKENS = 10_000


def statements(count: int) -> Iterator[MemoryRecord]:
    """*count* statements; each tenth replaces an earlier one.

    As of real ones, two of three have a name or a number, which may be a new value of something.
    """
    language = Language(3)
    for n in range(count):
        edges: tuple[MemoryEdge, ...] = ()
        if n % 10 == 9:
            edges = (MemoryEdge("supersedes", f"n{n - SCOPES + 1:07}" if n >= SCOPES else "n0"),)
            edges = edges if n >= SCOPES else ()
        yield MemoryRecord(
            kind="observation",
            content=_told(language.text(WORDS), n),
            scope=f"project:p{n % SCOPES if n % 10 != 9 else (n + 1) % SCOPES}",
            node_id=f"n{n:07}",
            edges=edges,
        )


def write(asked: argparse.Namespace) -> Figures:
    """Requests through a hub until each is a fact."""
    home = Home.create(asked.folder / "home" / ".cortex")
    given = list(statements(asked.nodes))
    with Runtime(home) as runtime:
        client = runtime.client("bench")
        for n in range(asked.executions):
            client.publish(_started(n))
            runtime.client("ProcessExecutionEngine").publish(
                ExecutionCompleted(execution_id=f"e{n}")
            )
        client.ask(MemoryFind(texts=("warm",)), 60.0)
        feed, done = client.follow(("memory.recorded", None)), 0
        began = time.perf_counter()
        for start in range(0, len(given), TOGETHER):
            client.publish(*given[start : start + TOGETHER])
        while done < len(given):
            done += len(feed.next(60.0))
        took = time.perf_counter() - began
    return {"nodes_s": len(given) / took}


def bare_write(asked: argparse.Namespace) -> Figures:
    """The same statements into FTS5."""
    given = [each.content for each in statements(asked.nodes)]
    connection = _connected(asked.folder / "bare.db")
    connection.execute("drop table if exists bare")
    connection.execute(BARE)
    began = time.perf_counter()
    for start in range(0, len(given), TOGETHER):
        connection.execute("begin")
        rows = [(text,) for text in given[start : start + TOGETHER]]
        connection.executemany("insert into bare(text) values (?)", rows)
        connection.execute("commit")
    took = time.perf_counter() - began
    connection.close()
    return {"nodes_s": len(given) / took}


def recall(asked: argparse.Namespace) -> Figures:
    """What a step is given for a question, at most 100 nodes and 10,000 tokens."""
    home = Home(asked.folder / "home" / ".cortex")
    questions = _questions(asked.questions + 10)
    took: list[float] = []
    nodes: list[int] = []
    with HomeMemory.open(home) as memory, memory.finding() as find:
        for n, question in enumerate(questions):
            request = MemoryRequest(
                execution_id="e",
                step_id="s",
                texts=(question,),
                scopes=(f"project:p{n % SCOPES}", "user"),
                limit=100,
                tokens=TOKENS,
            )
            began = time.perf_counter()
            found = find(request, "")
            took.append(time.perf_counter() - began)
            nodes.append(len(found.nodes))
    return {**percentiles(took[10:]), "nodes": statistics.mean(nodes)}


def bare_recall(asked: argparse.Namespace) -> Figures:
    """The same questions to the bare table."""
    connection = _connected(asked.folder / "bare.db")
    took: list[float] = []
    for question in _questions(asked.questions + 10):
        began = time.perf_counter()
        connection.execute(QUERY, (" OR ".join(question.split()),)).fetchall()
        took.append(time.perf_counter() - began)
    return percentiles(took[10:])


def rebuild(asked: argparse.Namespace) -> Figures:
    """All that is derived, from the log."""
    home = Home(asked.folder / "home" / ".cortex")
    for path in (*home.path.glob("memory.db*"), *(home.path / "vectors").glob("memory*")):
        path.unlink()
    began = time.perf_counter()
    with HomeMemory.open(home) as memory:
        projected = time.perf_counter() - began
        memory.find(("warm",), ("user",))
    return {"projected_s": projected, "whole_s": time.perf_counter() - began}


def start(asked: argparse.Namespace) -> Figures:
    """A runtime on the home, until it takes a request about memory."""
    home = Home(asked.folder / "home" / ".cortex")
    began = time.perf_counter()
    with Runtime(home) as runtime:
        ready = time.perf_counter() - began
        client = runtime.client("bench")
        feed = client.follow(("memory.refused", None))
        client.publish(MemoryRecord(kind="observation", content=" "))
        feed.next(60.0)
        return {"ready_s": ready, "decided_s": time.perf_counter() - began}


def _told(text: str, n: int) -> str:
    words = text.split(" ")
    if n % 3 == 1:
        words[3 + n % 7] = words[3 + n % 7].capitalize()
    elif n % 3 == 2:
        words[3 + n % 7] = str(n % 500)
    return " ".join(words)


def _started(n: int) -> ExecutionStarted:
    return ExecutionStarted(
        execution_id=f"e{n}",
        process=f"work{n % 30}",
        process_version=1,
        digest="",
        linked="",
        inputs={},
        goal=f"goal {n}",
        workspace="",
        trigger="",
    )


def _questions(count: int) -> list[str]:
    language = Language(3)
    return [language.question() for _ in range(count)]


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    for setting in ("journal_mode = wal", "synchronous = normal", "wal_autocheckpoint = 16000"):
        connection.execute(f"pragma {setting}")
    return connection


PROGRAMS: dict[str, Callable[[argparse.Namespace], Figures]] = {
    "write": write,
    "bare write": bare_write,
    "recall": recall,
    "bare recall": bare_recall,
    "rebuild": rebuild,
    "start": start,
}


def quick() -> Ratios:
    """Writing some nodes, to their text in FTS5."""
    with tempfile.TemporaryDirectory() as folder:
        asked = argparse.Namespace(folder=Path(folder), nodes=3_000, executions=10)
        return {"write": write(asked)["nodes_s"] / bare_write(asked)["nodes_s"]}


def main() -> None:
    quickly(quick)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=50_000)
    parser.add_argument("--executions", type=int, default=1_200)
    parser.add_argument("--questions", type=int, default=300)
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

    def measured(program: str, where: Path = folder) -> Figures:
        sizes = (f"--nodes={asked.nodes}", f"--executions={asked.executions}")
        more = (f"--questions={asked.questions}", f"--folder={where}")
        return run(sys.executable, __file__, f"--program={program}", *sizes, *more)

    def written() -> Figures:
        with tempfile.TemporaryDirectory() as passing:
            return measured("write", Path(passing))

    yield heading(asked.rounds)
    yield f"{asked.nodes:,} nodes in {SCOPES} scopes, {asked.executions:,} executions"
    found = in_turn(
        max(asked.rounds - 1, 1), {"write": written, "bare": lambda: measured("bare write")}
    )
    last = measured("write")  # the home that the others read
    nodes_s = statistics.median((found["write"]["nodes_s"], last["nodes_s"]))
    share = nodes_s / found["bare"]["nodes_s"]
    yield f"write     {nodes_s:8,.0f} nodes/s by a hub (goal >= 5,000), {last['rss_mb']:.0f} MB"
    yield f"    bare FTS5 {found['bare']['nodes_s']:8,.0f} rows/s; ours {share:.3f} x"
    again = measured("rebuild")
    yield (
        f"rebuild   {again['whole_s']:.1f} s from the log with its index (goal < 180 s), of "
        f"which tables {again['projected_s']:.1f} s; {again['rss_mb']:.0f} MB"
    )
    recalled, bare = measured("recall"), measured("bare recall")
    yield (
        f"recall    p50 {recalled['p50_us'] / 1e3:.1f} ms, p99 {recalled['p99_us'] / 1e3:.1f} ms "
        f"(goal < 40, < 150 ms), {recalled['nodes']:.0f} nodes in at most {TOKENS:,} tokens; "
        f"{recalled['rss_mb']:.0f} MB"
    )
    yield f"    bare FTS5 p50 {bare['p50_us'] / 1e3:.1f} ms, p99 {bare['p99_us'] / 1e3:.1f} ms"
    started = measured("start")
    yield (
        f"start     {started['ready_s']:.2f} s until it is ready (goal < 3 s), "
        f"{started['decided_s']:.2f} s until memory answered"
    )


if __name__ == "__main__":
    main()
