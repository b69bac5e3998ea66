"""The prefix economy: what endpoints keep, when a rewrite pays, and what prompts promise."""

import os
import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.context import (
    CacheBlock,
    ContextCompiler,
    Item,
    Prompt,
    PromptStep,
    ProviderCache,
    Request,
    TokenCounter,
    Tool,
    Turn,
    TurnPart,
    View,
    bill_of,
)
from cortex.runtime.context.history import RentOrBuy
from cortex.runtime.models import Caching, Price, Usage

pytestmark = pytest.mark.wheel  # it starts what the wheel installs

MARKED = Caching(minimum_tokens=1_000, breakpoints=4, look_back=20, lifetimes_s=(300, 3_600))
UNMARKED = Caching(minimum_tokens=1_024, granularity_tokens=128, lifetimes_s=(300,))
PRICE = Price(input=3.0, cached_read=0.3, cached_write=3.75, output=15.0)
TOOL = Tool(name="read", description="Reads.", parameters={"type": "object", "properties": {}})
COUNTER = TokenCounter()
COMPILER = ContextCompiler(COUNTER)


def blocks(*sizes: int, mark: int = -1, first: str = "a") -> list[CacheBlock]:
    marked = mark % len(sizes)
    return [
        CacheBlock(f"{first if at == 0 else at}:{size}", size, at == marked)
        for at, size in enumerate(sizes)
    ]


def test_a_prefix_is_written_once_and_read_while_it_lives() -> None:
    cache = ProviderCache(MARKED)

    asked = [cache.ask(blocks(800, 400, 50, mark=1), at_s) for at_s in (0.0, 299.0, 598.0, 899.0)]

    assert asked[0] == Usage(input=50, cached_write=1_200)
    assert asked[1] == asked[2] == Usage(input=50, cached_read=1_200)  # a reading renews it
    assert asked[3] == asked[0]


def test_a_prefix_below_the_minimum_is_not_kept() -> None:
    cache = ProviderCache(MARKED)

    assert [cache.ask(blocks(900, 50, mark=0), at_s) for at_s in (0.0, 1.0)] == [
        Usage(input=950),
        Usage(input=950),
    ]


def test_one_more_turn_is_all_that_a_grown_history_writes() -> None:
    cache = ProviderCache(MARKED)
    cache.ask(blocks(1_000, 500, 500, mark=2), 0.0)

    asked = cache.ask(blocks(1_000, 500, 500, 300, 20, mark=3), 10.0)

    assert asked == Usage(input=20, cached_read=2_000, cached_write=300)


def test_what_is_put_into_the_middle_costs_all_that_stands_behind_it() -> None:
    history = blocks(1_000, 500, 500, 500, mark=3)
    cache = ProviderCache(MARKED)
    cache.ask([*blocks(1_000, mark=0), *history[1:]], 0.0)

    inserted = [*blocks(1_000, mark=0), CacheBlock("new", 10), *history[1:]]

    assert cache.ask(inserted, 1.0) == Usage(cached_read=1_000, cached_write=1_510)


def test_an_earlier_entry_is_found_only_so_many_blocks_back() -> None:
    far, near = ProviderCache(MARKED), ProviderCache(MARKED)
    for cache in (far, near):
        cache.ask(blocks(1_000, mark=0), 0.0)

    assert near.ask(blocks(1_000, *[10] * 19), 1.0).cached_read == 1_000
    assert far.ask(blocks(1_000, *[10] * 20), 1.0).cached_read == 0


def test_an_endpoint_that_needs_no_breakpoints_reads_in_steps() -> None:
    cache = ProviderCache(UNMARKED)
    cache.ask(blocks(1_100, 200), 0.0)

    asked = cache.ask([*blocks(1_100), CacheBlock("other", 300)], 1.0)

    assert asked == Usage(cached_read=1_024, cached_write=376)


def test_a_bill_counts_what_is_paid_in_tokens_of_fresh_input() -> None:
    bill = bill_of([Usage(input=100, cached_write=1_000), Usage(cached_read=1_000)], PRICE)

    assert bill.paid == pytest.approx(100 + 1_250 + 100)
    assert (bill.sent, bill.most, bill.requests) == (2_100, 1_100, 2)


@settings(max_examples=200, deadline=None)
@given(
    sheddable=st.lists(st.integers(1, 5_000), min_size=1, max_size=60),
    behind=st.integers(1, 20_000),
)
def test_without_knowing_the_future_no_more_than_twice_is_paid(
    sheddable: list[int], behind: int
) -> None:
    """Against the best that can be done knowing it, but for the one prompt that tips it."""
    rule = RentOrBuy(PRICE)
    rewrite = (PRICE.cached_write - PRICE.cached_read) * behind
    paid, rents = 0.0, [PRICE.cached_read * tokens for tokens in sheddable]

    for tokens, rent in zip(sheddable, rents, strict=True):
        rule.carry(tokens)
        paid += rent
        if rule.pays(behind):
            paid += rewrite
            break

    best = min(sum(rents), min(sum(rents[:at]) + rewrite for at in range(len(rents))))
    assert paid <= 2 * best + max(rents) + 1e-6


def test_without_prices_nothing_is_ever_rewritten_for_them() -> None:
    rule = RentOrBuy(Price())
    rule.carry(10**9)

    assert not rule.knows
    assert not rule.pays(1)


WORDS = [f"word{number}" for number in range(400)]


