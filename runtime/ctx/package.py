"""A package: text of some kind for a model, and who made which part of it."""

import json
import re
from collections.abc import Sequence
from os.path import splitext
from typing import Literal, Protocol

import msgspec

Mode = Literal["exact", "condensed", "drafted", "extracted", "verbatim"]
Kind = Literal["json", "jsonl", "yaml", "toml", "csv", "log", "markdown", "text"]
KINDS: tuple[Kind, ...] = ("json", "jsonl", "yaml", "toml", "csv", "log", "markdown", "text")
DATA_KINDS: frozenset[str] = frozenset({"json", "jsonl", "yaml", "toml", "csv"})
MARK = "#ctx"  # every header begins with it; a package without one is compact JSON
_SUFFIXES: dict[str, Kind] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
    ".lock": "toml",
    ".csv": "csv",
    ".log": "log",
    ".md": "markdown",
    ".markdown": "markdown",
    ".rst": "markdown",
    ".txt": "text",
}
_STAMPED = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")


class Counter(Protocol):
    """Counts tokens; the token counter of the context compiler is one."""

    def count(self, text: str) -> int:
        """Tokens of *text*."""
        ...

    def lengths(self, text: str) -> Sequence[int]:
        """UTF-8 bytes of each token of *text*, in order; they add up to the whole text."""
        ...


class Part(msgspec.Struct, frozen=True):
    """A stretch of a package's text and the mode that made it."""

    mode: Mode
    start: int  # first character
    end: int  # one behind the last


class Package(msgspec.Struct, frozen=True):
    """Text that a model reads directly."""

    text: str
    mode: Mode  # of the whole; `parts` has the details of a mixture
    kind: Kind
    tokens: int  # of `text`
    source_tokens: int  # of the source as it was given (data: as compact JSON)
    parts: tuple[Part, ...] = ()  # in order, together the whole text
    unkept: tuple[str, ...] = ()  # contents of its source beyond the data, in words

    @property
    def tokens_saved(self) -> int:
        """Tokens fewer than the source; below 0 where the source cannot be made smaller."""
        return self.source_tokens - self.tokens


def kind_of(text: str, name: str = "") -> Kind:
    """The kind of *text*, of which *name* is the file's; `text` where nothing else is certain."""
    named = kind_of_name(name)
    if named is not None:
        return named
    start = text.lstrip()[:1]
    if start and start in "{[":
        return _json_kind(text)
    lines = text.split("\n", 20)[:20]
    if sum(bool(_STAMPED.match(line)) for line in lines) > len(lines) // 2:
        return "log"
    return "markdown" if any(re.match(r"#{1,6} |```|\* |- ", line) for line in lines) else "text"


def kind_of_name(name: str) -> Kind | None:
    """The kind that a file of this *name* has; None where the name does not say."""
    # A prompt asks this of each of its items: pathlib would take a twentieth of a compile.
    return _SUFFIXES.get(splitext(name)[1].lower())  # noqa: PTH122  # pathlib is slow


def _json_kind(text: str) -> Kind:
    for kind, part in (("json", text), ("jsonl", text.lstrip().partition("\n")[0])):
        try:
            json.loads(part)
        except (ValueError, RecursionError):
            continue
        return "json" if kind == "json" else "jsonl"
    return "text"
