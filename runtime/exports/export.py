"""Exports the events of a home in one of the formats; it is written whole or not at all."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

import msgspec

from cortex.runtime.kernel import Home, NotFoundError, RefusedError
from cortex.runtime.log import whole_file

from .source import Source

Writer: TypeAlias = Callable[[Source], Iterator[bytes]]

NATIVE = "cortex"


class Format(NamedTuple):
    """A format that is not imported yet."""

    where: str  # "native:lines_of", in this folder
    help: str  # what it is, and who reads it

    def writer(self) -> Writer:
        """The function that makes the bytes of an export."""
        module, _, name = self.where.partition(":")
        found: Writer = getattr(import_module(f"{__package__}.{module}"), name)
        return found


FORMATS = {
    NATIVE: Format("native:lines_of", "the log itself, as JSON Lines; `cortex import` reads it"),
    "cloudevents": Format("cloudevents:lines_of", "CloudEvents 1.0, as JSON Lines"),
    "cloudevents-batch": Format("cloudevents:batch_of", "CloudEvents 1.0, as one JSON array"),
    "ocel": Format("ocel:document_of", "OCEL 2.0 JSON, for process mining"),
    "otlp": Format("otlp:lines_of", "OpenTelemetry spans, as OTLP JSON"),
}


def format_of(name: str) -> Format:
    """The format *name*.

    Raises:
        NotFoundError: There is none of that name.
    """
    if name not in FORMATS:
        raise NotFoundError("format", name, f"is unknown: choose one of {', '.join(FORMATS)}")
    return FORMATS[name]


class ExportDocument(msgspec.Struct):
    """What was exported."""

    path: str  # "-" for standard output; or the URL that it was sent to
    format: str
    first: int  # positions, both included
    last: int
    events: int  # that were read
    blobs: int
    missing: int  # blobs that events name, and that were missing or damaged in the home
    root: str  # base64: the root of the log's Merkle tree at the last position; "" if not computed
    spans: int = 0  # of OTLP


def export_log(
    home: Home, out: BinaryIO, *, first: int = 1, last: int | None = None, form: str = NATIVE
) -> ExportDocument:
    """Write the events of *home* to *out*, page by page; a hub may be up meanwhile.

    Args:
        home: The home; as of a position (`Home.at`), the later events are not there.
        out: Where to write.
        first: The first position.
        last: The last position; None for the newest event.
        form: A name in `FORMATS`.

    Raises:
        RefusedError: The home has no such events.
        NotFoundError: There is no such format.
        LogError: The log cannot be read, or an event is not what was recorded.
        OSError: It cannot be written.
    """
    write = format_of(form).writer()
    with Source.open(home, first, last) as source:
        out.writelines(write(source))
        counts, root = source.counts, b64encode(source.counts.root).decode()
        return ExportDocument(
            "-", form, source.first, source.last,
            counts.events, counts.blobs, counts.missing, root, counts.spans,
        )  # fmt: skip


def export_to(
    home: Home, path: Path, *, first: int = 1, last: int | None = None, form: str = NATIVE
) -> ExportDocument:
    """The same into the file *path*, which appears or is replaced only when it is complete.

    Raises:
        RefusedError: As for `export_log`, or it is a file of the home.
        NotFoundError: As for `export_log`.
        LogError: As for `export_log`.
        OSError: As for `export_log`.
    """
    if path.resolve().is_relative_to(home.path.resolve()):
        raise RefusedError(f"{path} is inside the home: name a file elsewhere")
    if path.exists() and not path.is_file():
        raise RefusedError(f"{path} is no plain file: name a file, or - for standard output")
    with whole_file(path) as out:
        made = export_log(home, out, first=first, last=last, form=form)
    made.path = str(path)
    return made
