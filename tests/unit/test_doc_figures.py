"""The guides quote what the benchmarks recorded.

A figure that was measured again is quoted again.
"""

# ruff: noqa: RUF001  # signs as the guides have them

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS, RECORDS = ROOT / "docs", ROOT / "benchmarks" / "results"
pytestmark = pytest.mark.skipif(
    not (DOCS.is_dir() and RECORDS.is_dir()),
    reason="docs/ and benchmarks/ are not beside this test",
)
# The page, what it says around its figures, the record, what that says; groups must be equal.
QUOTED = [
    (
        "cache.md",
        r"in ([\d.]+) µs \(median\), or in ([\d.]+) µs",
        "bench_cache.txt",
        r"\nL1 +p50 +([\d.]+) us[^$]*?\nL1, key made +p50 +([\d.]+) us",
    ),
    (
        "cache.md",
        r"2 GB finds one in ([\d.]+) µs, and in ([\d.]+) µs",
        "bench_cache.txt",
        r"\nL2 +p50 +([\d.]+) us[^$]*?\nL2, cold +p50 +([\d.]+) us",
    ),
    (
        "cache.md",
        r"it hits ([\d.]+) %, LRU ([\d.]+) %, and LFU ([\d.]+) %; the paper reports ([\d.]+) %",
        "bench_cache.txt",
        r"\nOLTP +1,000 +([\d.]+) +[\d.]+ +([\d.]+) +([\d.]+) +([\d.]+),",
    ),
    (
        "cache.md",
        r"takes ([\d.]+) times as long the first time",
        "bench_cache.txt",
        r"next process, ([\d.]+) times as fast",
    ),
    (
        "condensing.md",
        r"([\d.]+) % of all of them together; ([\d.]+) %\s+of the pages",
        "bench_condense.txt",
        r"\nall .*? +([\d.]+)% [^$]*pages of docs/ .*? +([\d.]+)% ",
    ),
    (
        "condensing.md",
        r"The legend would save ([\d.]+) % more",
        "bench_condense.txt",
        r"\nall .*? 0 +([\d.]+)%",
    ),
    (
        "condensing.md",
        r"holds ([\d.]+) times the facts of the head",
        "bench_condense.txt",
        r"documents above: .*head [\d,]+ \(ours ([\d.]+) x\)",
    ),
    (
        "context.md",
        r"turn 50 has (\d+) % of them if asked in their words, (\d+) % in other words, and (\d+) %",
        "bench_prefix.txt",
        r"ours, pre-assembled .* (\d+)% +(\d+)% +(\d+)%\n",
    ),
    (
        "context.md",
        r"in the tokens of a recall, has (\d+) %, (\d+) % and (\d+) %",
        "bench_prefix.txt",
        r"the same, 1,500 tokens .* (\d+)% +(\d+)% +(\d+)%\n",
    ),
    (
        "context.md",
        r"costs (\d+) % of replaying everything where Cortex costs (\d+) %",
        "bench_prefix.txt",
        r"(?s)(?=.*\nthe same, 1,500 tokens(?: +[\d,]+){4} +(\d+)%).*\nours, pre(?:\S* +){5}(\d+)%",
    ),
    (
        "knowledge.md",
        r"\| `hashing` \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|",
        "bench_retrieval.txt",
        r"overall[^#]*HashingSaid(?: +[\d.]+){6} +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)",
    ),
    (
        "knowledge.md",
        r"\| MiniLM \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|",
        "bench_retrieval.txt",
        r"overall[^#]*LocalSaid(?: +[\d.]+){6} +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)",
    ),
    (
        "knowledge.md",
        r"\| `static` \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| [\d.]+ \|",
        "bench_retrieval.txt",
        r"overall[^#]*StaticSaid(?: +[\d.]+){6} +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)",
    ),
    (
        "knowledge.md",
        r"100,000 tokens(?:.*\n){3}\| `static` \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|",
        "bench_retrieval.txt",
        r"dev-100k(?:.*\n){4}retrieval_adapter:Static R@5 ([\d.]+)  R@10 ([\d.]+)  R@20 ([\d.]+)",
    ),
    (
        "knowledge.md",
        r"\| FTS5 \| ([\d.]+) \| \d+ \|",
        "bench_retrieval.txt",
        r"musique[^#]*\nfts5 +[\d.]+ +([\d.]+)",
    ),
    (
        "bus.md",
        r"\| a bare round trip \| (\d+) µs",
        "bench_wire.txt",
        r"nng req/rep .*p50 (\d+) us",
    ),
    (
        "bus.md",
        r"\| one event acknowledged, p50 \| (\d+) µs, ([\d.]+) × bare",
        "bench_wire.txt",
        r"single/ipc .*p50 (\d+) us[^$]*single/ipc takes ([\d.]+) x",
    ),
    (
        "bus.md",
        r"\| a query, p50 \| (\d+) µs, ([\d.]+) × bare",
        "bench_wire.txt",
        r"ask/1 .*p50 (\d+) us[^$]*ask/1 takes ([\d.]+) x",
    ),
    ("gc.md", r"the process \| (\d+) MB", "bench_gc.txt", r"heap (\d+) MB"),
    (
        "gc.md",
        r"a slice \| p50 ([\d.]+) ms, p99 ([\d.]+) ms \|(?s:.*)single pause was ([\d.]+) ms",
        "bench_gc.txt",
        r"all gen.* slices \(p50 ([\d.]+) ms, p99 ([\d.]+) ms, longest ([\d.]+) ms",
    ),
    (
        "gc.md",
        r"250 ids \| p50 ([\d.]+) ms, p99 ([\d.]+) ms",
        "bench_gc.txt",
        r"all gen.* records \(p50 ([\d.]+) ms, p99 ([\d.]+) ms",
    ),
    (
        "gc.md",
        r"1,000 allocations \| ([\d.]+) ms in (\d+) slices",
        "bench_gc.txt",
        r"generation 0 +([\d.]+) ms in (\d+) slices",
    ),
    ("gc.md", r"same graph \| ([\d,]+) ms", "bench_gc.txt", r"gc.collect +([\d,]+) ms"),
    ("gc.md", r"mark-sweep \| ([\d,]+) ms", "bench_gc.txt", r"plain mark-sweep +([\d,]+) ms"),
    ("bus.md", r"\| batches over ipc \| ([\d,]+)/s", "bench_wire.txt", r"flow/ipc +([\d,]+)/s"),
    ("bus.md", r"\| catch-up; .*?\| ([\d,]+)/s", "bench_wire.txt", r"catch-up +([\d,]+)/s"),
    ("bus.md", r"queries of four clients \| ([\d,]+)/s", "bench_wire.txt", r"ask/4 +([\d,]+)/s"),
]


@pytest.mark.parametrize(("page", "said", "record", "measured"), QUOTED)
def test_a_guide_says_what_was_measured(page: str, said: str, record: str, measured: str) -> None:
    quoted = re.search(said, (DOCS / page).read_text("utf-8"))
    found = re.search(measured, (RECORDS / record).read_text("utf-8"))

    assert quoted is not None, said
    assert found is not None, measured
    assert quoted.groups() == found.groups()
