"""The keys of a configuration as its Struct declares them: for errors, template and docs."""

import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

_KEY = re.compile(r"""\s*((?:"[^"]*"|'[^']*'|[^"'=#\[])+?)\s*=""")
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\]#]+?)\s*\]")
_PART = re.compile(r""""([^"]*)"|'([^']*)'|([\w-]+)""")
_EXAMPLES = {
    "boolean": "false",
    "integer": "1000",
    "number": "1.0",
    "string": '""',
    "table": "{}",
}


class Key(NamedTuple):
    """One key of config.toml."""

    table: tuple[str, ...]  # ("context", "budgets"); () at the top
    repeated: bool  # its table is an array of tables
    name: str
    type: str
    default: str  # as TOML; "" if there is none
    description: str

    @property
    def header(self) -> str:
        """Its table as TOML writes it; empty at the top."""
        opened, closed = ("[[", "]]") if self.repeated else ("[", "]")
        return f"{opened}{'.'.join(self.table)}{closed}" if self.table else ""


def keys_of(
    cls: type[Struct], table: tuple[str, ...] = (), *, repeated: bool = False
) -> Iterator[Key]:
    """All keys that *cls* declares, those of inner tables last."""
    hints = typing.get_type_hints(cls, include_extras=True)
    inner: list[tuple[type[Struct], str, bool]] = []
    for field in msgspec.structs.fields(cls):
        hint = hints[field.name]
        kind = _bare(hint)
        entry = _bare((typing.get_args(kind) or (None,))[0])
        if _is_struct(kind):
            inner.append((kind, field.name, False))
        elif _is_struct(entry):
            inner.append((entry, field.name, True))
        else:
            default, described = _default_of(field), _described(hint)
            yield Key(table, repeated, field.name, _spelled(hint), default, described)
    for struct, name, again in inner:
        yield from keys_of(struct, (*table, name), repeated=again)


def template_of(cls: type[Struct], chosen: Mapping[str, str]) -> str:
    """A file that sets the keys of *chosen*, and shows every other key with its default."""
    lines = ["# Settings of this home. A key that is not known is an error.", ""]
    tables: list[str] = []
    header = ""
    for key in keys_of(cls):
        if key.type.startswith("table of") and not key.table:
            tables += ["", f"#   {key.description}", f"# [{key.name}]"]
            continue
        if key.header != header:
            header = key.header
            lines += ["", f"# {header}"]
        if not key.table and key.name in chosen:
            lines += [f"#   {key.description}", f"{key.name} = {chosen[key.name]}"]
            continue
        lines += [f"#   {key.description}", f"# {key.name} = {key.default or _example(key)}"]
    return "\n".join(lines + tables) + "\n"


def _example(key: Key) -> str:
    """An example value for a key without default; marked, so that it is not taken for a default."""
    plain = "{}" if key.type.startswith("table of") else key.type.partition(" or ")[0]
    return f"{_EXAMPLES.get(key.type) or plain}  # for example: it is unset"


def line_of(text: str, path: Sequence[str]) -> int | None:
    """The line of the value at *path*, as far as line matching can find it.

    Numbers in *path* choose among repeated tables, from 0.
    """
    names = [part for part in path if not part.isdigit()]
    wanted = next((int(part) for part in path if part.isdigit()), None)
    table: list[str] = []
    entry = -1  # index of the repeated table that contains this line
    found = None
    for number, line in enumerate(text.splitlines(), 1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            table = _split(header[2])
            entry += len(header[1]) == 2 and table == names[: len(table)]
            here = table
        elif key:
            here = [*table, *_split(key[1])]
        else:
            continue
        if here == names[: len(here)] and wanted in (None, entry):
            found = number
            if len(here) == len(names):
                return number
    return found


def _bare(hint: Any) -> Any:
    while typing.get_origin(hint) is Annotated:
        hint = typing.get_args(hint)[0]
    return hint


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _described(hint: Any) -> str:
    meta = [m for m in typing.get_args(hint)[1:] if isinstance(m, Meta)]
    return next((m.description for m in meta if m.description), "")


def _spelled(hint: Any) -> str:
    hint = _bare(hint)
    origin = typing.get_origin(hint)
    args = [arg for arg in typing.get_args(hint) if arg is not type(None)]
    if origin is Literal:
        return " or ".join(f'"{arg}"' for arg in args)
    if origin is tuple:
        return f"list of {_spelled(args[0])}s"
    if origin is dict:
        return "table" if args[1] is Any else f"table of {_spelled(args[1])}s"
    if args:
        return _spelled(args[0])  # of an optional type
    return {int: "integer", float: "number", str: "string", bool: "boolean"}[hint]


def _default_of(field: msgspec.structs.FieldInfo) -> str:
    if field.default_factory is not msgspec.NODEFAULT or field.default in (msgspec.NODEFAULT, None):
        return ""
    return msgspec.json.encode(field.default).decode()


def _split(text: str) -> list[str]:
    return ["".join(part) for part in _PART.findall(text)]
