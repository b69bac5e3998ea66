"""Read a prompt back: the material in it, with the lines it was taken from, and the question."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from ..layout.fence import attribute
from ..request import SECTIONS, TOOL

_OPENING = re.compile(r'<(?P<tag>data|reference) id="(?P<id>[^"]*)" kind="(?P<kind>[^"]*)"')
_FIRST_LINE = re.compile(r' first_line="(\d+)"')
_CUT = re.compile(r"\[lines (\d+)-\d+\]$")
_HEADING = re.compile(rf"=== ({'|'.join(SECTIONS)}) ===$")

CLOSINGS: Final = ("</data>", "</reference>")  # lines that end an item


class Passage(NamedTuple):
    """Consecutive lines of one item."""

    item_id: str
    kind: str
    section: str
    first_line: int  # its number in the source
    lines: tuple[str, ...]


class ReadPrompt(NamedTuple):
    """A prompt taken apart: the passages of its items, and the text of each section's own."""

    passages: tuple[Passage, ...]
    sections: dict[str, str]


def read_prompt(text: str) -> ReadPrompt:
    """Take apart a text that `ContextCompiler` rendered.

    Sound against its content: no text of an item can close its fence, open one, or mark a cut,
    because sanitising left none of those marks in it.
    """
    passages: list[Passage] = []
    own: dict[str, list[str]] = {}
    section = ""
    inside: Passage | None = None
    lines: list[str] = []
    for line in text.split("\n"):
        if inside is None:
            inside = _opened(line, section)
            lines = []
            if inside is None and (found := heading_of(line)):
                section = found
            elif inside is None:
                own.setdefault(section, []).append(line)
        elif line in CLOSINGS:
            passages.extend(_passage(inside, lines))
            inside = None
        elif match := _CUT.match(line):
            passages.extend(_passage(inside, lines))
            inside, lines = inside._replace(first_line=int(match[1])), []
        else:
            lines.append(line)
    return ReadPrompt(tuple(passages), {s: "\n".join(t).strip("\n") for s, t in own.items()})


class ShownTexts(NamedTuple):
    """What stands in a prompt, by whose it is; cuts are marked as they are there."""

    items: dict[str, str]  # by id, tools among them
    own: dict[str, str]  # of a section
    sections: dict[str, str]  # in which an item stands, by its id


def shown_texts(text: str, ids: Iterable[str]) -> ShownTexts:
    """The texts of a prompt that `ContextCompiler` rendered from items called *ids*.

    As sound as `read_prompt`.
    """
    names = {attribute(each): each for each in ids}  # a fence writes some signs otherwise
    shown = ShownTexts({}, {}, {})
    section, inside = "", None
    lines: list[str] = []
    own: dict[str, list[str]] = {}
    for line in text.split("\n"):
        if inside is not None:
            if line in CLOSINGS:
                name = names.get(inside.item_id, inside.item_id)
                shown.items[name], shown.sections[name] = "\n".join(lines), section
                inside = None
            else:
                lines.append(line)
        elif inside := _opened(line, section):
            lines = []
        elif found := heading_of(line):
            section = found
        elif name := _tool_name(line) if section == "tools" else "":
            shown.items[TOOL + name], shown.sections[TOOL + name] = line, section
        else:
            own.setdefault(section, []).append(line)
    shown.own.update((name, "\n".join(of).strip("\n")) for name, of in own.items())
    return shown


class _Tool(msgspec.Struct):
    name: str


def _tool_name(line: str) -> str:
    """The tool whose line *line* is, outside of an item; "" for any other line."""
    if not line.startswith("{"):
        return ""
    try:
        return msgspec.json.decode(line, type=_Tool).name
    except msgspec.DecodeError:
        return ""


def heading_of(line: str) -> str:
    """The section that *line* opens, outside of an item; "" for any other line."""
    match = _HEADING.match(line)
    return match[1] if match else ""


def cuts(line: str) -> bool:
    """Whether *line* marks that lines are missing before it, inside of an item."""
    return _CUT.match(line) is not None


def opens(line: str) -> bool:
    """Whether *line* opens an item."""
    return _OPENING.match(line) is not None


def _opened(line: str, section: str) -> Passage | None:
    match = _OPENING.match(line)
    if match is None:
        return None
    first = _FIRST_LINE.search(line, match.end())
    return Passage(match["id"], match["kind"], section, int(first[1]) if first else 1, ())


def _passage(opened: Passage, lines: list[str]) -> list[Passage]:
    return [opened._replace(lines=tuple(lines))] if lines else []
