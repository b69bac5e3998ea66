"""What kind of text a file holds: by its name, else by how it looks."""

import json
import re
from pathlib import PurePath

from .package import Kind

_SUFFIXES: dict[str, Kind] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
    ".lock": "toml",
    ".csv": "csv",
    ".log": "log",
    ".md": "markdown",
    ".markdown": "markdown",
    ".rst": "markdown",
    ".txt": "text",
}
_STAMPED = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")


def kind_of(text: str, name: str = "") -> Kind:
    """The kind of *text*, of which *name* is the file's; `text` where nothing else is certain."""
    named = _SUFFIXES.get(PurePath(name).suffix.lower())
    if named is not None:
        return named
    start = text.lstrip()[:1]
    if start and start in "{[":
        return _json_kind(text)
    lines = text.split("\n", 20)[:20]
    if sum(bool(_STAMPED.match(line)) for line in lines) > len(lines) // 2:
        return "log"
    return "markdown" if any(re.match(r"#{1,6} |```|\* |- ", line) for line in lines) else "text"


def _json_kind(text: str) -> Kind:
    for kind, part in (("json", text), ("jsonl", text.lstrip().partition("\n")[0])):
        try:
            json.loads(part)
        except (ValueError, RecursionError):
            continue
        return "json" if kind == "json" else "jsonl"
    return "text"
