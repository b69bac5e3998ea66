"""The values of a document with their places, and the reporter that points at them."""

from typing import Any, Protocol, TypeAlias

from .codes import RULES
from .diagnostics import Diagnostic, Span, TextEdit


class Mark(Protocol):
    """A place as the YAML parser gives it; counts from 0."""

    line: int
    column: int


# Plain classes with slots: a folder of processes has hundreds of thousands of them.
class ScalarNode:
    """A string, number, boolean or null."""

    __slots__ = ("end", "plain", "start", "text", "trap", "value")

    def __init__(self, value: Any, text: str, plain: bool, start: Mark, end: Mark) -> None:
        self.value = value
        self.text = text  # as written, without quotes
        self.plain = plain  # not in quotes
        self.start = start
        self.end = end
        self.trap: str | None = None  # what another YAML reader takes it for


class SequenceNode:
    """A list."""

    __slots__ = ("end", "flow", "items", "start")

    def __init__(self, start: Mark, flow: bool) -> None:
        self.items: list[Node] = []
        self.flow = flow  # [a, b]
        self.start = start
        self.end = start


class MappingNode:
    """A map; each value is kept with its key, for the key's place."""

    __slots__ = ("end", "entries", "flow", "start")

    def __init__(self, start: Mark, flow: bool) -> None:
        self.entries: dict[str, tuple[ScalarNode, Node]] = {}
        self.flow = flow  # {a: b}
        self.start = start
        self.end = start

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


def end_of(node: Node) -> Mark:
    """Return where *node* ends; the parser ends a block only at the next token."""
    while not isinstance(node, ScalarNode):
        if node.flow:
            break
        children = (
            node.items
            if isinstance(node, SequenceNode)
            else [value if value.start is not value.end else key for key, value in _pairs(node)]
        )
        if not children:
            break
        node = children[-1]
    return node.end


def _pairs(node: MappingNode) -> list[tuple[ScalarNode, Node]]:
    return list(node.entries.values())


def span_of(node: Node) -> Span:
    """Return the range of *node*, counted from 1."""
    start, end = node.start, end_of(node)
    if isinstance(node, MappingNode) and not node.flow and node.entries:
        # A whole block as a range drowns the editor in red: its first key stands for it.
        first = next(iter(node.entries.values()))[0]
        start, end = first.start, first.end
    return Span(start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def point(mark: Mark) -> Span:
    """Return the empty range at *mark*."""
    return Span(mark.line + 1, mark.column + 1, mark.line + 1, mark.column + 1)


class Reporter:
    """Collects the diagnostics of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Diagnostic] = []

    def report(
        self,
        code: str,
        message: str,
        place: Node | Span,
        *,
        remedy: str | None = None,
        fix: tuple[TextEdit, ...] | None = None,
    ) -> None:
        """Add a diagnostic; without a *remedy* the one of the code's table stands."""
        rule = RULES[code]
        self.found.append(
            Diagnostic(
                code=code,
                severity=rule.severity,
                message=message,
                file=self.file,
                span=place if isinstance(place, Span) else span_of(place),
                remedy=remedy or rule.remedy,
                fix=fix,
            )
        )
