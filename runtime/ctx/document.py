"""The contents of a source: data, and its comments."""

from typing import Any

import msgspec

Path = tuple[Any, ...]  # names and indexes from the root


class Notes(msgspec.Struct):
    """The comments of one entry or item, without their `#`."""

    before: list[str] = msgspec.field(default_factory=list)  # one a line, above it
    beside: str | None = None  # on its own line


class Document(msgspec.Struct):
    """Data with its comments; what `decode` gives back."""

    data: Any
    notes: dict[Path, Notes] = {}
    after: list[str] = []  # comments behind everything
    several: bool = False  # data is the list of the documents of one YAML stream
    unkept: list[str] = []  # contents of its source beyond the data, in words


class Comment(msgspec.Struct):
    """A comment as a reader of sources finds it."""

    line: int  # from 0
    text: str  # the text behind the `#`
    alone: bool  # nothing but blanks before it


def attach(document: Document, comments: list[Comment], starts: list[tuple[int, Path]]) -> None:
    """Attach each of *comments* to the entry below or beside it.

    Args:
        document: Receives them.
        comments: In order of their lines.
        starts: Line on which each entry or item begins, in order; outer ones first.
    """
    at = 0
    for each in comments:
        while at < len(starts) and starts[at][0] < each.line + (0 if each.alone else 1):
            at += 1
        if each.alone and at == len(starts):
            document.after.append(each.text)
            continue
        if not each.alone and at == 0:
            document.after.append(each.text)
            continue
        path = starts[at][1] if each.alone else starts[at - 1][1]
        notes = document.notes.setdefault(path, Notes())
        if each.alone or _is_item_of_several_lines(document.data, path):
            notes.before.append(each.text)
        elif notes.beside is None:
            notes.beside = each.text
        else:
            notes.beside += " #" + each.text


def _is_item_of_several_lines(data: Any, path: Path) -> bool:
    # Its first entry shares its line, so that a comment beside it would be that entry's.
    if not isinstance(path[-1], int):
        return False
    for step in path[:-1]:
        data = data[step]
    return isinstance(data, list) and isinstance(data[path[-1]], dict | list)
