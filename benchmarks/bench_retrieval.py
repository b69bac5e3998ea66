"""How much of the evidence for a question is in a prompt of so many tokens?

Runs the evaluation scripts in CORTEX_EVAL (default ../shared/eval) with their baselines and with
the knowledge store: LoCoMo (turns of long conversations), MuSiQue (passages, several hops) and BEAM
(messages of very long dialogues; it also asks what cannot be answered). As a retriever ours gives
an order and the script fills the budget; "shown" is the text of a prompt, which is empty where an
answer is unlikely.
Skips, and says so, where the material or its packages are not there.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from measure import keep, stamp

EVAL = Path(os.environ.get("CORTEX_EVAL", "../shared/eval")).resolve()
HERE = Path(__file__).resolve().parent
RESULT = HERE / "results" / "bench_retrieval.txt"
RUNS = (
    (
        "eval_locomo.py",
        ("fts5", "fts5-win2", "rrf-win2"),
        ("HashingSaid", "StaticSaid", "LocalSaid"),
    ),
    ("eval_multihop.py", ("fts5", "minilm", "rrf"), ("Words", "Hashing", "Static", "Local")),
    ("eval_beam.py", ("fts5-message",), ("Words", "Hashing", "Static", "Local")),
)
MODEL = ("onnxruntime", "tokenizers")
NEEDED = {
    "rrf-win2": (*MODEL, "bm25s", "Stemmer"),
    "rrf": (*MODEL, "bm25s", "Stemmer"),
    "minilm": MODEL,
    "Local": MODEL,
    "Static": ("wordllama",),
    "StaticSaid": ("wordllama",),
    "LocalSaid": MODEL,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-model", action="store_true", help="leave MiniLM out")
    asked = parser.parse_args()
    if not (EVAL / "eval_locomo.py").is_file():
        print(f"skipped: there is no material in {EVAL}; set CORTEX_EVAL")
        return
    keep(lines(without_model=asked.without_model), RESULT)


def lines(*, without_model: bool) -> Iterator[str]:
    """What the scripts print, and what was left out."""
    yield stamp()
    for script, baselines, ours in RUNS:
        names = [
            name
            for name in (*baselines, *ours)
            if not (without_model and MODEL[0] in NEEDED.get(name, ()))
        ]
        missing = {name: _missing(name) for name in names}
        for name, package in missing.items():
            if package:
                yield f"skipped: {name} in {script} needs {package}"
        found = [name for name in names if not missing[name]]
        yield from _printed(
            str(EVAL / script),
            *("--only", *[name for name in found if name in baselines]),
            *("--plugin", *[f"retrieval_adapter:{name}" for name in found if name in ours]),
        )


def _missing(name: str) -> str:
    """A package that *name* needs and that is not there; empty where all are."""
    return next((one for one in NEEDED.get(name, ()) if importlib.util.find_spec(one) is None), "")


def _printed(*command: str) -> Iterator[str]:
    environment = {**os.environ, "PYTHONPATH": str(HERE), "CORTEX_EVAL": str(EVAL)}
    with subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, text=True, env=environment
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            yield line.rstrip("\n")
    if running.returncode:
        sys.exit(running.returncode)


if __name__ == "__main__":
    main()