def turns(count: int, words: int, seed: int = 1) -> tuple[Turn, ...]:
    rng = random.Random(seed)

    def said(number: int) -> tuple[TurnPart, ...]:
        text = "\n".join(" ".join(rng.choices(WORDS, k=12)) for _ in range(words // 12))
        return (
            TurnPart(id=f"turn:{number}", kind="answer", text=f"I looked at {number}."),
            TurnPart(id=f"turn:{number}/c", kind="result", text=text, handle=f"c{number}"),
        )

    return tuple(Turn(number=number, said=said(number)) for number in range(count))


def compiled(upto: int, all_turns: tuple[Turn, ...], asked: str = "Look.", **more: Any) -> Prompt:
    request = Request(
        step=PromptStep(process="p", id="s", description=asked),
        window=200_000,
        effective_window=8_000,
        tools=(TOOL,),
        turns=all_turns[:upto],
        **more,
    )
    return COMPILER.compile(request)


def test_prices_declare_an_epoch_before_there_is_need_of_room() -> None:
    all_turns = turns(40, 60)

    free = compiled(40, all_turns).manifest
    paid = compiled(40, all_turns, price=PRICE).manifest

    assert "price" in {epoch.why for epoch in paid.declared}
    assert {epoch.why for epoch in free.declared} <= {"room"}
    assert paid.declared[0].turn < free.declared[0].turn


@pytest.mark.parametrize("price", [Price(), PRICE])
@pytest.mark.parametrize("strategy", ["pre-assembled", "just-in-time"])
def test_between_two_prompts_without_a_declared_epoch_the_prefix_is_the_same(
    price: Price, strategy: str
) -> None:
    """Whatever is asked, and whatever was found just in time."""
    all_turns = turns(24, 120)
    found = [
        Item(id=f"k{n}", section="knowledge", kind="k", text=f"Note {n}.", score=0.5)
        for n in range(24)
    ]

    prompts = [
        compiled(
            upto,
            all_turns,
            f"What about {WORDS[upto]}?",
            price=price,
            strategy=strategy,
            items=(found[upto],) if strategy == "just-in-time" else tuple(found[:3]),
        )
        for upto in range(1, 24)
    ]

    for earlier, later in pairwise(prompts):
        segments = earlier.manifest.segments
        last = segments[-2]
        assert segments[-1].stretch == "volatile"
        assert sum(segment.tokens for segment in segments) == earlier.tokens
        prefix = earlier.encoded[: last.end]
        if earlier.manifest.declared == later.manifest.declared:
            assert later.encoded.startswith(prefix)
        else:
            stable = segments[0]
            assert later.manifest.segments[0].digest == stable.digest


def test_what_an_epoch_shed_comes_back_where_it_is_asked_for() -> None:
    fact = "The keeper of turbine A117 is Ilse Varga."
    rest = turns(20, 900)
    result = TurnPart(
        id="turn:0/c", kind="result", text=f"{rest[0].said[1].text}\n{fact}", handle="c0"
    )
    all_turns = (Turn(number=0, said=(rest[0].said[0], result)), *rest[1:])

    asked = compiled(20, all_turns, "Who is the keeper of turbine A117?")
    other = compiled(20, all_turns, "What is the weather?")

    entry = next(e for e in asked.manifest.items if e.id == "recalled:turn:0/c")
    assert fact in asked.text
    assert (entry.section, entry.reason) == ("step", "an epoch shed it, and the step asks for it")
    assert fact not in other.text
    ends = [prompt.manifest.segments[-2].digest for prompt in (asked, other)]
    assert ends[0] == ends[1]


def test_the_newest_turns_stand_as_they_were_said() -> None:
    all_turns = turns(20, 400)

    prompt = compiled(20, all_turns)

    states = {entry.id: entry.state for entry in prompt.manifest.items}
    assert [states[f"turn:{number}/c"] for number in (17, 18, 19)] == ["in"] * 3
    assert states["turn:0/c"] != "in"


def test_a_prefix_below_the_models_minimum_is_warned_of() -> None:
    manifest = compiled(0, (), caching=Caching(minimum_tokens=4_096, lifetimes_s=(300,))).manifest

    (warning,) = manifest.warnings
    assert "keeps no prefix below 4,096" in warning
    assert f"{manifest.eligible:,} tokens" in warning


CHILD = """
import sys
sys.path[:0] = [sys.argv[1]]
from test_context_prefix import digests
print(" ".join(digests()))
"""


def digests() -> list[str]:
    """Of prompts that exercise every pass; a child process makes the same."""
    notes = tuple(
        Item(
            id=f"n{n}",
            section=("knowledge", "memory", "history")[n % 3],
            kind="note",
            text=" ".join(random.Random(n).choices(WORDS, k=90)),
            score=(n % 4) / 4,
            logged=n + 1,
        )
        for n in range(120)
    )
    asked = [
        compiled(upto, turns(20, 200), f"Find {WORDS[3]} and {WORDS[9]}.", items=notes, price=PRICE)
        for upto in (0, 7, 20)
    ]
    long = Request(
        step=PromptStep(process="p", id="s", description=f"Find {WORDS[3]}."), window=200_000
    )
    held = [
        Item(
            id=f"h{n}", section="history", kind="note", text=" ".join(WORDS[n % 300 : n % 300 + 9])
        )
        for n in range(1_200)
    ]
    prompts = [*asked, COMPILER.compile(long, View(items=tuple(held)))]
    kept = View(items=tuple(held[:900]), prefix=prompts[-1].manifest.prefix)
    return [prompt.digest for prompt in (*prompts, COMPILER.compile(long, kept))]


def test_another_process_with_another_hash_seed_and_locale_makes_the_same_bytes() -> None:
    folder = str(Path(__file__).parent)
    env = {**os.environ, "PYTHONHASHSEED": "4711", "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Tokyo"}

    done = subprocess.run(
        [sys.executable, "-c", CHILD, folder],
        env=env, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip

    assert done.stdout.split() == digests()
