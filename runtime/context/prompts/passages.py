"""The contents of a prompt: its material, with source lines, and the sections' own texts."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..blocks import PromptBlock
from ..sanitise import attribute
from .texts import QUESTION

ITEMS = ("item", "said", "call", "result")  # kinds of blocks


class Passage(NamedTuple):
    """Consecutive lines of one item."""

    item_id: str
    kind: str
    section: str
    first_line: int  # its number in the source
    lines: tuple[str, ...]


class ReadPrompt(NamedTuple):
    """The passages of a prompt's items, and the text of each section's own."""

    passages: tuple[Passage, ...]
    sections: dict[str, str]
    question: str = ""  # the step's question, or else its whole task


def passages_of(blocks: Iterable[PromptBlock]) -> ReadPrompt:
    """The material of a prompt and the sections' own texts."""
    passages: list[Passage] = []
    own: dict[str, str] = {}
    told: dict[str, str] = {}  # of the step, by kind of its parts
    for block in blocks:
        if block.kind == "own":
            own[block.section] = own.get(block.section, "") + block.text
            if block.section == "step":
                told[block.material] = told.get(block.material, "") + block.text
        elif block.kind in ITEMS:
            passages.extend(_passages(block))
    sections = {name: text.strip("\n") for name, text in own.items()}
    asked = told.get("question", "").removeprefix(QUESTION) or told.get("task", "")
    return ReadPrompt(tuple(passages), sections, asked.strip("\n"))


def _passages(block: PromptBlock) -> Iterator[Passage]:
    """One for each run of lines; a mark precedes each after a gap."""
    lines = block.text.removesuffix("\n").split("\n")
    name = attribute(block.item)
    marks = [f"[lines {first}-{last}]" for first, last in block.lines]
    if not marks or lines[0] != marks[0]:
        first = block.lines[0][0] if block.lines else 1
        yield Passage(name, block.material, block.section, first, tuple(lines))
        return
    ends = [*_places(lines, marks), len(lines)]
    for at, (first, _) in enumerate(block.lines):
        held = tuple(lines[ends[at] + 1 : ends[at + 1]])
        if held:
            yield Passage(name, block.material, block.section, first, held)


def _places(lines: Sequence[str], marks: Sequence[str]) -> Iterator[int]:
    """The places of the *marks*: each once and in order, since no text contains one."""
    at = 0
    for mark in marks:
        at = lines.index(mark, at)
        yield at


class ShownTexts(NamedTuple):
    """The texts of a prompt, by owner; cuts are marked as in the prompt."""

    items: dict[str, str]  # by id, tools among them
    own: dict[str, str]  # of a section
    sections: dict[str, str]  # section of an item, by its id


def shown_texts(blocks: Iterable[PromptBlock], ids: Iterable[str]) -> ShownTexts:
    """The texts of a prompt, by the *ids* of its items: a fence escapes some characters."""
    names = {attribute(each): each for each in ids}
    shown = ShownTexts({}, {}, {})
    own: dict[str, str] = {}
    for block in blocks:
        if block.kind == "own":
            own[block.section] = own.get(block.section, "") + block.text
        elif block.kind != "heading":
            name = names.get(block.item, block.item)
            shown.items[name] = block.text.removesuffix("\n")
            shown.sections[name] = block.section
    shown.own.update((name, text.strip("\n")) for name, text in own.items())
    return shown
