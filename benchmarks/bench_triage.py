"""Does a triage of a real CI log name what failed, and how much of it survives in a token budget?

Prints, over the labelled logs of ``$CORTEX_EVAL/ci-logs``: how often the report names a labelled
fact among its first 1, 3 and 10 findings; the share of facts that ``condense`` keeps beside every
baseline of ``eval_ci_logs.py``; and seconds and peak memory for a generated log of 138,000 lines,
for one of 1 GB (``--large``), for 138,000 distinct failing tests, and for every hostile log of
``hostile_logs.py`` at 30 MB. The baseline ``bm25-lines`` needs the package ``bm25s``.
"""

import argparse
import contextlib
import importlib.util
import io
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from hostile_logs import HOSTILE, numbered_tests, write_hostile
from measure import stamp

from cortex.runtime.code.triage import (
    Finding,
    analyse,
    condense,
    excerpt,
    parse_log,
    read_log,
    report_of,
    triage,
)
from cortex.runtime.context import TokenCounter

ROOT = Path(__file__).resolve().parents[1]
EVAL = Path(os.environ.get("CORTEX_EVAL", ROOT.parent / "shared" / "eval"))
RESULT = ROOT / "benchmarks" / "results" / "bench_triage.txt"
BUDGETS = (500, 1_000, 2_000, 4_000)
FIRST = (1, 3, 10)
SETS = ("bugswarm", "treeherder")
LINES = 138_000
LARGE_BYTES = 1_000_000_000
GOAL_S, GOAL_MB = 3.0, 300
HOSTILE_BYTES, HOSTILE_GOAL_S = 30_000_000, 10.0
EXCERPT_TOKENS = 3_000  # as the action asks for them

Facts = list[tuple[str, ...]]
Case = tuple[str, str, str, Facts]


