"""How many input tokens do six steps send, against carrying everything in each of them?

Paper 1, section 5.3: 10,000 tokens in place of six times 50,000. Counted is what a server on
loopback received, of ours and of the others. The material is the documentation of this project.
*Everything* is all pages in every step; *their page* is the whole page that a step names, in that
step. "Needed" is the share of steps whose prompt, as received, has what the step must read.
"""

from pathlib import Path

from measure import stamp
from six_steps import NEEDS, WINDOW, pages, prompts, received, received_plain

RESULTS = Path(__file__).parent / "results" / "bench_six_steps.txt"


def main() -> None:
    """Measure, print, and keep what was printed."""
    texts = pages()
    sent = received(prompts(texts))
    every = received_plain([*texts.values(), NEEDS[0].asks]).tokens
    counts = [received_plain([texts[need.topic], need.asks]).tokens for need in NEEDS]
    everything, own = every * len(NEEDS), sum(counts)
    ours = sum(each.tokens for each in sent)
    held = sum(need.must_read in each.text for need, each in zip(NEEDS, sent, strict=True))
    lines = [
        f"{stamp()}; V_e {WINDOW:,}",
        "",
        f"{'':22}{'page':>10}{'compiled':>10}",
        *(
            f"{need.step:22}{count:10,}{each.tokens:10,}"
            for need, count, each in zip(NEEDS, counts, sent, strict=True)
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
