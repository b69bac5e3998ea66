"""What does a run of 50 turns cost where endpoints keep prefixes, and what does it still know?

The run: each turn reads one source of about 2,700 tokens (tables, prose, logs), which replayed is
135,000 tokens at turn 50; a fact is planted in each of turns 1 to 45, and turn 50 asks for each of
them: in its own words, in others, and with another word for the thing that it is about, too
(`planted_facts.py`). Every turn asks for one of the facts before it, in other words, and whoever
looks for something looks for that. Caches are simulated by their published rules (exact prefix,
minimum 1,024 tokens, four breakpoints, 20 blocks back, 300 s; a turn takes 144 s); paid are tokens
of fresh input that cost the same. Beside ours: every turn replayed as it was said, with a
breakpoint behind the newest; the newest turns that fit the window; the whole history written anew
at every turn to fit it; and what BM25 finds in all turns for what is asked, in as many tokens, and
in as few as ours may recall.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from long_run import PRICE, RULES, SECONDS_A_TURN, TASK, TURNS, WINDOW, Run, make_run, request
from measure import stamp

from cortex.actors.providers import AnthropicDialect
from cortex.bus.events import ModelInvoke
from cortex.runtime.context import (
    Bill,
    CacheBlock,
    ContextCompiler,
    ProviderCache,
    Strategy,
    TokenCounter,
    bill_of,
)
from cortex.runtime.models import ModelConfig, endpoint_of
from cortex.runtime.retrieval import TextScores, content_words

RESULTS = Path(__file__).parent / "results" / "bench_prefix.txt"
HISTORY_TOKENS = 12_000  # for the programs that keep to the window
RECALLED_TOKENS = WINDOW // 16  # that ours may recall
WORDINGS = ("asked", "reworded", "renamed")  # fields of a fact
EARLY = 5  # the turn whose knowledge is the measure

ASKED = ModelInvoke(execution_id="e", step_id="s", model="m", prompt="d", max_tokens=1_500)
ENDPOINT = endpoint_of(
    ModelConfig(name="m", provider="anthropic", model="m", base_url="http://127.0.0.1:9")
)
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
        return [*sent(AnthropicDialect().body(prompt.blocks, ASKED, ENDPOINT))]

    return made


def sent(body: dict[str, Any]) -> Iterator[CacheBlock]:
    """The blocks of a request as an endpoint reads them: tools, system, and what is said."""
    said = (
        {"role": message["role"], **content}
        for message in body["messages"]
        for content in _contents(message["content"])
    )
    for each in (*body.get("tools", ()), *body.get("system", ()), *said):
        mark = each.pop("cache_control", None) is not None
        text = each.get("text") or each.get("content") or msgspec.json.encode(each).decode()
        yield block(text, mark=mark)


def _contents(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


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
    """A share of the history for each turn, so that all fit: the bytes change every turn."""
    turns = said(run, turn)
    share = HISTORY_TOKENS // max(len(turns), 1)
    history = f"Summary at turn {turn}.\n" + "".join(COUNTER.truncate(t, share) for t in turns)
    return [*base(run), block(history, mark=True), block(asked)]


def retrieved(tokens: int) -> Callable[[Run, int, str], list[CacheBlock]]:
    """The passages of all turns that are most relevant to the question by BM25, in *tokens*."""
    return partial(_retrieved, tokens)


def _retrieved(free: int, run: Run, turn: int, asked: str) -> list[CacheBlock]:
    passages = [
        part
        for text in said(run, turn)
        for part in re.split(r"\n\n|(?<=\})(?=,\{)|\n", text)
        if part
    ]
    scores = TextScores([content_words(part) for part in passages], content_words(asked)).scores
    kept: list[int] = []
    for at in sorted(range(len(passages)), key=lambda at: -scores[at]):
        free -= COUNTER.count(passages[at])
        if free < 0 or scores[at] <= 0:
            break
        kept.append(at)
    found = "\n".join(passages[at] for at in sorted(kept))
    return [*base(run), block(found), block(asked)]


WAYS = (
    Way("ours, pre-assembled", ours("pre-assembled")),
    Way("ours, just-in-time", ours("just-in-time")),
    Way("replay everything", replayed),
    Way("tail", tail),
    Way("rewrite every turn", rewritten),
    Way("BM25 over all turns", retrieved(HISTORY_TOKENS)),
    Way("the same, 1,500 tokens", retrieved(RECALLED_TOKENS)),
)


def bill(way: Way, run: Run) -> Bill:
    """The totals of the whole run."""
    cache = ProviderCache(RULES)
    usages = [
        cache.ask(way.blocks(run, turn, run.asked[turn - 1]), turn * SECONDS_A_TURN)
        for turn in range(1, TURNS + 1)
    ]
    return bill_of(usages, PRICE)


def known(way: Way, run: Run, turn: int, wording: str) -> float:
    """The share of what was planted before *turn* that its prompt holds when it is asked for."""
    facts = [fact for fact in run.facts if fact.turn < turn]
    hits = [
        any(fact.sentence in each.text for each in way.blocks(run, turn, getattr(fact, wording)))
        for fact in facts
    ]
    return sum(hits) / len(hits)


def rows(run: Run) -> Iterator[str]:
    """The table."""
    bills = {way.name: bill(way, run) for way in WAYS}
    replay, rewrite = bills["replay everything"].paid, bills["rewrite every turn"].paid
    for way in WAYS:
        of = bills[way.name]
        early = known(way, run, EARLY, "reworded")
        late = (known(way, run, TURNS, wording) for wording in WORDINGS)
        yield (
            f"{way.name:22}{of.sent:11,}{of.cached_read:11,}{of.cached_write:10,}{of.paid:11,.0f}"
            f"{of.paid / replay:10.0%}{of.paid / rewrite:11.0%}{of.most:9,}"
            f"{early:8.0%}{''.join(f'{share:10.0%}' for share in late)}"
        )


def main() -> None:
    """Measure, print, and keep what was printed."""
    run = make_run()
    heads = f"{'':22}{'sent':>11}{'read':>11}{'written':>10}{'paid':>11}{'of replay':>10}"
    heads += (
        f"{'of rewrite':>11}{'largest':>9}{'turn 5':>8}"
        f"{''.join(f'{wording:>10}' for wording in WORDINGS)}"
    )
    lines = [
        stamp(),
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
