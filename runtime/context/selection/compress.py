"""Compress: data always in the CTX notation; prose condensed if it does not fit unchanged.

Persona, instructions and the step are never compressed, nor excerpts with quotable line numbers,
nor required prose.
"""

from functools import cache
from typing import Final, NamedTuple

import msgspec

from cortex.runtime import ctx
from cortex.runtime.cache import Artefacts, Cache, CacheConfig, CacheKey, code_digest, digest_of

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
FORM: Final = "context.form"  # kinds of artefacts
SUMMARY: Final = "context.summary"
ENCODING: Final = 1  # version of their bytes
IN_MEMORY: Final = CacheConfig(memory_mb=64, disk_mb=0)
# The code that decides what a form looks like, and what it relies on.
MADE_BY: Final = tuple(
    f"cortex.runtime.{name}" for name in ("context", "ctx", "retrieval", "secrets")
)
RELIES_ON: Final = ("msgspec", "numpy", "pyyaml", "regex", "tiktoken")
_STANDING: Final = ("code", "evidence", "tool", "packs", "skill")  # of these every character counts


class Compressed(NamedTuple):
    """A text in another form, and the tokens that this saves."""

    text: str
    form: Form
    saved: int


class Compressor:
    """Shortens texts, with one token counter.

    Args:
        counter: Says what is shorter.
        artefacts: Keeps the results, by what they were made from; None keeps them in memory.
    """

    def __init__(self, counter: Counter, artefacts: Artefacts | None = None) -> None:
        self._counter = counter
        self._artefacts: Artefacts = artefacts or Cache(None, IN_MEMORY)

    def of_item(self, entry: Clean) -> Clean | None:
        """*entry* in a shorter form; None if there is none, or it must stay unchanged."""
        kind = kind_of(entry)
        made = self.of_text(entry.text, kind) if kind else None
        return entry._replace(text=made.text, form=made.form, saved=made.saved) if made else None

    def of_text(self, text: str, kind: ctx.Kind) -> Compressed | None:
        """*text*, of that *kind*, in a shorter form."""
        if len(text) < LEAST_CHARS or cost(text, kind) > MOST_CHARS:
            return None
        key = self._key(FORM, text, kind)
        kept = self._artefacts.get(key)
        if kept is not None:
            found: Compressed | None = _FORM(kept)
            return found
        made = self._make(text, kind)
        self._artefacts.put(key, msgspec.msgpack.encode(made))
        return made

    def summary(self, text: str, tokens: int) -> str:
        """The most informative sentences of *text* in about *tokens*; empty if there are none."""
        key = self._key(SUMMARY, text, tokens)
        kept = self._artefacts.get(key)
        if kept is not None:
            return _SUMMARY(kept)
        made = self._sum(text, tokens)
        self._artefacts.put(key, msgspec.msgpack.encode(made))
        return made

    def _key(self, kind: str, text: str, parameter: str | int) -> CacheKey:
        parameters = (parameter, self._counter.encoding, self._counter.exact)
        inputs = (digest_of(text), digest_of(parameters), _code())
        return CacheKey(kind, inputs, ENCODING)

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


@cache
def _code() -> str:
    return code_digest(MADE_BY, RELIES_ON)


_FORM = msgspec.msgpack.Decoder(Compressed | None).decode
_SUMMARY = msgspec.msgpack.Decoder(str).decode


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
