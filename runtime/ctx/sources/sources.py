"""Sources as documents and back: JSON, JSON Lines, CSV; YAML and TOML have files of their own."""

import csv
import io
import json
from typing import Any

from ..document import Document
from ..errors import CtxSourceError
from ..package import Kind
from . import json_source, toml_source, yaml_source

FIELD_CHARS = 1 << 30  # csv's own bound, 128 KiB, is less than a field may hold
_BYTE_ORDER_MARK = "\ufeff"  # marks the encoding of a file, and is no data


def read(text: str, kind: Kind) -> Document:
    """The document in *text*.

    Raises:
        CtxSourceError: *text* is not of that kind; it says where and what to do.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    try:
        if kind == "yaml":
            return yaml_source.read(text)
        if kind == "toml":
            return toml_source.read(text)
        if kind == "csv":
            return Document(_csv(text))
        return Document(_jsonl(text) if kind == "jsonl" else json_source.load(text))
    except json.JSONDecodeError as error:
        problem = error.msg if text.strip() else "it is empty"
        raise CtxSourceError(kind, problem, error.lineno) from error
    except RecursionError as error:
        raise CtxSourceError(kind, "it nests too deep to be read") from error
    except (ValueError, csv.Error) as error:
        raise CtxSourceError(kind, str(error)) from error


def _jsonl(text: str) -> list[Any]:
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                rows.append(json_source.load(line))
            except ValueError as error:
                problem = getattr(error, "msg", str(error))
                raise CtxSourceError("jsonl", problem, number) from error
    return rows


def _csv(text: str) -> list[Any]:
    """Rows as objects where the header names every column once, else as lists."""
    csv.field_size_limit(FIELD_CHARS)
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    if not rows:
        return []
    header, *rest = rows
    even = all(len(row) == len(header) for row in rest)
    if header and rest and even and len(set(header)) == len(header):
        return [dict(zip(header, row, strict=True)) for row in rest]
    return rows


def write(document: Document, kind: Kind) -> str:
    """*document* as a source of that kind; TOML is written as JSON.

    Raises:
        CtxFormatError: it has names for which JSON has no place, as no source of that kind has.
    """
    data = document.data
    if kind == "yaml":
        return yaml_source.write(document)
    if kind == "jsonl" and isinstance(data, list):
        return "".join(json_source.line(row) + "\n" for row in data)
    if kind == "csv" and _is_grid(data):
        return _csv_text(data)
    return json_source.lines(data) + "\n"


def _is_grid(data: Any) -> bool:
    """Whether *data* is what `_csv` makes; a package from elsewhere may hold anything."""
    if not isinstance(data, list):
        return False
    if all(isinstance(row, list) for row in data):
        return True
    return all(isinstance(row, dict) and list(row) == list(data[0]) for row in data)


def _csv_text(rows: list[Any]) -> str:
    out = io.StringIO(newline="")
    plain = csv.writer(out, lineterminator="\n")
    # Not every Python quotes a cell for a carriage return, at which a reader ends the row.
    quoting = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    if rows and isinstance(rows[0], dict):
        rows = [list(rows[0]), *(list(row.values()) for row in rows)]
    for row in rows:
        returns = any(isinstance(cell, str) and "\r" in cell for cell in row)
        (quoting if returns else plain).writerow(row)
    return out.getvalue()
