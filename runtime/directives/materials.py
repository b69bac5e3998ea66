"""The parts of what a step gave or did that can breach a prohibition, by the names of its fields.

A field that holds a path, a command or a diff is known by its name. Under names such as `files`,
the keys of an object are paths; elsewhere a key is one if it reads like one and its value is what a
file holds. What is left is text, in which only fenced blocks count.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

MaterialKind: TypeAlias = Literal["tool", "command", "path", "source", "manifest", "text"]
_DEEPEST: Final = 20  # of a result
_DIFFS: Final = frozenset({"diff", "patch"})
_COMMANDS: Final = frozenset(
    {"command", "commands", "cmd", "cmdline", "command_line", "script", "argv", "run", "shell"}
    | {"bash", "sh", "exec", "program", "executable"}
)
_ARGVS: Final = frozenset({"argv", "command", "cmd", "run", "exec"})  # a list is one command
_PATH: Final = ("path", "file", "file_path", "filepath", "filename", "file_name", "target_file")
_PATHS: Final = frozenset(
    {*_PATH, "paths", "files", "changed", "changed_files", "created", "written"}
    | {"updated", "modified", "added", "file_paths", "filenames"}
)
_OF_PATHS: Final = _PATHS | {"edits", "changes", "contents"}  # maps of which the keys are paths
_CONTENTS: Final = frozenset(
    {"content", "contents", "text", "code", "new", "replace", "source", "body"}
    | {"new_string", "new_str", "new_text", "file_text", "insert_text", "code_edit"}
)
_READS_LIKE_A_PATH: Final = re.compile(r"[^\s:*?\"<>|]*(?:\.\w{1,12}|[Ff]ile|/[^\s/]+)")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LONGEST_PATH: Final = 400  # characters


class Material(Struct, frozen=True, kw_only=True):
    """A part of what a step gave, or did."""

    kind: MaterialKind
    text: str
    path: str = ""  # of a source or manifest


def materials_of(result: Any, key: str = "", depth: int = 0) -> Iterator[Material]:
    """The parts of a step's result, by the names of its fields."""
    if depth > _DEEPEST:
        return
    if isinstance(result, str):
        yield _material(key, result)
    elif isinstance(result, list | tuple):
        if key in _ARGVS and result and all(isinstance(each, str) for each in result):
            yield _command(result)
            return
        for each in result:
            yield from materials_of(each, key, depth + 1)
    elif isinstance(result, dict):
        yield from _of_object(result, key, depth)


def _of_object(fields: Mapping[Any, Any], key: str, depth: int) -> Iterator[Material]:
    named = {_known(str(name)): each for name, each in fields.items()}
    paths = (named.get(name) for name in _PATH)
    path = next((each for each in paths if each and isinstance(each, str)), None)
    for name, each in ((str(name), each) for name, each in fields.items()):
        if path is not None and _known(name) in _CONTENTS and isinstance(each, str):
            yield Material(kind="source", text=each, path=path)
        elif _is_path(name) and (key in _OF_PATHS or _is_content(each)):
            inner = each if isinstance(each, dict) else {"content": each}
            yield from _of_object({**inner, "path": name}, "", depth + 1)
        else:
            yield from materials_of(each, _known(name), depth + 1)


def _known(name: str) -> str:
    """*name* of a field as the tables here have it: `filePath` is `file_path`."""
    return _HUMP.sub("_", name).replace("-", "_").lower()


def _is_path(name: str) -> bool:
    return len(name) <= _LONGEST_PATH and bool(_READS_LIKE_A_PATH.fullmatch(name))


def _is_content(value: Any) -> bool:
    """Whether *value* is what a file holds, whatever field it is in."""
    if isinstance(value, str):
        return "\n" in value
    return isinstance(value, dict) and any(
        isinstance(each, str) and _known(str(name)) in _CONTENTS - {"text"}
        for name, each in value.items()
    )


def _command(words: list[str] | tuple[str, ...]) -> Material:
    if " " in words[0].strip():  # no word, so that each is a command of its own
        return Material(kind="command", text="\n".join(words))
    # One line, so that no line of an argument is taken for a command of its own.
    return Material(kind="command", text=shlex.join(each.replace("\n", " ; ") for each in words))


def _material(key: str, text: str) -> Material:
    if key in _COMMANDS:
        return Material(kind="command", text=text)
    if key in _PATHS and "\n" not in text:
        return Material(kind="path", text=text)
    if key in _DIFFS:
        return Material(kind="text", text=f"```diff\n{text}\n```")
    return Material(kind="text", text=text)
