"""The prefix law: a prompt begins with the bytes of the one before it, or declares an epoch."""

import random
from collections import Counter as Tally
from typing import Any, NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from cortex.runtime.context import (
    Budgets,
    CacheBlock,
    ContextCompiler,
    ContextRefusedError,
    Item,
    Prefix,
    Prompt,
    PromptStep,
    ProviderCache,
    Request,
    TokenCounter,
    Tool,
    Turn,
    TurnPart,
    View,
    line_of,
    messages_of,
)
from cortex.runtime.models import Caching

COUNTER = TokenCounter()
COMPILER = ContextCompiler(COUNTER)
WORDS = [f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(300)]
RULES = Caching(minimum_tokens=1, breakpoints=4, look_back=20, lifetimes_s=(300,))


def text(seed: int, words: int) -> str:
    return " ".join(random.Random(seed).choices(WORDS, k=words))


def item(name: str, section: str, words: int = 30, **fields: Any) -> Item:
    made = text(sum(name.encode()), words)
    return Item(id=name, section=section, kind="note", text=made, **fields)  # type: ignore[arg-type]  # of a test's choice


def said(number: int, words: int = 40) -> Turn:
    return Turn(
        number=number,
        said=(
            TurnPart(id=f"turn:{number}", kind="answer", text=f"I look at {number}."),
            *called(number, words),
        ),
    )


def called(number: int, words: int) -> tuple[TurnPart, TurnPart]:
    """A call and its result; of every third turn a result as compiler 1 had it, without a call."""
    joined = f"call_{number}" if number % 3 else ""
    arguments = f'{{"path":"{number}"}}'
    kind = "call" if joined else "note"
    return (
        TurnPart(id=f"turn:{number}.0", kind=kind, text=arguments, source="look", call=joined),
        TurnPart(
            id=f"turn:{number}/c",
            kind="result",
            text=text(number, words),
            source="look",
            handle="c",
            call=joined,
        ),
    )


class World(NamedTuple):
    """What a step has before it."""

    items: tuple[Item, ...] = ()
    held: tuple[Item, ...] = ()
    turns: tuple[Turn, ...] = ()
    asked: str = "Look."
    instructions: str = "Be brief."
    window: int = 4_000
    strategy: str = "pre-assembled"


def compiled(world: World, before: Prompt | None = None) -> Prompt:
    request = Request(
        step=PromptStep(process="p", id="s", description=world.asked),
        window=200_000,
        effective_window=world.window,
        budgets=msgspec.structs.replace(Budgets.scaled_to(world.window), headroom=100),
        instructions=world.instructions,
        items=world.items,
        turns=world.turns,
        answer_schema={"type": "string"},
        tools=(Tool(name="look", description="Looks.", parameters={}),),
        strategy=world.strategy,  # type: ignore[arg-type]  # drawn from the two
    )
    prefix = before.manifest.prefix if before else Prefix()
    return COMPILER.compile(request, View(items=world.held, prefix=prefix))


def keeps(later: Prompt, earlier: Prompt) -> bool:
    end = earlier.manifest.prefix.kept[-1].end
    same = later.encoded.startswith(earlier.encoded[:end])
    # The law holds for blocks, of which the bytes are only the encoding.
    kept = [each for each in earlier.blocks if each.stretch != "volatile"]
    begins = [line_of(each) for each in later.blocks[: len(kept)]] == [*map(line_of, kept)]
    assert begins == same
    return same


def paired(prompt: Prompt) -> bool:
    """Whether the results behind each message of the model are those of its calls, in order."""
    waiting: list[str] = []
    for role, blocks in messages_of(prompt.blocks):
        ids = [block.call for block in blocks if block.call]
        if role == "tool":
            if ids != waiting:
                return False
            waiting = []
        elif waiting:
            return False
        else:
            waiting = ids
    return not waiting


CHANGES = (
    *("named", "named", "held", "held", "turn", "turn", "turn", "long turn", "question"),
    *("budget", "grown", "gone", "instructions", "strategy", "memory", "same"),
)


def changed(world: World, change: str, number: int) -> World:
    sections = ("knowledge", "history", "memory", "step")
    # Names that come before, between and behind those that are there.
    name = f"{'mazb'[number % 4]}{number}"
    match change:
        case "named":
            new = item(name, sections[number % 4], score=number % 3 / 2)
            return world._replace(items=(new, *world.items))
        case "memory":
            return world._replace(items=(*world.items, item(name, "memory")))
        case "held":
            return world._replace(held=(*world.held, item(name, "history", logged=number + 1)))
        case "turn" | "long turn":
            words = 900 if change == "long turn" else 40
            return world._replace(turns=(*world.turns, said(len(world.turns), words)))
        case "question":
            return world._replace(asked=f"What about {WORDS[number]}?")
        case "budget":
            return world._replace(window=(4_000, 2_000, 8_000)[number % 3])
        case "grown" if world.items:
            first, *rest = world.items
            more = msgspec.structs.replace(first, text=f"{first.text}\nOne line more: {number}.")
            return world._replace(items=(more, *rest))
        case "gone":
            return world._replace(items=world.items[1:])
        case "instructions":
            return world._replace(instructions=f"Be brief, {number}.")
        case "strategy":
            return world._replace(strategy="just-in-time")
    return world


