"""What does it cost to compile a step's context from 50 knowledge files, and what is then in it?

Ours: `ContextCompiler.compile` into an effective window of 24,000 tokens. The peer is what most
programs do: concatenate the files and cut at the same number of tokens. The limit is one exact
count of the same material, below which no compiler with exact counts can be. "Asked for" is the
share of steps whose prompt holds the paragraph that they ask for: what must be in is the paragraph
below a heading of one of the files, drawn with a fixed seed, and a step's description asks for it
in other words (`context_questions.toml`). "Verbatim" is the share where it is the heading itself.

And what it costs beside a history of 50,000 items that grows: 200 compiles by one compiler, each
with 100 passages of a retrieval and another question, which one item of the history answers. What
the retrieval costs is not in it. The first compile has seen nothing of the history; it and the ones
after it index a stretch each, until all of it is indexed.

Material: the documents of `$CORTEX_EVAL/corpus/narrative`, cut into 50 files of about equal size.
"""

import os
import random
import re
import statistics
import sys
import time
import tomllib
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from measure import Ratios, quickly, ratio, speed, stamp

from cortex.runtime.context import (
    ContextCompiler,
    Item,
    Prompt,
    PromptStep,
    Request,
    TokenCounter,
    View,
)

CORPUS = (
    Path(os.environ.get("CORTEX_EVAL", Path(__file__).parents[2] / "shared" / "eval"))
    / "corpus"
    / "narrative"
)
RESULTS = Path(__file__).parent / "results" / "bench_context.txt"
FILES = 50
WINDOW = 24_000
STEPS = 60
QUESTIONS = Path(__file__).parent / "context_questions.toml"
DOCS = Path(__file__).parents[1] / "docs"
ROUNDS = 7
HISTORY = 50_000  # items
GROWN = 5  # items, from one compile to the next
PASSAGES = 100  # that a question to the knowledge store gives
COMPILES = 200


class Asked(NamedTuple):
    """A heading and the first paragraph below it."""

    heading: str
    paragraph: str


def files() -> list[Item]:
    """The corpus as 50 knowledge files, cut at blank lines."""
    paths = sorted(path for path in CORPUS.iterdir() if path.suffix in (".md", ".rst", ".txt"))
    text = "\n\n".join(path.read_text(errors="replace") for path in paths)
    paragraphs = text.split("\n\n")
    target = len(text) / FILES
    items: list[list[str]] = [[]]
    size = 0
    for paragraph in paragraphs:
        if size >= target * len(items):
            items.append([])
        items[-1].append(paragraph)
        size += len(paragraph) + 2
    return [
        Item(
            id=f"corpus.part_{nr:02}", section="knowledge", kind="knowledge", text="\n\n".join(part)
        )
        for nr, part in enumerate(items)
    ]


def headings(items: list[Item]) -> Iterator[Asked]:
    """Headings that stand once in the material, and what they are about."""
    text = "\n\n".join(item.text for item in items)
    pattern = r"^(?:#{2,4} ([^\n#]{12,70})|([A-Z][^\n]{12,70})\n[-=~']{12,})\n+([A-Z][^\n]{50,})"
    for match in re.finditer(pattern, text, re.MULTILINE):
        heading = match[1] or match[2]
        if text.count(heading) == 1 and len(heading.split()) >= 3:
            yield Asked(heading, match[3])


def request(items: list[Item], description: str) -> Request:
    """The step that asks for *description*."""
    step = PromptStep(process="bench", id="ask", description=description)
    return Request(step=step, window=200_000, effective_window=WINDOW, items=tuple(items))


def _kept(asked: list[Asked], prompts: list[Prompt]) -> str:
    held = (each.paragraph in prompt.text for each, prompt in zip(asked, prompts, strict=True))
    return f"{sum(held) / len(asked):.0%}"


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Median milliseconds, and peak megabytes of one further run."""
    spent: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        spent.append((time.perf_counter() - start) * 1_000)
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return statistics.median(spent), peak / 1e6


def step_lines(counter: TokenCounter, items: list[Item]) -> Iterator[str]:
    """What a step's prompt holds of the files, and what it costs to compile it."""
    compiler = ContextCompiler(counter)
    whole = "\n\n".join(item.text for item in items)
    asked = random.Random(20).sample(list(headings(items)), STEPS)
    questions = tomllib.loads(QUESTIONS.read_text("utf-8"))
    prompts = [compiler.compile(request(items, questions[each.heading])) for each in asked]
    verbatim = [compiler.compile(request(items, each.heading)) for each in asked]
    room = max(prompt.tokens for prompt in prompts)
    cut = counter.truncate(whole, room)
    peer = f"{sum(each.paragraph in cut for each in asked) / STEPS:.0%}"
    mean = round(statistics.mean(prompt.tokens for prompt in prompts))
    tokens = counter.count(whole)
    first = questions[asked[0].heading]
    measured = (
        ("ours, compile", lambda: compiler.compile(request(items, first)), mean),
        ("concatenate and truncate", lambda: counter.truncate(whole, room), room),
        ("limit: count the material once", lambda: counter.count(whole), tokens),
    )
    times = [timed(work) for _, work, _ in measured]
    shares = ((_kept(asked, prompts), _kept(asked, verbatim)), (peer, peer), ("", ""))
    yield f"material: {len(items)} files, {tokens:,} tokens; window {WINDOW:,}; {STEPS} steps"
    yield (
        f"{'':34}{'ms':>8}{'peak MB':>9}{'tokens':>9}{'of all':>8}{'asked for':>11}"
        f"{'verbatim':>10}{'x limit':>9}"
    )
    for (name, _, size), (ms, mb), (share, heading) in zip(measured, times, shares, strict=True):
        yield (
            f"{name:34}{ms:8,.0f}{mb:9,.1f}{size:9,}{size / tokens:8.1%}{share:>11}{heading:>10}"
            f"{ms / times[-1][0]:9.2f}"
        )


