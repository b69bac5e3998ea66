"""How much of the evidence for a question is in a prompt of so many tokens?

Runs the evaluation scripts in CORTEX_EVAL (default ../shared/eval) with their baselines and with
the knowledge store: LoCoMo (turns of long conversations) and MuSiQue (passages, several hops). As a
retriever ours gives an order and the script fills the budget; "shown" is the text of a prompt.
Skips, and says so, where the material or its packages are not there.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

EVAL = Path(os.environ.get("CORTEX_EVAL", "../shared/eval")).resolve()
HERE = Path(__file__).parent
RUNS = (
    (
        "eval_locomo.py",
        ("fts5", "fts5-win2", "rrf-win2"),
        ("Words", "Hashing", "HashingSaid", "Local", "LocalSaid"),
    ),
    ("eval_multihop.py", ("fts5", "minilm", "rrf"), ("Words", "Hashing", "Local")),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-model", action="store_true", help="leave MiniLM out")
    asked = parser.parse_args()
    if not (EVAL / "eval_locomo.py").is_file():
        print(f"skipped: there is no material in {EVAL}; set CORTEX_EVAL")
        return
    for script, baselines, ours in RUNS:
        models = ("rrf-win2", "minilm", "rrf", "Local", "LocalSaid")
        keep = [name for name in baselines if not (asked.without_model and name in models)]
        plugins = [
            f"retrieval_adapter:{name}"
            for name in ours
            if not (asked.without_model and name in models)
        ]
        subprocess.run(
            [sys.executable, EVAL / script, "--only", *keep, "--plugin", *plugins],
            check=True,
            env={**os.environ, "PYTHONPATH": str(HERE), "CORTEX_EVAL": str(EVAL)},
        )


if __name__ == "__main__":
    main()
