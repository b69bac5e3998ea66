"""Does the triage name what failed in logs that no rule was tuned on?

Prints, for each log of ``tests/fixtures/triage_unseen`` (or of ``triage_unseen_2``, which was
drawn after the rules were frozen: ``--second``), whether the first finding names what failed, the
share of facts that an excerpt of 1,000 tokens keeps, and the share of its tokens that stand where
the log tells of the failure; and the means, every log weighing the same. ``--save LABEL`` adds the
table to the recorded ones: the first of each set was taken once, and stays as it is.
"""

import argparse
import importlib.util
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from cortex.runtime.context import TokenCounter

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
GOAL = "goal: first finding right >= 90 %, facts kept >= 90 %, tokens on the failure >= 60 %"
FEW = 0.3  # of its tokens on the failure: an excerpt below it is of little use


def load_measure() -> ModuleType:
    path = ROOT / "tests" / "triage_unseen.py"
    spec = importlib.util.spec_from_file_location("triage_unseen", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def commit() -> str:
    asked = ["git", "log", "-1", "--format=%h", "--", "runtime/code/triage"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def row(name: str, score: Any, digits: int) -> str:
    shares = (score.first, score.facts, score.told)
    return f"{name:32}" + "".join(f"{100 * share:8.{digits}f}" for share in shares)


def table(label: str, *, second: bool) -> str:
    measure = load_measure()
    drawn = measure.SECOND if second else measure.FIRST
    rows = list(measure.scores(drawn, TokenCounter().count))
    all_of_them = measure.mean([each for _, each in rows])
    few = sum(each.told < FEW for _, each in rows)
    lines = [
        f"{time.strftime('%Y-%m-%d')}  {label}; rules of {commit()}",
        f"{'%':32}{'first':>8}{'facts':>8}{'tokens':>8}",
        *(row(name, each, 0) for name, each in rows),
        row(f"mean of {len(rows)} logs", all_of_them, 1),
        f"{GOAL}; {few} logs with fewer than {FEW:.0%} of their tokens on the failure",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--second", action="store_true", help="the set drawn after the rules")
    parser.add_argument("--save", metavar="LABEL", help="add to benchmarks/results")
    options = parser.parse_args()
    measured = table(options.save or "not recorded", second=options.second)
    if options.save:
        result = RESULTS / f"bench_triage_unseen{'_2' * options.second}.txt"
        before = result.read_text(encoding="utf-8") + "\n" if result.exists() else ""
        result.write_text(before + measured, encoding="utf-8")
    print(measured, end="")


if __name__ == "__main__":
    main()
