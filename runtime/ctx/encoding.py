"""From a source to a package: every form that keeps the data is tried, the smallest is taken.

A package is read in place of its source, so it must be exact: each form is decoded again before it
is returned, and one that differs is replaced by the next.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from . import header, logs
from .comparing import differences
from .decoding import decode, is_bare
from .document import Document
from .errors import CtxBoundError, CtxFormatError, CtxSourceError
from .legend import legend
from .legend.entries import show
from .notation import writer
from .notation.inline import DEPTH
from .notation.spelling import DIGITS, is_too_long
from .package import DATA_KINDS, MARK, Counter, Kind, Mode, Package, Part
from .sources import json_source, sources

_BLOCK_CHARS: Final = 32_768
_CUT_TOKENS: Final = 16  # that a cut through a text may add; more than any was seen to


class _Form(NamedTuple):
    """A text that encodes the source."""

    text: str
    mode: Mode
    floor: int = 0  # tokens that it has at least


def encode(source: Any, kind: Kind = "json", *, counter: Counter) -> Package:
    """*source* as text that a model reads, from which `decode` gets the same data back.

    Args:
        source: Text of that kind; anything else is data as `json.loads` gives it.
        kind: What the text is.
        counter: Counts the tokens by which forms are chosen.

    Raises:
        CtxSourceError: the text is not of that kind, or the data has no text form.
    """
    tally = EncodingCounter(counter)
    unkept: list[str] = []
    if isinstance(source, str) and kind not in DATA_KINDS:
        tokens = tally.count(source)
        forms = _text_forms(source, kind, tally)
        text, mode = _smallest(forms, lambda each: decode(each).text == source, kind, tally)
    else:
        is_text = isinstance(source, str)
        document = sources.read(source, kind) if is_text else Document(_checked(source))
        tokens = tally.count(source if is_text else json_source.compact(source))
        forms = _forms(source, document, kind, tally)
        text, mode = _smallest(forms, lambda each: _says(each, document), kind, tally)
        unkept = document.unkept if mode == "exact" else []
    part = Part(mode, 0, len(text))
    return Package(text, mode, kind, tally.count(text), tokens, (part,), tuple(unkept))


class EncodingCounter:
    """Counts for one encoding; a counter itself."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._known: dict[str, int] = {}  # of whole texts, of which an encoding has a handful

    def count(self, text: str) -> int:
        """Tokens of *text*."""
        if len(text) < _BLOCK_CHARS // 8:
            return self._counter.count(text)
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._counter.count(text)
        return known

    def lengths(self, text: str) -> Sequence[int]:
        """UTF-8 bytes of each token of *text*, in order."""
        lengths = self._counter.lengths(text)
        self._known[text] = len(lengths)
        return lengths

    def known(self, text: str) -> int:
        """Tokens of *text* if they were counted, else 0."""
        return self._known.get(text, 0)

    def is_over(self, text: str, limit: int) -> bool:
        """Whether *text* has more than *limit* tokens."""
        if not self.known(text):
            tokens = 0
            for at in range(0, len(text), _BLOCK_CHARS):
                tokens += self._counter.count(text[at : at + _BLOCK_CHARS]) - _CUT_TOKENS
                if tokens > limit:
                    return True
        return self.count(text) > limit


def _smallest(
    forms: list[_Form], holds: Callable[[str], bool], kind: Kind, tally: EncodingCounter
) -> tuple[str, Mode]:
    """The form of fewest tokens that can be read back; of equal ones the last of *forms*."""
    while forms:
        best, *others = forms
        for each in others:
            limit = tally.count(best.text)
            if each.floor <= limit and not tally.is_over(each.text, limit):
                best = each
        try:
            if best.mode == "verbatim" or holds(best.text):
                return best.text, best.mode
        except (CtxFormatError, CtxBoundError):
            pass  # it gives way to the next
        forms = [each for each in forms if each is not best]
    raise CtxSourceError(kind, "none of its forms can be read back")


def _says(text: str, document: Document) -> bool:
    found = decode(text).document
    return found is not None and not differences(document, found)


def _forms(source: Any, document: Document, kind: Kind, tally: EncodingCounter) -> list[_Form]:
    """Texts that say *document*, the plainest at the end."""
    forms: list[_Form] = []
    if _depth(document.data) < DEPTH:
        body = writer.write(document, tally)
        forms += _shaped(body, kind, ("stream",) if document.several else (), tally)
    if isinstance(source, str):
        forms += _verbatim(source, kind, tally)
    if not document.notes and not document.after and not document.several:
        try:
            plain = json_source.compact(document.data)
            if not plain.startswith(MARK):
                forms.append(_Form(plain, "exact"))
        except (TypeError, ValueError, RecursionError):
            pass  # dates and odd names have a place here and none in JSON
    if not forms:
        raise CtxSourceError(kind, f"it nests deeper than {DEPTH} levels")
    return forms


def _shaped(body: str, kind: Kind, flags: tuple[str, ...], tally: EncodingCounter) -> list[_Form]:
    """*body* with a legend, if one pays, and without."""
    entries, named = legend.build(body, tally)
    plain = _Form(header.put("exact", kind, body, flags), "exact", tally.known(body))
    if not entries:
        return [plain]
    return [_Form(header.put("exact", kind, named, flags, show(entries)), "exact"), plain]


def _text_forms(source: str, kind: Kind, tally: EncodingCounter) -> list[_Form]:
    folded = logs.fold(source) if kind == "log" else None
    flags = () if folded is None else ("stamps",)
    forms = _shaped(source if folded is None else folded, kind, flags, tally)
    return [*forms, *_verbatim(source, kind, tally)]


def _verbatim(source: str, kind: Kind, tally: EncodingCounter) -> list[_Form]:
    """*source* unchanged: without a header, if it cannot be mistaken for another form."""
    if is_bare(source):
        return [_Form(source, "verbatim")]
    return [_Form(header.put("verbatim", kind, source), "verbatim", tally.known(source))]


def _checked(data: Any) -> Any:
    """*data*, if `json.loads` could have returned it."""
    waiting = [data]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if not all(isinstance(name, str) for name in each):
                raise CtxSourceError("json", "a name that is not text")
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
        elif not (each is None or isinstance(each, str | bool | int | float)):
            raise CtxSourceError("json", f"a value of type {type(each).__name__}")
        elif isinstance(each, int) and is_too_long(each):
            raise CtxSourceError("json", f"a whole number of over {DIGITS:,} digits")
    return data


def _depth(data: Any) -> int:
    """Levels of *data*; counted only as far as they matter."""
    level, deepest = [data], 0
    while level and deepest <= DEPTH:
        deepest += 1
        level = [
            child
            for each in level
            if isinstance(each, dict | list)
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, dict | list)
        ]
    return deepest
