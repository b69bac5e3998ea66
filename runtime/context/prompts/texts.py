"""Parses prompts that are one text into blocks: those of compiler 1, and those a person edited.

Sound against their content: sanitising left no text that could end a fence, open one, begin a
section or mark a cut. Prompts that are sent never take this way, except one
that compiler 1 stored.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from ..blocks import HEAD, PromptBlock, decode, text_of
from ..request import SECTIONS, STABLE, TOOL, Section
from ..segments import Stretch

_OPENING = re.compile(r'<(?P<tag>data|reference) id="(?P<id>[^"]*)" kind="(?P<kind>[^"]*)"')
_FIRST_LINE = re.compile(r' first_line="(\d+)"')
_CUT = re.compile(r"\[lines (\d+)-(\d+)\]$")
_HEADING = re.compile(rf"=== ({'|'.join(SECTIONS)}) ===$")
_STRETCHES: Final[dict[Section, Stretch]] = {
    **dict.fromkeys(STABLE, "volatile"),  # where one stands behind what is not stable
    "knowledge": "epoch",
    "memory": "epoch",
    "history": "append",
    "step": "volatile",
}
CLOSINGS: Final = ("</data>", "</reference>")  # lines that end an item


def read_prompt(data: bytes) -> tuple[PromptBlock, ...]:
    """The blocks of a stored prompt; for one of compiler 1, parsed from its text.

    Raises:
        msgspec.DecodeError: It begins like a prompt, but is not one.
    """
    return decode(data) if data.startswith(HEAD) else read_text(data.decode(errors="replace"))


def prompt_text(data: bytes) -> str:
    """A stored prompt as one text.

    Raises:
        msgspec.DecodeError: It begins like a prompt, but is not one.
    """
    return text_of(read_prompt(data))


def read_text(text: str) -> tuple[PromptBlock, ...]:
    """The blocks of a prompt that is one text; no character of it is lost."""
    reader = _Reader()
    for line in _lines_of(text):
        reader.take(line)
    return reader.ended()


def is_mark(line: str) -> bool:
    """Whether *line* separates parts of a prompt."""
    opens = _OPENING.match(line) or _HEADING.match(line) or _CUT.match(line)
    return line in CLOSINGS or opens is not None


StepPartKind: TypeAlias = Literal["address", "question", "task"]
_ADDRESS: Final = ("process: ", "step: ")
QUESTION: Final = "question: "


class StepPart(NamedTuple):
    """A part of the step's own text: where it belongs, what is asked, and all else to be done."""

    kind: StepPartKind
    text: str


def step_parts(text: str) -> tuple[StepPart, ...]:
    """The parts of a step's own text that is nothing but a text, line by line."""
    parts: list[StepPart] = []
    for number, line in enumerate(_lines_of(text)):
        kind: StepPartKind = "question" if line.startswith(QUESTION) else "task"
        if number < len(_ADDRESS) and line.startswith(_ADDRESS[number]):
            kind = "address"
        if parts and parts[-1].kind == kind:
            parts[-1] = StepPart(kind, parts[-1].text + line)
        else:
            parts.append(StepPart(kind, line))
    return tuple(parts)


class _Reader:
    """The blocks so far, and the one that is open."""

    def __init__(self) -> None:
        self._blocks: list[PromptBlock] = []
        self._section: Section | None = None  # none before the first heading
        self._stable = True  # everything before is stable
        self._own: list[str] = []
        self._opening = ""
        self._inside: list[str] = []

    def take(self, line: str) -> None:
        """Add one line, with its line break."""
        bare = line.removesuffix("\n")
        if self._opening:
            if bare in CLOSINGS:
                self._close(line)
            else:
                self._inside.append(line)
        elif heading := _HEADING.match(bare):
            self._end_own()
            self._section = _section(heading[1])
            self._add("heading", line)
        elif _OPENING.match(bare):
            self._end_own()
            self._opening = line
        elif self._stable and self._section == "tools" and (tool := _tool(bare)):
            self._end_own()
            self._add("tool", line, item=TOOL + tool.name, material="tool")
        else:
            self._own.append(line)

    def ended(self) -> tuple[PromptBlock, ...]:
        """All blocks."""
        if self._opening:
            self._close("")
        self._end_own()
        return tuple(self._blocks)

    def _close(self, closing: str) -> None:
        match = _OPENING.match(self._opening)
        about: dict[str, Any] = {"item": match["id"], "material": match["kind"]} if match else {}
        trust = "untrusted" if match and match["tag"] == "data" else "trusted"
        runs = tuple((int(c[1]), int(c[2])) for line in self._inside if (c := _CUT.match(line)))
        first = _FIRST_LINE.search(self._opening)
        start = int(first[1]) if first else 1
        self._add(
            "item",
            "".join(self._inside),
            opening=self._opening,
            closing=closing,
            trust=trust,
            lines=runs or ((start, start + max(len(self._inside), 1) - 1),),
            **about,
        )
        self._opening, self._inside = "", []

    def _end_own(self) -> None:
        text, self._own = "".join(self._own), []
        if text and self._section == "step":
            for part in step_parts(text):
                self._add("own", part.text, material=part.kind)
        elif text:
            self._add("own", text)

    def _add(self, kind: Any, text: str, **about: Any) -> None:
        section = self._section or "step"
        self._stable = self._stable and section in STABLE
        stretch, role = ("stable", "system") if self._stable else (_STRETCHES[section], "user")
        self._blocks.append(
            msgspec.convert(
                {"role": role, "kind": kind, "section": section, "stretch": stretch, "text": text}
                | about,
                PromptBlock,
            )
        )


def _section(name: str) -> Section:
    return next(each for each in SECTIONS if each == name)


class _Tool(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    description: str
    parameters: dict[str, Any]


def _tool(line: str) -> _Tool | None:
    """The tool of *line*."""
    if not line.startswith("{"):
        return None
    try:
        return msgspec.json.decode(line, type=_Tool)
    except msgspec.DecodeError:
        return None


def _lines_of(text: str) -> Iterator[str]:
    """The lines of *text* with their ends, as a prompt has them."""
    # Not `splitlines`: it splits at more characters.
    start = 0
    while end := text.find("\n", start) + 1:
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]
