"""Do the claims of paper 1, section 11.1, hold for the compiler? One section a claim.

Claim 1, fewer input tokens a task: the same tasks with compiled, scoped context and with everything
in each prompt. Claim 2, fewer calls: each process that comes with Cortex is run, and so is an agent
without a process that does the same by one tool a turn; counted are the `model.invoke` events in
both logs, turns with tools among them. Models answer from a script: what is counted is what a
process saves, not what a model decides.
The overhead: what compiling takes, as time against the time that an endpoint takes to read the
tokens that are saved, and as money against their price.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench_prefix import WAYS, bill
from long_run import PRICE, make_run
from measure import stamp
from recorded_runs import counted
from six_steps import COUNTER, NEEDS, pages, prompts, received, received_plain

from cortex.runtime.registry import ToolSpec
from cortex.runtime.tools import allowed, shown

RESULTS = Path(__file__).parent / "results" / "bench_claims.txt"
READ_TOKENS_S: Final = 10_000  # that an endpoint reads in a second, at best
CORE_HOUR_USD: Final = 0.10


def claim_1(texts: dict[str, str]) -> Iterator[str]:
    """Input tokens of a task: of the six steps as a server on loopback received them."""
    yield f"claim 1: input tokens a task{'everything':>16}{'ours':>11}{'fewer':>9}"
    everything = received_plain([*texts.values(), NEEDS[0].asks]).tokens * len(NEEDS)
    ours = sum(each.tokens for each in received(prompts(texts)))
    yield f"  six steps {'':24}{everything:8,}{ours:11,}{1 - ours / everything:9.1%}"
    run = make_run()
    sent = {way.name: bill(way, run).sent for way in WAYS[:3]}
    replay = sent["replay everything"]
    for name in ("ours, pre-assembled", "ours, just-in-time"):
        fewer = 1 - sent[name] / replay
        yield f"  50 turns, {name:24}{replay:8,}{sent[name]:11,}{fewer:9.1%}"


def claim_2() -> Iterator[str]:
    """Model calls of a task, counted in the logs of two executions."""
    yield f"claim 2: model calls a task{'ad hoc':>17}{'ours':>11}{'fewer':>9}"
    for each in counted():
        fewer = 1 - each.ours / each.agent
        yield f"  {each.process:34}{each.agent:8}{each.ours:11}{fewer:9.0%}"


def overhead(texts: dict[str, str]) -> Iterator[str]:
    """What compiling takes of what it saves."""
    COUNTER.count("x")  # the token ranks are loaded once a process
    started = time.process_time()
    made = prompts(texts)
    spent_s = (time.process_time() - started) / len(made)
    every = sum(map(COUNTER.count, texts.values()))
    saved = every - sum(prompt.tokens for prompt in made) / len(made)
    saved_s, saved_usd = saved / READ_TOKENS_S, saved * PRICE.input / 1e6
    spent_usd = spent_s * CORE_HOUR_USD / 3_600
    yield f"overhead a prompt{'compiling':>27}{'saves':>11}{'share':>9}"
    yield f"  ms{spent_s * 1_000:40,.1f}{saved_s * 1_000:11,.0f}{spent_s / saved_s:9.2%}"
    yield f"  US dollars{spent_usd:32.7f}{saved_usd:11.4f}{spent_usd / saved_usd:9.4%}"


def tools() -> Iterator[str]:
    """What 100 tools in ten packs take until one of them is enabled."""
    specs = tuple(
        ToolSpec(
            name=f"server{pack}.tool_{number}",
            description=f"Does number {number} of what pack {pack} does, and says what came of it.",
            parameters={
                "type": "object",
                "properties": {
                    name: {"type": "string", "description": f"The {name} it is about."}
                    for name in ("owner", "repository", "branch", "path", "query")
                },
                "required": ["owner", "repository"],
            },
            provider=f"server{pack}",
            pack=f"server{pack}",
        )
        for pack in range(10)
        for number in range(10)
    )
    whole = sum(COUNTER.count(json.dumps(spec.shown())) for spec in specs)
    may = allowed([f"server{pack}" for pack in range(10)], specs, ())
    yield f"tools: 100 in ten packs{'whole':>21}{'ours':>11}{'share':>9}"
    for name, enabled in (("none enabled", ()), ("one pack enabled", ("server3",))):
        seen = shown(may, enabled)
        lines = [*seen.packs, *(json.dumps(spec.shown()) for spec in seen.tools)]
        ours = COUNTER.count("\n".join(lines))
        yield f"  {name:34}{whole:8,}{ours:11,}{ours / whole:9.1%}"


def main() -> None:
    """Measure, print, and keep what was printed."""
    texts = pages()
    lines = [stamp()]
    cold = list(overhead(texts))  # first, while nothing of the texts is remembered
    for section in (claim_1(texts), claim_2(), tools(), cold):
        lines += ["", *section]
    report = "\n".join(lines)
    print(report)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(report + "\n")


if __name__ == "__main__":
    main()
