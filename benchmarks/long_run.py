"""A run of 50 turns with a fact in each, as an agent that looks things up would have it."""

import random
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
from planted_facts import Fact, planted

from cortex.runtime.context import Item, PromptStep, Request, Tool, Turn, TurnPart
from cortex.runtime.models import Caching, Price

TURNS: Final = 50
FACTS_THROUGH: Final = 45  # turns 1 to 45 hold what turn 50 asks for
SECONDS_A_TURN: Final = 144  # two hours
WINDOW: Final = 24_000
RULES: Final = Caching(minimum_tokens=1_024, breakpoints=4, look_back=20, lifetimes_s=(300,))
PRICE: Final = Price(input=3.0, cached_read=0.3, cached_write=3.75, output=15.0)

_WORDS: Final = (
    *("report", "team", "review", "change", "service", "request", "release", "plan", "note"),
    *("account", "record", "table", "meeting", "city", "system", "harbour", "network", "budget"),
    *("supply", "survey", "answer", "route", "storage", "winter", "staff", "carrier", "window"),
    *("contract", "season", "quality", "permit", "region", "engine", "station", "paper"),
    *("harvest", "signal", "board"),
)


class Run(NamedTuple):
    """The turns, in order, and what is planted in them."""

    turns: tuple[Turn, ...]
    facts: tuple[Fact, ...]
    knowledge: tuple[Item, ...]  # what a retrieval finds for the task
    asked: tuple[str, ...]  # what each turn is about, from turn 1: all but the first look back


def make_run(seed: int = 4) -> Run:
    """The same run for the same seed."""
    rng = random.Random(seed)
    facts, sentences = planted(rng, FACTS_THROUGH, TURNS - 1)
    turns = tuple(_turn(rng, number, sentences[number]) for number in range(1, TURNS))
    knowledge = tuple(
        Item(
            id=f"notes.{at:02}",
            section="knowledge",
            kind="knowledge",
            text=_prose(rng, 12),
            score=1 - at / 40,
            trust="trusted",
        )
        for at in range(12)
    )
    earlier = [facts[: turn - 1] for turn in range(2, TURNS + 1)]
    asked = (TASK, *(rng.choice(known).reworded for known in earlier))
    return Run(turns, facts, knowledge, asked)


def request(run: Run, upto: int, asked: str, knowledge: Sequence[Item], **more: object) -> Request:
    """The request of turn *upto*, which has seen the turns before it."""
    made = Request(
        step=PromptStep(process="research", id="look", description=asked),
        window=200_000,
        effective_window=WINDOW,
        persona="You look things up and say what you found, with its source.",
        instructions="Work through the sources one by one. Note names, numbers and dates. " * 40,
        items=tuple(knowledge),
        tools=TOOLS,
        turns=run.turns[: upto - 1],
        price=PRICE,
        caching=RULES,
    )
    return msgspec.structs.replace(made, **more)


TASK: Final = "Find out who is in charge of what, and write it down."
TOOLS: Final = tuple(
    Tool(
        name=name,
        description=f"{name.replace('_', ' ')} of the records. " * 6,
        parameters={
            "type": "object",
            "properties": {"name": {"type": "string"}, "limit": {"type": "integer"}},
        },
    )
    for name in ("search_records", "read_record", "list_folders", "read_result")
)


def _turn(rng: random.Random, number: int, planted: list[str]) -> Turn:
    kind = ("table", "prose", "log")[number % 3]
    text = {"table": _table, "prose": _pages, "log": _log}[kind](rng, planted)
    answer = f"I read source {number}. {_prose(rng, 3)}"
    joined = f"call_{number}_0"
    said = (
        TurnPart(id=f"turn:{number}", kind="answer", text=answer),
        TurnPart(id=f"turn:{number}.0", kind="call", text="{}", source="read_record", call=joined),
        TurnPart(
            id=f"turn:{number}/c{number}",
            kind="result",
            text=text,
            source="read_record",
            handle=f"c{number}",
            extent=f"{len(text):,} bytes",
            call=joined,
        ),
    )
    return Turn(number=number, said=said)


def _table(rng: random.Random, planted: list[str]) -> str:
    rows = [
        {
            "id": rng.randint(1_000, 9_999),
            "place": rng.choice(_WORDS),
            "state": rng.choice(("open", "closed", "waiting")),
            "remark": " ".join(rng.choice(_WORDS) for _ in range(4)),
        }
        for _ in range(105)
    ]
    for row, sentence in zip(rng.sample(rows, len(planted)), planted, strict=True):
        row["remark"] = sentence
    return msgspec.json.encode(rows).decode()


def _pages(rng: random.Random, planted: list[str]) -> str:
    paragraphs = [_prose(rng, 6) for _ in range(36)]
    for sentence in planted:
        paragraphs[rng.randrange(36)] += f" {sentence}"
    return "\n\n".join(paragraphs)


def _log(rng: random.Random, planted: list[str]) -> str:
    lines = [
        f"2026-03-{rng.randint(1, 28):02} {rng.choice(_WORDS)}: {_prose(rng, 1)}"
        for _ in range(150)
    ]
    for at, sentence in zip(rng.sample(range(150), len(planted)), planted, strict=True):
        lines[at] = sentence
    return "\n".join(lines)


def _prose(rng: random.Random, sentences: int) -> str:
    said = (
        f"The {' '.join(rng.choice(_WORDS) for _ in range(rng.randint(7, 14)))}."
        for _ in range(sentences)
    )
    return " ".join(said)