class LongHistory(NamedTuple):
    """A history that grows, facts that stand in it, and what a retrieval finds beside it."""

    items: tuple[Item, ...]
    questions: tuple[Asked, ...]
    passages: tuple[str, ...]


def long_history(files: list[Item]) -> LongHistory:
    """`HISTORY` items, and those that come while `COMPILES` prompts are compiled."""
    rng = random.Random(5)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(3, 9))) for _ in range(6_000)]
    texts = [" ".join(rng.choices(words, k=70)) for _ in range(HISTORY + COMPILES * GROWN)]
    questions: list[Asked] = []
    for number, at in enumerate(rng.sample(range(HISTORY), COMPILES)):
        name = f"{words[number]} {number}"
        fact = f"The archivist of {name} chose the harbour of {words[-number - 1]}."
        texts[at] += f" {fact}"
        questions.append(Asked(f"Which harbour did the archivist of {name} choose?", fact))
    items = tuple(
        Item(id=f"said.{n}", section="history", kind="turn", logged=n + 1, text=text)
        for n, text in enumerate(texts)
    )
    passages = [p for item in files for p in item.text.split("\n\n") if 200 < len(p) < 2_000]
    return LongHistory(items, tuple(questions), tuple(passages))


def beside(history: LongHistory, number: int) -> tuple[Request, View]:
    """The request and the view of one compile: another question, other passages, more history."""
    rng = random.Random(number)
    found = [
        Item(
            id=f"found.{number}.{at}",
            section="knowledge",
            kind="knowledge",
            text=text,
            score=1 - at / PASSAGES,
        )
        for at, text in enumerate(rng.sample(history.passages, PASSAGES))
    ]
    upto = HISTORY + number * GROWN
    asked = request(found, history.questions[number].heading)
    return asked, View(position=upto, items=history.items[:upto])


def history_lines(counter: TokenCounter, files: list[Item]) -> Iterator[str]:
    """Compiling beside that history, by a compiler that never saw it."""
    history = long_history(files)
    compiler = ContextCompiler(counter)
    wall: list[float] = []
    spent: list[float] = []
    kept = 0
    for number in range(COMPILES):
        asked, view = beside(history, number)
        start, busy = time.perf_counter(), time.process_time()
        prompt = compiler.compile(asked, view)
        spent.append((time.process_time() - busy) * 1_000)
        wall.append((time.perf_counter() - start) * 1_000)
        kept += history.questions[number].paragraph in prompt.text
        if prompt.tokens + prompt.manifest.headroom > WINDOW:
            sys.exit(f"compile {number} is over the window")
    yield (
        f"history of {HISTORY:,} items, {GROWN} more with each of {COMPILES} compiles; each with "
        f"{PASSAGES} passages and another question"
    )
    yield f"{'ms':34}{'first':>8}{'p50':>9}{'p99':>9}{'most':>8}{'asked for':>11}"
    for name, each in (("wall", wall), ("CPU", spent)):
        ordered = sorted(each)
        p99 = ordered[round(0.99 * (len(ordered) - 1))]
        yield (
            f"{name:34}{each[0]:8,.0f}{statistics.median(each):9,.0f}{p99:9,.0f}"
            f"{ordered[-1]:8,.0f}{kept / COMPILES:11.0%}"
        )


def first_count_ms() -> float:
    """What loading the token ranks costs, once a process."""
    start = time.perf_counter()
    TokenCounter().count("x")
    return (time.perf_counter() - start) * 1_000


def quick() -> Ratios:
    """A context compiled from the pages of docs/, to one count of their tokens."""
    counter = TokenCounter()
    compiler = ContextCompiler(counter)
    items = [
        Item(id=f"docs.{path.stem}", section="knowledge", kind="knowledge", text=path.read_text())
        for path in sorted(DOCS.glob("*.md"))
    ]
    whole = "\n\n".join(item.text for item in items)
    asked = request(items, "Say what survives a restart")
    compiler.compile(asked)
    return {
        "compile": ratio(
            lambda: speed(lambda: compiler.compile(asked)),
            lambda: speed(lambda: counter.count(whole)),
        )
    }


def main() -> None:
    """Measure, print, and keep what was printed."""
    quickly(quick)
    if not CORPUS.is_dir():
        sys.exit(f"skipped: no documents at {CORPUS}; set CORTEX_EVAL")
    loading_ms = first_count_ms()
    counter = TokenCounter()
    items = files()
    lines = [
        f"{stamp()}; token ranks, first count of a process: {loading_ms:,.0f} ms",
        "",
        *step_lines(counter, items),
        "",
        *history_lines(counter, items),
    ]
    report = "\n".join(lines)
    print(report)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(report + "\n")


if __name__ == "__main__":
    main()
