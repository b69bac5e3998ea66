"""Sources as documents and back: JSON, JSON Lines, CSV; YAML and TOML have files of their own."""

import csv
import io
import json
from typing import Any

from . import toml_source, yaml_source
from .document import Document
from .errors import CtxSourceError
from .package import Kind
from .scalars import as_written

DEPTH = 900  # what json.loads and json.dumps do without reaching Python's own bound
FIELD_CHARS = 1 << 30  # csv's own bound, 128 KiB, is less than a field may hold


def read(text: str, kind: Kind) -> Document:
    """The document that *text* says.

    Raises:
        CtxSourceError: *text* is not of that kind; it says where and what to do.
    """
    try:
        if kind == "yaml":
            return yaml_source.read(text)
        if kind == "toml":
            return toml_source.read(text)
        if kind == "csv":
            return Document(_csv(text))
        return Document(_jsonl(text) if kind == "jsonl" else load(text))
    except json.JSONDecodeError as error:
        raise CtxSourceError(kind, error.msg, error.lineno) from error
    except RecursionError as error:
        raise CtxSourceError(kind, "it nests too deep to be read") from error
    except (ValueError, csv.Error) as error:
        raise CtxSourceError(kind, str(error)) from error


def load(text: str) -> Any:
    """The data of JSON *text*; numbers remember how they were written."""
    return json.loads(text, parse_float=as_written, parse_int=as_written)


def compact(data: Any) -> str:
    """*data* as compact JSON.

    Raises:
        TypeError, ValueError: it holds what JSON has not: dates, names that are not text.
    """
    _only_text_names(data)
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def _only_text_names(data: Any) -> None:
    waiting = [data]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if not all(isinstance(name, str) for name in each):
                raise TypeError("a name that is not text")
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def _jsonl(text: str) -> list[Any]:
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                rows.append(load(line))
            except json.JSONDecodeError as error:
                raise CtxSourceError("jsonl", error.msg, number) from error
    return rows


def _csv(text: str) -> list[Any]:
    """Rows as objects where the header names every column once, else as lists."""
    csv.field_size_limit(FIELD_CHARS)
    rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    if not rows:
        return []
    header, *rest = rows
    even = all(len(row) == len(header) for row in rest)
    if rest and even and len(set(header)) == len(header):
        return [dict(zip(header, row, strict=True)) for row in rest]
    return rows


def write(document: Document, kind: Kind) -> str:
    """*document* as a source of that kind; TOML is written as JSON."""
    data = document.data
    if kind == "yaml":
        return yaml_source.write(document)
    if kind == "jsonl" and isinstance(data, list):
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in data)
    if kind == "csv" and isinstance(data, list):
        return _csv_text(data)
    return json.dumps(data, ensure_ascii=False, indent=1, default=str) + "\n"


def _csv_text(rows: list[Any]) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    if rows and isinstance(rows[0], dict):
        writer.writerow(rows[0])
        rows = [list(row.values()) for row in rows]
    writer.writerows(rows)
    return out.getvalue()
