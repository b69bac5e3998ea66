"""Results of steps as people read them: without digests, offers to a context, and endless text."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from cortex.runtime.kernel import many

REPORT = "report"  # a result's field that is text for people, printed as it is
_DIGEST = re.compile(r"[0-9a-f]{64}")
_FOR_PROGRAMS = frozenset(("context",))  # what a step offers to the prompts of later ones
BRIEF = 60  # characters of a parameter in a line
LONGEST_SCALAR = 200  # characters
TEXT_LINES = 20  # of a field, where a result is shown in short


def readable(value: Any, indent: str = "") -> Iterator[str]:
    """The lines of a result: a `report` unchanged, maps and lists by line, the rest as text."""
    if isinstance(value, dict):
        if isinstance(value.get(REPORT), str):
            yield from _text(value[REPORT], indent)
            return
        for name, inner in value.items():
            if not hidden(name, inner):
                yield from _named(f"{indent}{name}:", inner, indent)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _element(inner, indent)
    else:
        yield from _text(_plain(value), indent)


def named_values(values: dict[str, Any], indent: str = "") -> Iterator[str]:
    """The lines of declared inputs and outputs, including empty ones."""
    if isinstance(values.get(REPORT), str):
        yield from _text(values[REPORT], indent)
        return
    for name, value in values.items():
        if name not in _FOR_PROGRAMS:
            shown = '""' if value == "" else value
            yield from _named(f"{indent}{name}:", shown, indent)


def scalars(result: dict[str, Any], rest: str) -> Iterator[str]:
    """The fields of *result* with a single value, and a `report` unchanged.

    A long text is cut, followed by *rest*, which says where the full text is.
    """
    if isinstance(result.get(REPORT), str):
        yield from _text(result[REPORT], "")
        return
    cut = False
    for name, value in result.items():
        if isinstance(value, dict | list | tuple) or hidden(name, value):
            continue
        for line in bounded(list(_named(f"{name}:", value, "")), TEXT_LINES, rest):
            cut = cut or len(line) > LONGEST_SCALAR
            yield _beginning(line)
    if cut:
        yield f"... the rest of a line that ends in …: {rest}"


def brief_value(value: Any) -> str:
    """*value* in a word or two."""
    text = " ".join(_plain(value).split())
    return text if len(text) <= BRIEF else f"{text[: BRIEF - 1]}…"


def hidden(name: str, value: Any) -> bool:
    """Whether a field is useful to programs only, or empty."""
    digest = isinstance(value, str) and _DIGEST.fullmatch(value) is not None
    return digest or name in _FOR_PROGRAMS or value in (None, "", [], (), {})


def bounded(lines: list[str], most: int, rest: str) -> list[str]:
    """At most *most* of *lines*; if some are left out, the last one is *rest*."""
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"... {many(len(lines) - most + 1, 'more line')}: {rest}"]


def cut_line(line: str, rest: str) -> str:
    """*line*, or the beginning of a long one and *rest*, which says where the full text is."""
    short = _beginning(line)
    return line if short == line else f"{short} {rest}"


def _beginning(line: str) -> str:
    return line if len(line) <= LONGEST_SCALAR else f"{line[:LONGEST_SCALAR]}…"


def _element(value: Any, indent: str) -> Iterator[str]:
    """The lines of an element of a list, the first of them behind its dash."""
    if isinstance(value, dict | list | tuple):
        lines = list(readable(value, indent + "  "))
        if lines:
            yield f"{indent}- {lines[0][len(indent) + 2 :]}"
            yield from lines[1:]
            return
    yield from _named(f"{indent}-", value, indent)


def _named(name: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict | list | tuple) and value:
        yield name
        yield from readable(value, indent + "  ")
        return
    text = _plain(value).rstrip("\n")
    if "\n" in text:
        yield name
        yield from _text(text, indent + "  ")
    else:
        yield f"{name} {text}"


def _text(text: str, indent: str) -> Iterator[str]:
    yield from (f"{indent}{line}" for line in text.rstrip("\n").split("\n"))


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
