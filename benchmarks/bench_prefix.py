"""What does a run of 50 turns cost where endpoints keep prefixes, and what does it still know?

The run: each turn reads one source of about 2,700 tokens (tables, prose, logs), which replayed is
135,000 tokens at turn 50; a fact is planted in each of turns 1 to 45, and turn 50 asks for each of
them. Caches are simulated by their published rules (exact prefix, minimum 1,024 tokens, four
breakpoints, 20 blocks back, 300 s; a turn takes 144 s); paid are tokens of fresh input that cost
the same. Beside ours: every turn replayed as it was said, with a breakpoint behind the newest; the
newest turns that fit the window; and the whole history written anew at every turn to fit it.
"""

import os
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
from long_run import PRICE, RULES, SECONDS_A_TURN, TASK, TURNS, WINDOW, Run, make_run, request

from cortex.runtime.context import (
    Bill,
    CacheBlock,
    ContextCompiler,
    ProviderCache,
    Strategy,
    TokenCounter,
    bill_of,
    blocks_of,
    split,
)

RESULTS = Path(__file__).parent / "results" / "bench_prefix.txt"
HISTORY_TOKENS = 12_000  # of whoever keeps to the window
EARLY = 5  # the turn whose knowledge is the measure

COUNTER = TokenCounter()
COMPILER = ContextCompiler(COUNTER)


class Way(NamedTuple):
    """One way to make the prompts of the run."""

    name: str
    blocks: Callable[[Run, int, str], list[CacheBlock]]  # of a turn that asks something


def block(text: str, *, mark: bool = False) -> CacheBlock:
    """A block with its tokens."""
    return CacheBlock(text, COUNTER.count(text), mark)


def ours(strategy: Strategy) -> Callable[[Run, int, str], list[CacheBlock]]:
    """The compiler's prompts, in the blocks in which they are sent."""

    def made(run: Run, turn: int, asked: str) -> list[CacheBlock]:
        found = run.knowledge[:8]
        if strategy == "just-in-time":
            found = (run.knowledge[turn % len(run.knowledge)],)
        prompt = COMPILER.compile(request(run, turn, asked, found, strategy=strategy))
        parts = split(prompt.text)
        stable = parts.system + msgspec.json.encode(parts.tools).decode()
        rest = [block(each.text, mark=each.breakpoint) for each in blocks_of(parts.user)]
        return [block(stable, mark=True), *rest]

    return made


def base(run: Run) -> list[CacheBlock]:
    """What every way has in front: the stable part and what was found for the task."""
    made = ours("pre-assembled")(run, 1, TASK)
    return [each._replace(breakpoint=at == len(made) - 2) for at, each in enumerate(made[:-1])]


def said(run: Run, turn: int) -> list[str]:
    """The turns before *turn*, as they were said."""
    return ["\n".join(each.text for each in one.said) + "\n" for one in run.turns[: turn - 1]]


def replayed(run: Run, turn: int, asked: str) -> list[CacheBlock]:
    """All of it, every turn."""
    turns = [block(text) for text in said(run, turn)]
    if turns:
        turns[-1] = turns[-1]._replace(breakpoint=True)
    return [*base(run), *turns, block(asked)]


def tail(run: Run, turn: int, asked: str) -> list[CacheBlock]:
    """The newest turns that fit."""
    kept: list[CacheBlock] = []
    free = HISTORY_TOKENS
    for text in reversed(said(run, turn)):
        one = block(text)
        if one.tokens > free:
            break
        free -= one.tokens
        kept.insert(0, one)
    if kept:
        kept[-1] = kept[-1]._replace(breakpoint=True)
    return [*base(run), *kept, block(asked)]


def rewritten(run: Run, turn: int, asked: str) -> list[CacheBlock]:
    """A share of the history for each turn, so that all of it fits: other bytes every turn."""
    turns = said(run, turn)
    share = HISTORY_TOKENS // max(len(turns), 1)
    history = f"Summary at turn {turn}.\n" + "".join(COUNTER.truncate(t, share) for t in turns)
    return [*base(run), block(history, mark=True), block(asked)]


WAYS = (
    Way("ours, pre-assembled", ours("pre-assembled")),
    Way("ours, just-in-time", ours("just-in-time")),
    Way("replay everything", replayed),
    Way("tail", tail),
    Way("rewrite every turn", rewritten),
)


def bill(way: Way, run: Run) -> Bill:
    """What the whole run comes to."""
    cache = ProviderCache(RULES)
    usages = [
        cache.ask(way.blocks(run, turn, TASK), turn * SECONDS_A_TURN)
        for turn in range(1, TURNS + 1)
    ]
    return bill_of(usages, PRICE)


def known(way: Way, run: Run, turn: int) -> float:
    """The share of what was planted before *turn* that its prompt holds when it is asked for."""
    facts = [fact for fact in run.facts if fact.turn < turn]
    hits = [
        any(fact.sentence in each.text for each in way.blocks(run, turn, fact.question))
        for fact in facts
    ]
    return sum(hits) / len(hits)


def rows(run: Run) -> Iterator[str]:
    """The table."""
    bills = {way.name: bill(way, run) for way in WAYS}
    replay, rewrite = bills["replay everything"].paid, bills["rewrite every turn"].paid
    for way in WAYS:
        of = bills[way.name]
        early, late = known(way, run, EARLY), known(way, run, TURNS)
        yield (
            f"{way.name:22}{of.sent:11,}{of.cached_read:11,}{of.cached_write:10,}{of.paid:11,.0f}"
            f"{of.paid / replay:10.0%}{of.paid / rewrite:11.0%}{of.most:9,}"
            f"{early:8.0%}{late:8.0%}{late / early if early else 0:9.0%}"
        )


def main() -> None:
    """Measure, print, and keep what was printed."""
    run = make_run()
    machine = f"{os.cpu_count()} cores, Python {sys.version.split()[0]}"
    heads = f"{'':22}{'sent':>11}{'read':>11}{'written':>10}{'paid':>11}{'of replay':>10}"
    heads += f"{'of rewrite':>11}{'largest':>9}{'turn 5':>8}{'turn 50':>8}{'50 to 5':>9}"
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}, {machine}",
        f"{TURNS} turns, window {WINDOW:,}; {len(run.facts)} facts; tokens of the whole run",
        "",
        heads,
        *rows(run),
    ]
    report = "\n".join(lines)
    print(report)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(report + "\n")


if __name__ == "__main__":
    main()
