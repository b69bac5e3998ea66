"""How many input tokens do six steps take, against carrying everything in each of them?

Paper 1, section 5.3: 10,000 tokens in place of six times 50,000. The material is the documentation
of this project. *Everything* is all pages in every step; *their page* is the whole page that a step
names, in that step. "Needed" is the share of steps whose prompt has what the step must read.
"""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from six_steps import COUNTER, NEEDS, WINDOW, pages, prompts

RESULTS = Path(__file__).parent / "results" / "bench_six_steps.txt"


def main() -> None:
    """Measure, print, and keep what was printed."""
    texts = pages()
    made = prompts(texts)
    counts = {topic: COUNTER.count(text) for topic, text in texts.items()}
    everything = sum(counts.values()) * len(NEEDS)
    own = sum(counts[need.topic] for need in NEEDS)
    ours = sum(prompt.tokens for prompt in made)
    held = sum(need.must_read in prompt.text for need, prompt in zip(NEEDS, made, strict=True))
    machine = f"{os.cpu_count()} cores, Python {sys.version.split()[0]}"
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}, {machine}; V_e {WINDOW:,}",
        "",
        f"{'':22}{'page':>10}{'compiled':>10}",
        *(
            f"{need.step:22}{counts[need.topic]:10,}{prompt.tokens:10,}"
            for need, prompt in zip(NEEDS, made, strict=True)
        ),
        "",
        f"{'':22}{'tokens':>10}{'fewer':>10}{'needed':>10}",
        f"{'everything, 6 times':22}{everything:10,}{0:10.1%}{1:10.0%}",
        f"{'their page each':22}{own:10,}{1 - own / everything:10.1%}{1:10.0%}",
        f"{'ours':22}{ours:10,}{1 - ours / everything:10.1%}{held / len(NEEDS):10.0%}",
    ]
    report = "\n".join(lines)
    print(report)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(report + "\n")


if __name__ == "__main__":
    main()
