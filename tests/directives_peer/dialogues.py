"""Generated dialogues: directives, answers and prose, with names that are hard to spell."""

import random
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_FILE: Final = Path(__file__).with_name("words.toml")
WORDS: Final[dict[str, list[str]]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))
NAMES: Final = WORDS["names"]
SPOILING: Final = "\u03b9\u0301\u0345\u00df\u200b\u1e9e\u00ad"  # characters that change others


def sequences(templates: str, count: int, seed: int) -> Iterator[list[str]]:
    """*count* dialogues of the kind *templates*, the same ones for the same *seed*."""
    draw = random.Random(seed)  # repeatable
    for _ in range(count):
        yield [_text(draw, WORDS[templates]) for _ in range(draw.randint(1, 12))]


def _text(draw: random.Random, templates: list[str]) -> str:
    kind = draw.random()
    if kind < 0.12:
        return draw.choice(WORDS["prose"])
    if kind < 0.27:
        return draw.choice(WORDS["answers"])
    few = NAMES[: draw.choice((4, 8, len(NAMES)))]  # often the same few things
    template = draw.choice(templates)
    text = template.format(*(draw.choice(few) for _ in range(3)))
    return _spoilt(draw, text) if draw.random() < 0.15 else text


def _spoilt(draw: random.Random, text: str) -> str:
    place = draw.randint(0, len(text))
    return draw.choice(
        (
            text.upper(),
            text.title(),
            f" {text}",
            f"{text}\n",
            f"{text}.",
            text[:place] + text[place + 1 :],
            f"{text[:place]} {text[place:]}",
            text[:place] + draw.choice(SPOILING) + text[place:],
            f"{text}, {text}",
        )
    )
