"""Compress: data always in the CTX notation; prose condensed if it does not fit unchanged.

Persona, instructions and the step are never compressed, nor excerpts with quotable line numbers,
nor required prose.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from cortex.runtime import ctx

from ..material import Clean
from ..prompt import Form
from ..sanitise import sanitise
from ..tokens import Counter

LEAST_SAVED: Final = 0.05  # of the tokens: less is not worth another form
LEAST_CHARS: Final = 400
MOST_CHARS: Final = (
    300_000  # of one prompt: some 300 ms; by length, so that equal inputs stay equal
)
SUMMED_CHARS: Final = 40_000  # of one text
PROSE_COST: Final = 3  # times as long as data takes
UNTRIED: Final = "too long to be compressed"
PROSE: Final = ("markdown", "text")
_STANDING: Final = ("code", "evidence", "tool", "packs", "skill")  # of these every character counts


class Compressed(NamedTuple):
    """A text in another form, and the tokens that this saves."""

    text: str
    form: Form
    saved: int


Shorten = Callable[[str, ctx.Kind], Compressed | None]
Summarise = Callable[[str, int], str]


class Compressor:
    """Shortens texts, with one token counter; caches the results."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._made: Shorten = lru_cache(512)(self._make)
        self._summed: Summarise = lru_cache(512)(self._sum)

    def of_item(self, entry: Clean) -> Clean | None:
        """*entry* in a shorter form; None if there is none, or it must stay unchanged."""
        kind = kind_of(entry)
        made = self.of_text(entry.text, kind) if kind else None
        return entry._replace(text=made.text, form=made.form, saved=made.saved) if made else None

    def of_text(self, text: str, kind: ctx.Kind) -> Compressed | None:
        """*text*, of that *kind*, in a shorter form."""
        is_tried = len(text) >= LEAST_CHARS and cost(text, kind) <= MOST_CHARS
        return self._made(text, kind) if is_tried else None

    def summary(self, text: str, tokens: int) -> str:
        """The most informative sentences of *text* in about *tokens*; empty if there are none."""
        return self._summed(text, tokens)

    def _sum(self, text: str, tokens: int) -> str:
        package = ctx.extract(text[:SUMMED_CHARS], "text", tokens=tokens, counter=self._counter)
        if package.mode != "extracted":
            return ""
        said = ctx.decode(package.text).text or ""
        harmless, _ = sanitise(said)
        return said.strip("\n") if harmless == said else ""

    def _make(self, text: str, kind: ctx.Kind) -> Compressed | None:
        try:
            package = (
                ctx.condense(text, kind, counter=self._counter)
                if kind in PROSE
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
    """The kind of an item's text, by its source's name or its content; None if it must stay."""
    item, text = entry.item, entry.text
    if item.line_numbers or item.first_line != 1 or entry.form:
        return None
    if item.kind in _STANDING or len(text) < LEAST_CHARS:
        return None
    named = ctx.kind_of_name(item.source or item.id)
    kind = named or ("json" if is_json(text) else None)
    return None if item.must_include and kind in PROSE else kind


def cost(text: str, kind: ctx.Kind) -> int:
    """The cost of compressing *text*, in characters of data."""
    return len(text) * (PROSE_COST if kind in PROSE else 1)


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
