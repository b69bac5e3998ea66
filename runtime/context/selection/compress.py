"""Compress: data in the CTX notation, prose condensed, where an item does not fit as it is.

Persona, instructions and the step never are, nor what must be in, nor an excerpt whose line numbers
somebody may quote.
"""

from collections.abc import Callable
from functools import lru_cache
from pathlib import PurePath
from typing import Final, NamedTuple

import msgspec

from cortex.runtime import ctx

from ..prompt import Form
from ..tokens import Counter
from .material import Clean
from .sanitise import sanitise

LEAST_SAVED: Final = 0.05  # of the tokens: less is not worth another form
LEAST_CHARS: Final = 400
MOST_CHARS: Final = (
    200_000  # of one prompt: some 100 ms; by length, so that equal inputs stay equal
)
PROSE_COST: Final = 3  # times as long as data takes
UNTRIED: Final = "too long to be compressed"
_KINDS: Final[dict[str, ctx.Kind]] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
    ".csv": "csv",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".rst": "text",
}
_PROSE: Final = ("markdown", "text")
_STANDING: Final = ("code", "evidence", "tool", "packs", "skill")  # of these every character counts


class Compressed(NamedTuple):
    """A text in another form, and the tokens that it takes less."""

    text: str
    form: Form
    saved: int


Shorten = Callable[[str, ctx.Kind], Compressed | None]


class Compressor:
    """Makes texts shorter under one way of counting; remembers what it made."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._made: Shorten = lru_cache(512)(self._make)

    def of_item(self, entry: Clean) -> Clean | None:
        """*entry* in a shorter form; None where there is none, or it must stand as it is."""
        kind = kind_of(entry)
        made = self.of_text(entry.text, kind) if kind else None
        return entry._replace(text=made.text, form=made.form, saved=made.saved) if made else None

    def of_text(self, text: str, kind: ctx.Kind) -> Compressed | None:
        """*text*, which is of that *kind*, in a shorter form."""
        is_tried = len(text) >= LEAST_CHARS and cost(text, kind) <= MOST_CHARS
        return self._made(text, kind) if is_tried else None

    def _make(self, text: str, kind: ctx.Kind) -> Compressed | None:
        try:
            package = (
                ctx.condense(text, kind, counter=self._counter)
                if kind in _PROSE
                else ctx.encode(text, kind, counter=self._counter)
            )
        except (ctx.CtxSourceError, ctx.CtxBoundError):
            return None
        if package.mode == "verbatim" or package.tokens_saved < LEAST_SAVED * package.source_tokens:
            return None
        harmless, _ = sanitise(package.text)
        if harmless != package.text:
            return None  # in another form a text may look like a fence or a section
        form: Form = "exact" if package.mode == "exact" else "condensed"
        return Compressed(package.text, form, package.tokens_saved)


def kind_of(entry: Clean) -> ctx.Kind | None:
    """What an item's text is, by the name of its source, else by itself; None if it must stand."""
    item, text = entry.item, entry.text
    if item.must_include or item.line_numbers or item.first_line != 1 or entry.form:
        return None
    if item.kind in _STANDING or len(text) < LEAST_CHARS:
        return None
    named = _KINDS.get(PurePath(item.source or item.id).suffix.lower())
    return named or ("json" if is_json(text) else None)


def cost(text: str, kind: ctx.Kind) -> int:
    """What it costs to compress *text*, in characters of data."""
    return len(text) * (PROSE_COST if kind in _PROSE else 1)


def is_json(text: str) -> bool:
    """Whether *text* is one JSON object or array."""
    begun = text.lstrip()[:1]
    if begun not in ("{", "["):
        return False
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
