"""Decodes a package into its source."""

import json
from typing import Any

import msgspec

from . import header, logs
from .document import Document
from .errors import CtxFormatError, CtxSourceError
from .legend.entries import EXPANDED_CHARS, expand
from .notation import reader
from .package import DATA_KINDS, MARK, Kind, Mode, kind_of
from .sources import json_source, sources


class Decoded(msgspec.Struct, frozen=True):
    """What a package holds."""

    mode: Mode
    kind: Kind
    document: Document | None  # of data: JSON, YAML, TOML, CSV
    text: str | None  # of logs and prose, and of unchanged data

    @property
    def data(self) -> Any:
        """The data; for logs and prose the text."""
        return self.text if self.document is None else self.document.data

    def source(self) -> str:
        """Text of the source's kind: equal data, comments in their places.

        Byte for byte for logs, prose and unchanged sources.
        """
        if self.text is not None or self.document is None:
            return self.text or ""
        return sources.write(self.document, self.kind)


def decode(text: str, *, kind: Kind | None = None, limit_chars: int = EXPANDED_CHARS) -> Decoded:
    """What the package *text* holds; a condensed text comes back as the condensed text.

    Args:
        text: The package.
        kind: Of its source, which a text without a header does not say; None to go by the text.
        limit_chars: How long it may grow.

    Raises:
        CtxFormatError: *text* is no package, or a damaged one.
        CtxBoundError: it nests too deep, or would grow over *limit_chars*.
    """
    found = header.get(text)
    if found is None:
        if is_bare(text):
            return _verbatim(text, kind or kind_of(text))
        return Decoded("exact", "json", Document(_json(text)), None)
    if found.mode == "verbatim":
        return _verbatim(found.body, found.kind)
    body = expand(found.legend, found.body, limit_chars)
    if found.kind not in DATA_KINDS:
        whole = logs.unfold(body) if "stamps" in found.flags else body
        return Decoded(found.mode, found.kind, None, whole)
    document = reader.read(body, limit_chars)
    document.several = "stream" in found.flags
    if document.several and not isinstance(document.data, list):
        raise CtxFormatError("a stream is a list of documents", 1)
    return Decoded(found.mode, found.kind, document, None)


def is_bare(text: str) -> bool:
    """Whether *text*, without a header, is an unchanged source: it cannot be compact JSON."""
    if text.startswith(MARK) or not text.strip() or text.lstrip()[0] in "{[":
        return False
    try:
        json_source.load(text)
    except (ValueError, RecursionError):
        return True
    return False


def _verbatim(text: str, kind: Kind) -> Decoded:
    if kind not in DATA_KINDS:
        return Decoded("verbatim", kind, None, text)
    try:
        return Decoded("verbatim", kind, sources.read(text, kind), text)
    except CtxSourceError as error:
        raise CtxFormatError(error.problem, error.line) from error


def _json(text: str) -> Any:
    try:
        return json_source.load(text)
    except json.JSONDecodeError as error:
        if not text.strip():
            raise CtxFormatError("it is empty", is_package=False) from error
        raise CtxFormatError(f"its JSON cannot be read: {error.msg}", error.lineno) from error
    except RecursionError as error:
        raise CtxFormatError("its JSON nests too deep to be read") from error
    except ValueError as error:
        raise CtxFormatError(f"its JSON cannot be read: {error}") from error
