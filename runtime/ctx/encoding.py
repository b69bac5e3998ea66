"""From a source to a package: every form that keeps the data is tried, the smallest is taken.

Exactness is a promise to whoever reads the package in place of the source. So each form is read
back before it is given away, and one that does not say the same gives way to the next.
"""

from typing import Any

from . import header, legend, logs, sources, writer
from .comparing import differences
from .decoding import decode
from .document import Document
from .errors import CtxBoundError, CtxFormatError, CtxSourceError
from .inline import DEPTH
from .package import DATA_KINDS, MARK, Counter, Kind, Mode, Package, Part


def encode(source: Any, kind: Kind = "json", *, counter: Counter) -> Package:
    """*source* as text that a model reads, from which `decode` gets the same data back.

    Args:
        source: Text of that kind; anything else is data as `json.loads` gives it.
        kind: What the text is.
        counter: Counts the tokens by which forms are chosen.

    Raises:
        CtxSourceError: the text is not of that kind, or the data has no text form.
    """
    if isinstance(source, str) and kind not in DATA_KINDS:
        return _text(source, kind, counter)
    document = sources.read(source, kind) if isinstance(source, str) else Document(_checked(source))
    forms = _forms(source, document, kind, counter)
    text, mode = _smallest(forms, document, kind, counter)
    original = source if isinstance(source, str) else sources.compact(source)
    return package(text, mode, kind, original, counter)


def _smallest(
    forms: list[tuple[str, Mode]], document: Document, kind: Kind, counter: Counter
) -> tuple[str, Mode]:
    """The form of fewest tokens that says *document* when it is read."""
    for text, mode in sorted(forms, key=lambda form: counter.count(form[0])):
        if mode == "verbatim" or _says(text, document):
            return text, mode
    raise CtxSourceError(kind, "none of its forms can be read back")


def _says(text: str, document: Document) -> bool:
    try:
        found = decode(text).document
    except (CtxFormatError, CtxBoundError):
        return False
    return found is not None and not differences(document, found)


def package(text: str, mode: Mode, kind: Kind, original: str, counter: Counter) -> Package:
    """A package of one part."""
    part = Part(mode, 0, len(text))
    return Package(text, mode, kind, counter.count(text), counter.count(original), (part,))


def _forms(source: Any, document: Document, kind: Kind, counter: Counter) -> list[tuple[str, Mode]]:
    """Texts that say *document*; the first is the plainest of those that are equally short."""
    forms: list[tuple[str, Mode]] = []
    if not document.notes and not document.after and not document.several:
        try:
            plain = sources.compact(document.data)
            if not plain.startswith(MARK):
                forms.append((plain, "exact"))
        except (TypeError, ValueError, RecursionError):
            pass  # dates and odd names have a place here and none in JSON
    if isinstance(source, str):
        forms.append((header.put("verbatim", kind, source), "verbatim"))
    if _depth(document.data) < DEPTH:
        body = writer.write(document, counter)
        flags = ("stream",) if document.several else ()
        forms.append((header.put("exact", kind, body, flags), "exact"))
        entries, named = legend.build(body, counter)
        if entries:
            shown = legend.show(entries)
            forms.append((header.put("exact", kind, named, flags, shown), "exact"))
    if not forms:
        raise CtxSourceError(kind, f"it nests deeper than {DEPTH} levels")
    return forms


def _text(source: str, kind: Kind, counter: Counter) -> Package:
    forms: list[tuple[str, Mode]] = [(header.put("verbatim", kind, source), "verbatim")]
    folded = logs.fold(source) if kind == "log" else None
    flags = () if folded is None else ("stamps",)
    body = source if folded is None else folded
    forms.append((header.put("exact", kind, body, flags), "exact"))
    entries, named = legend.build(body, counter)
    if entries:
        forms.append((header.put("exact", kind, named, flags, legend.show(entries)), "exact"))
    best = sorted(forms, key=lambda form: counter.count(form[0]))
    # The first form is the source itself, under a header.
    text, mode = next((each for each in best if _is_text(each[0], source)), forms[0])
    return package(text, mode, kind, source, counter)


def _is_text(text: str, source: str) -> bool:
    try:
        return decode(text).text == source
    except (CtxFormatError, CtxBoundError):
        return False


def _checked(data: Any) -> Any:
    """*data*, if all of it is what `json.loads` could have given."""
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