def load_eval() -> ModuleType:
    path = EVAL / "eval_ci_logs.py"
    spec = importlib.util.spec_from_file_location("eval_ci_logs", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def share(values: list[float]) -> float:
    return 100 * statistics.mean(values)


def named(kept: Callable[[Facts, str], float], facts: Facts, findings: list[str]) -> bool:
    return any(kept([fact], text) == 1 for fact in facts for text in findings)


def print_named(kept: Callable[[Facts, str], float], cases: list[Case]) -> None:
    def head(finding: Finding) -> str:
        return f"{finding.title} {finding.message}"

    def whole(finding: Finding) -> str:
        return " ".join([head(finding), *(part.text for part in finding.evidence)])

    print("\nlogs whose report names a labelled fact among its first findings, %")
    print(f"{'':34}" + "".join(f"{k:>8}" for k in FIRST))
    for group in SETS:
        mine = [case for case in cases if case[0] == group]
        reports = [(triage(parse_log(text)), facts) for _, _, text, facts in mine]
        for label, said in (("title or message", head), ("cited lines included", whole)):
            row = [
                share(
                    [named(kept, facts, [said(f) for f in r.findings[:k]]) for r, facts in reports]
                )
                for k in FIRST
            ]
            print(f"{group:12}{label:22}" + "".join(f"{value:8.1f}" for value in row))


def compilers(evaluation: ModuleType) -> dict[str, Callable[[str, int], str]]:
    def cortex(text: str, budget: int) -> str:
        return condense(parse_log(text), budget, evaluation.ntok)

    found = {"cortex": cortex, **evaluation.BASE}
    if importlib.util.find_spec("bm25s") is None:
        print("bm25-lines skipped: the package bm25s is not installed")
        del found["bm25-lines"]
    return found


def print_kept(evaluation: ModuleType, cases: list[Case]) -> None:
    todo = compilers(evaluation)
    scores: dict[tuple[str, str, int], list[float]] = {}
    for group, _, text, facts in cases:
        for name, compile_log in todo.items():
            for budget in BUDGETS:
                view = compile_log(text, budget)
                fits = evaluation.ntok(view) <= budget
                score = evaluation.kept(facts, view) if fits else 0.0
                scores.setdefault((group, name, budget), []).append(score)
    for group in SETS:
        print(f"\n{group}: facts kept, %" + "".join(f"{b:>10,}" for b in BUDGETS))
        for name in todo:
            row = [share(scores[group, name, budget]) for budget in BUDGETS]
            print(f"  {name:16}     " + "".join(f"{value:10.1f}" for value in row))
        best = [max(share(scores[group, n, b]) for n in todo if n != "cortex") for b in BUDGETS]
        ours = [share(scores[group, "cortex", b]) for b in BUDGETS]
        ratios = (f"{o / b:9.2f}x" for o, b in zip(ours, best, strict=True))
        print("  ours / best baseline " + "".join(ratios))


def generated_lines(seed: int = 7) -> Iterator[str]:
    """An endless build log: modules compiled, tests passed, some noise that sounds like failure."""
    rng = random.Random(seed)
    words = ["cache", "frame", "ring", "store", "index", "parser", "ledger", "error", "retry"]
    for number in range(sys.maxsize):
        minute, second = number // 60_000 % 60, number // 1_000 % 60
        stamp = f"2024-03-02T10:{minute:02}:{second:02}.{number % 1_000:03}0000Z "
        a, b = rng.choice(words), rng.choice(words)
        kind = rng.random()
        if kind < 0.5:
            yield f"{stamp}[{number % 100:3}%] Compiling {a}/{b}_{number % 977}.cc in target/{a}"
        elif kind < 0.9:
            test = f"tests/{a}/test_{b}.py::test_{a}_{number % 5_000}"
            yield f"{stamp}{test} PASSED [{number % 100:3}%]"
        elif kind < 0.97:
            yield f"{stamp}WARN {a}: {b} not found in cache, rebuilding ({rng.random():.6f})"
        else:
            problem = f"{a}.{b}: connection {number} refused, retrying in 5 s"
            yield f"{stamp}\x1b[31mERROR\x1b[0m {problem}"


def write_generated(path: Path, *, lines: int = 0, size_bytes: int = 0) -> None:
    failure = (
        "_________________________ test_wraps_around _________________________\n"
        "tests/ring/test_ring.py:48: in test_wraps_around\n"
        "    assert ring.front() == 3\nE   AssertionError: assert 7 == 3\n"
    )
    with path.open("w", encoding="utf-8") as file:
        written = 0
        for number, line in enumerate(generated_lines()):
            written += file.write(line + "\n")
            if number == 90_000:
                file.write(failure)
            if (lines and number >= lines) or (size_bytes and written >= size_bytes):
                break
        file.write("FAILED tests/ring/test_ring.py::test_wraps_around - assert 7 == 3\n")
        file.write("##[error]Process completed with exit code 1.\n")


def peak_megabytes() -> float:
    # Not ru_maxrss: Linux counts the parent's memory at the fork into it.
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def measure_child(path: str) -> None:
    """Do with *path* what the action `read_ci_log` does; print time, peak memory, first title."""
    counter = TokenCounter()
    counter.count("x")  # the ranks are loaded once a process, not once a log
    began = time.perf_counter()
    log = read_log(path, count=counter.count)
    analysis = analyse(log)
    report = report_of(log, analysis)
    excerpt(log, EXCERPT_TOKENS, counter.count, analysis)
    took = time.perf_counter() - began
    peak_mb = peak_megabytes()
    lost = f"{report.omitted_lines:,} not kept"
    cpu = f"{time.process_time():.2f} s of CPU with start"  # neighbours slow it down less
    print(f"{took:.2f} s, {cpu}, {peak_mb:.0f} MB, {report.lines:,} lines ({lost})")
    print(f"  first finding: {report.findings[0].title if report.findings else 'none'}")


def print_speed(large: bool) -> None:
    sizes = [(f"{LINES:,} lines", {"lines": LINES})]
    if large:
        sizes.append(("1 GB", {"size_bytes": LARGE_BYTES}))
    goal = f"goal for {LINES:,} lines: {GOAL_S} s, {GOAL_MB} MB"
    print(f"\nread, count, triage and cut an excerpt, each in a process of its own ({goal})")
    with tempfile.TemporaryDirectory() as folder:
        for label, size in sizes:
            path = Path(folder) / "generated.log"
            write_generated(path, **size)
            print(f"{label}: {child(path)}")
        path.write_bytes(b"".join(numbered_tests(LINES)))
        print(f"{LINES:,} distinct failing tests: {child(path)}")


def child(path: Path) -> str:
    """What `measure_child` prints of *path*, in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", str(path)], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def print_hostile() -> None:
    megabytes = HOSTILE_BYTES // 1_000_000
    print(f"\nhostile logs of {megabytes} MB (goal: {HOSTILE_GOAL_S:.0f} s, {GOAL_MB} MB each)")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hostile.log"
        for name in HOSTILE:
            with path.open("wb") as file:
                file.writelines(write_hostile(name, HOSTILE_BYTES))
            print(f"{name:32} {child(path).splitlines()[0]}")


def run(large: bool) -> None:
    print(
        time.strftime("%Y-%m-%d"), f"{os.cpu_count()} cores, 24 GiB, Python", sys.version.split()[0]
    )
    if (EVAL / "eval_ci_logs.py").exists():
        evaluation = load_eval()
        cases: list[Case] = evaluation.load()
        print_named(evaluation.kept, cases)
        print_kept(evaluation, cases)
    else:
        print(f"SKIPPED, labelled logs: {EVAL} is not there; set CORTEX_EVAL")
    print_speed(large)
    print_hostile()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true", help=f"write {RESULT.relative_to(ROOT)}")
    parser.add_argument("--large", action="store_true", help="also triage a log of 1 GB")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        measure_child(options.child)
        return
    captured = io.StringIO()
    with contextlib.redirect_stdout(captured) if options.save else contextlib.nullcontext():
        print(stamp())
        run(options.large)
    if options.save:
        RESULT.write_text(captured.getvalue(), encoding="utf-8")
        print(captured.getvalue(), end="")


if __name__ == "__main__":
    main()
