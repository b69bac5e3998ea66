"""From a package back to what it was made of."""

import json
from typing import Any

import msgspec

from . import header, json_source, legend, logs, reader, sources
from .document import Document
from .errors import CtxFormatError, CtxSourceError
from .header import Header
from .package import DATA_KINDS, Kind, Mode


class Decoded(msgspec.Struct, frozen=True):
    """What a package holds."""

    mode: Mode
    kind: Kind
    document: Document | None  # of data: JSON, YAML, TOML, CSV
    text: str | None  # of logs and prose, and of data that was left as it stood

    @property
    def data(self) -> Any:
        """The data; for logs and prose the text."""
        return self.text if self.document is None else self.document.data

    def source(self) -> str:
        """Text of the kind it was made of: equal data, comments in their places.

        Byte for byte for logs, prose and what was left as it stood.
        """
        if self.text is not None or self.document is None:
            return self.text or ""
        return sources.write(self.document, self.kind)


def decode(text: str, *, limit_chars: int = legend.EXPANDED_CHARS) -> Decoded:
    """What the package *text* holds; a condensed text comes back as the condensed text.

    Raises:
        CtxFormatError: *text* is no package, or a damaged one.
        CtxBoundError: it nests too deep, or would grow over *limit_chars*.
    """
    found = header.get(text)
    if found is None:
        return Decoded("exact", "json", Document(_json(text)), None)
    if found.mode == "verbatim":
        return _verbatim(found)
    body = legend.expand(found.legend, found.body, limit_chars)
    if found.kind not in DATA_KINDS:
        whole = logs.unfold(body) if "stamps" in found.flags else body
        return Decoded(found.mode, found.kind, None, whole)
    document = reader.read(body, limit_chars)
    document.several = "stream" in found.flags
    if document.several and not isinstance(document.data, list):
        raise CtxFormatError("a stream is a list of documents", 1)
    return Decoded(found.mode, found.kind, document, None)


def _verbatim(found: Header) -> Decoded:
    if found.kind not in DATA_KINDS:
        return Decoded(found.mode, found.kind, None, found.body)
    try:
        return Decoded(found.mode, found.kind, sources.read(found.body, found.kind), found.body)
    except CtxSourceError as error:
        raise CtxFormatError(error.problem, error.line) from error


def _json(text: str) -> Any:
    try:
        return json_source.load(text)
    except json.JSONDecodeError as error:
        if text.lstrip()[:1] not in ("{", "["):
            problem = "it has no header, and is not JSON" if text.strip() else "it is empty"
            raise CtxFormatError(problem, is_package=False) from error
        raise CtxFormatError(f"its JSON cannot be read: {error.msg}", error.lineno) from error
    except RecursionError as error:
        raise CtxFormatError("its JSON nests too deep to be read") from error
    except ValueError as error:
        raise CtxFormatError(f"its JSON cannot be read: {error}") from error
