"""The values of a document with their places, and the reporter that points at them."""

from typing import Any, TypeAlias

from msgspec import Struct

from ..diagnostics.codes import RULES
from ..diagnostics.diagnostics import Diagnostic, SourceSpan, TextEdit

MAX_SIZE_BYTES = 1 << 20  # of a source

# A place is one number, line and column from 0, and no node is tracked by the garbage collector:
# a folder of processes has hundreds of thousands of them, and they hold no circles.
COLUMN_BITS = 21  # a line is at most as long as the largest file


def place_of(line: int, column: int) -> int:
    """Return *line* and *column*, counted from 0, as one number."""
    return line << COLUMN_BITS | column


def line_of(place: int) -> int:
    """Return the line of *place*, counted from 0."""
    return place >> COLUMN_BITS


def column_of(place: int) -> int:
    """Return the column of *place*, counted from 0."""
    return place & (1 << COLUMN_BITS) - 1


class ScalarNode(Struct, gc=False, eq=False):
    """A string, number, boolean or null."""

    value: Any
    text: str  # as written, without quotes
    plain: bool  # not in quotes
    start: int
    end: int
    trap: str | None = None  # what another YAML reader takes it for


class SequenceNode(Struct, gc=False, eq=False):
    """A list."""

    start: int
    flow: bool  # [a, b]
    end: int = 0
    items: "list[Node]" = []


class MappingNode(Struct, gc=False, eq=False):
    """A map; each value is kept with its key, for the key's place."""

    start: int
    flow: bool  # {a: b}
    end: int = 0
    entries: "dict[str, tuple[ScalarNode, Node]]" = {}

    def get(self, key: str) -> "Node | None":
        """Return the value under *key*, or None."""
        entry = self.entries.get(key)
        return entry and entry[1]

    def at(self, key: str) -> "Node":
        """Return the value under *key*, or the map itself, to point at."""
        entry = self.entries.get(key)
        return entry[1] if entry else self


Node: TypeAlias = ScalarNode | SequenceNode | MappingNode


def describe(node: Node) -> str:
    """Return what *node* is, in words: ``a list``, ``the number 3``."""
    if isinstance(node, SequenceNode):
        return "a list"
    if isinstance(node, MappingNode):
        return "a map"
    value = node.value
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"the boolean {node.text}"
    if isinstance(value, int | float):
        return f"the number {node.text}"
    return f"the text {shortened(node.text)}"


def shortened(text: str) -> str:
    """Return *text* in quotes, cut where it is long."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


def end_of(node: Node) -> int:
    """Return where *node* ends; the parser ends a block only at the next token."""
    while not isinstance(node, ScalarNode):
        if node.flow:
            break
        children = (
            node.items
            if isinstance(node, SequenceNode)
            else [value if value.start != value.end else key for key, value in _pairs(node)]
        )
        if not children:
            break
        node = children[-1]
    return node.end


def _pairs(node: MappingNode) -> list[tuple[ScalarNode, Node]]:
    return list(node.entries.values())


def span_of(node: Node) -> SourceSpan:
    """Return the range of *node*, counted from 1."""
    start, end = node.start, end_of(node)
    if isinstance(node, MappingNode) and not node.flow and node.entries:
        # A range over a whole block would mark all of it in an editor: use its first key.
        first = next(iter(node.entries.values()))[0]
        start, end = first.start, first.end
    return span_between(start, end)


def span_between(start: int, end: int) -> SourceSpan:
    """Return the range from the place *start* to the place *end*."""
    return SourceSpan(
        line_of(start) + 1, column_of(start) + 1, line_of(end) + 1, column_of(end) + 1
    )


def point(place: int) -> SourceSpan:
    """Return the empty range at *place*."""
    return span_between(place, place)


class Reporter:
    """Collects the diagnostics of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Diagnostic] = []

    def report(
        self,
        code: str,
        message: str,
        place: Node | SourceSpan,
        *,
        remedy: str | None = None,
        fix: tuple[TextEdit, ...] | None = None,
    ) -> None:
        """Add a diagnostic; without a *remedy* it gets the one of the table of codes."""
        rule = RULES[code]
        self.found.append(
            Diagnostic(
                code=code,
                severity=rule.severity,
                message=message,
                file=self.file,
                span=place if isinstance(place, SourceSpan) else span_of(place),
                remedy=remedy or rule.remedy,
                fix=fix,
            )
        )
