"""How many tokens exact CTX saves on structured files, at what speed, with nothing lost.

Files of the evaluation material (CORTEX_EVAL, default ../shared/eval; skipped where it is absent),
against compact JSON and indented JSON, both with the comments of the source behind them, and the
source itself. `adapter` serves eval_compaction.py of that material:

    cd benchmarks && python $CORTEX_EVAL/eval_compaction.py --plugin bench_ctx_exact:adapter
"""

import json
import os
import time
import tracemalloc
from pathlib import Path

import measure
from measure import Ratios, quickly, ratio, stamp

from cortex.runtime.context import TokenCounter
from cortex.runtime.ctx import Document, check, decode, encode, kind_of, read_source

EVAL = Path(os.environ.get("CORTEX_EVAL", Path(__file__).parents[2] / "shared" / "eval"))
HEAD = f"{'file':30}   compact  indented    source       ctx   saved of each, %    MB/s"
COUNTER = TokenCounter()


class Adapter:
    """CTX as eval_compaction.py wants it; `expand` gives back the source or equal data."""

    def compact(self, text: str, name: str) -> str:
        """*text* as a package."""
        return encode(text, kind_of(text, name), counter=COUNTER).text

    def data(self, text: str, name: str) -> object:  # noqa: ARG002  # theirs
        """The data of a package."""
        return decode(text).data


adapter = Adapter()


def comments(document: Document) -> str:
    found = [line for each in document.notes.values() for line in [*each.before, each.beside or ""]]
    return "".join(f"#{line}\n" for line in [*found, *document.after] if line)


def row(path: Path, totals: list[int], spent: list[tuple[int, float]]) -> str:
    text = path.read_text(encoding="utf-8")
    kind = kind_of(text, path.name)
    start = time.process_time()
    package = encode(text, kind, counter=COUNTER)
    seconds = time.process_time() - start
    spent.append((len(text.encode()), seconds))
    report = check(text, kind, package.text)
    if not report.holds:
        raise SystemExit(f"{path.name}: {report.lost[:3]}")
    document = read_source(text, kind)
    beside = COUNTER.count(comments(document))
    shapes = [
        json.dumps(document.data, separators=(",", ":"), ensure_ascii=False, default=str),
        json.dumps(document.data, indent=2, ensure_ascii=False, default=str),
    ]
    counts = [COUNTER.count(shape) + beside for shape in shapes]
    counts += [package.source_tokens, package.tokens]
    for at, count in enumerate(counts):
        totals[at] += count
    return line(path.name[:30], counts, speed(*spent[-1]))


def speed(size_bytes: int, seconds: float) -> str:
    return f"{size_bytes / 1e6 / seconds:6.2f}"


def line(name: str, counts: list[int], speed: str) -> str:
    *others, ours = counts
    saved = "".join(f"{100 * (1 - ours / other):7.1f}" for other in others)
    return f"{name:30}" + "".join(f"{count:10,}" for count in counts) + saved + speed


def quick() -> Ratios:
    """A table encoded, to one count of its tokens."""
    rows = (f"{n},name {n % 97},{n * 7 % 1_000 / 10},{n % 5 == 0}" for n in range(2_000))
    text = "\n".join(["id,name,share,late", *rows])
    COUNTER.count(text)
    return {
        "encode": ratio(
            lambda: measure.speed(lambda: encode(text, "csv", counter=COUNTER)),
            lambda: measure.speed(lambda: COUNTER.count(text)),
        )
    }


def main() -> None:
    quickly(quick)
    folder = EVAL / "corpus" / "structured"
    if not folder.is_dir():
        print(f"skipped: {folder} is not there; set CORTEX_EVAL")
        return
    print(f"{stamp()}; tokens of {COUNTER.encoding}")
    print(HEAD)
    COUNTER.count("load")
    totals, spent = [0, 0, 0, 0], list[tuple[int, float]]()
    files = sorted(folder.iterdir())
    for path in files:
        print(row(path, totals, spent))
    sizes, seconds = zip(*spent, strict=True)
    print(line("all", totals, speed(sum(sizes), sum(seconds))))
    text = max(files, key=lambda path: path.stat().st_size).read_text(encoding="utf-8")
    start = time.process_time()
    lengths = COUNTER.count(text)
    print(
        f"limit: counting the largest file once ({lengths:,} tokens), "
        f"{len(text) / 1e6 / (time.process_time() - start):.1f} MB/s"
    )
    start = time.process_time()
    package = encode(text, kind_of(text, "x.csv"), counter=COUNTER)
    middle = time.process_time()
    decode(package.text)
    print(
        f"decode {len(text) / 1e6 / (time.process_time() - middle):.1f} MB/s, "
        f"encode {len(text) / 1e6 / (middle - start):.2f} MB/s"
    )
    tracemalloc.start()
    encode(text, kind_of(text, "x.csv"), counter=COUNTER)
    print(
        f"memory: {tracemalloc.get_traced_memory()[1] / len(text):.0f} bytes a byte of source "
        "at the peak"
    )


if __name__ == "__main__":
    main()