@settings(max_examples=60, deadline=None)
@given(changes=st.lists(st.sampled_from(CHANGES), min_size=2, max_size=10))
def test_between_any_two_prompts_the_prefix_is_kept_or_an_epoch_is_declared(
    changes: list[str],
) -> None:
    world = World(items=(item("k", "knowledge"), item("h", "history")))
    earlier = compiled(world)

    for number, change in enumerate(changes):
        world = changed(world, change, number)
        try:
            later = compiled(world, earlier)
        except ContextRefusedError:
            continue
        declared = [each for each in later.manifest.declared if not each.of_turns]
        assert keeps(later, earlier) or later.manifest.declared != earlier.manifest.declared
        assert [each.number for each in later.manifest.declared] == list(
            range(1, later.manifest.epochs + 1)
        )
        assert all(each.rewritten >= 0 and each.about for each in declared)
        assert paired(later)
        earlier = later


@settings(max_examples=40, deadline=None)
@given(changes=st.lists(st.sampled_from(("named", "held", "question", "turn")), max_size=6))
def test_what_is_only_added_to_declares_no_epoch_while_there_is_room(changes: list[str]) -> None:
    world = World(items=(item("k", "knowledge", 120), item("h", "history", 120)), window=16_000)
    earlier = compiled(world)

    for number, change in enumerate(changes):
        world = changed(world, change, number)
        later = compiled(world, earlier)
        assert keeps(later, earlier)
        assert later.manifest.declared == ()
        entries = {entry.id: entry.state for entry in later.manifest.items}
        assert set(entries.values()) <= {"in"}
        earlier = later


def test_each_epoch_says_why_and_about_what() -> None:
    world = World(items=(item("k", "knowledge"), item("h", "history")))
    first = compiled(world)

    def epoch(later: World) -> tuple[str, str]:
        (declared,) = compiled(later, first).manifest.declared
        return declared.why, declared.about

    grown = changed(world, "grown", 1)
    assert epoch(changed(world, "gone", 1)) == ("gone", "k")
    assert epoch(grown) == ("changed", "epoch")
    assert epoch(changed(world, "instructions", 1)) == ("stable", "stable")


def test_what_comes_later_and_is_more_than_what_stands_moves_to_its_place() -> None:
    world = World(items=(item("k", "knowledge"),), window=16_000)
    first = compiled(world)
    small = compiled(world._replace(items=(*world.items, item("a", "knowledge", 10))), first)
    large = compiled(world._replace(items=(*world.items, item("a", "knowledge", 900))), first)

    assert small.manifest.declared == ()
    assert [each.why for each in large.manifest.declared] == ["order"]
    assert large.manifest.segments[-2].items == ("a", "k")


def test_an_epoch_is_carried_on_and_counted_once() -> None:
    world = World(items=(item("k", "knowledge"), item("h", "history")))
    first = compiled(world)
    world = changed(world, "gone", 1)
    second = compiled(world, first)
    third = compiled(changed(world, "turn", 2), second)

    assert [each.why for each in second.manifest.declared] == ["gone"]
    assert third.manifest.declared == second.manifest.declared
    assert keeps(third, second)


def test_what_is_put_into_the_middle_costs_what_stands_behind_unless_the_prefix_is_kept() -> None:
    def blocks(prompt: Prompt) -> list[CacheBlock]:
        texts = [(each.sent, each.breakpoint) for each in prompt.blocks]
        return [CacheBlock(text, COUNTER.count(text), mark) for text, mark in texts]

    turns = tuple(said(number) for number in range(4))
    world = World(items=(item("h", "history"),), turns=turns)
    later = world._replace(items=(*world.items, item("new", "history")))
    first = compiled(world)
    tokens: Tally[str] = Tally()
    for each, block in zip(first.blocks, blocks(first), strict=True):
        tokens[each.stretch] += block.tokens

    read = []
    for prompt in (compiled(later), compiled(later, first)):
        cache = ProviderCache(RULES)
        cache.ask(blocks(first), 0.0)
        read.append(cache.ask(blocks(prompt), 1.0).cached_read)

    assert read == [tokens["stable"], tokens.total() - tokens["volatile"]]
