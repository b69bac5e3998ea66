"""A package: text for a model, and who made which part of it."""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

Mode = Literal["exact", "condensed", "drafted", "verbatim"]
Kind = Literal["json", "jsonl", "yaml", "toml", "csv", "log", "markdown", "text"]

KINDS: tuple[Kind, ...] = ("json", "jsonl", "yaml", "toml", "csv", "log", "markdown", "text")
DATA_KINDS: frozenset[str] = frozenset({"json", "jsonl", "yaml", "toml", "csv"})

MARK = "#ctx"  # every header begins with it; a package without one is compact JSON


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
    """Text that a model reads as it stands."""

    text: str
    mode: Mode  # of the whole; `parts` says more where modes meet
    kind: Kind
    tokens: int  # of `text`
    source_tokens: int  # of the source as it was given (data: as compact JSON)
    parts: tuple[Part, ...] = ()  # in order, together the whole text

    @property
    def tokens_saved(self) -> int:
        """Tokens fewer than the source; below 0 where the source cannot be made smaller."""
        return self.source_tokens - self.tokens
