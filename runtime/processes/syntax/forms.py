"""Forms: the permitted shapes of values, defined once for parser, schema and docs.

A form reads a node and returns its value, or None after it has reported an error; reading
continues with the next key, so one pass finds all errors.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from ..diagnostics.diagnostics import SourceSpan, TextEdit, did_you_mean, listed, nearest
from .documents import report_trap
from .nodes import (
    MappingNode,
    Node,
    Reporter,
    ScalarNode,
    SequenceNode,
    column_of,
    describe,
    point,
    span_of,
)

MAX_ITEMS = 1_000  # of a list: some of what is done with them grows with the square


class Form(Protocol):
    """A kind of value."""

    def read(self, node: Node, reporter: Reporter, label: str) -> Any:
        """Return the value of *node*, or None after reporting; *label* is what to call it."""
        ...

    def schema(self) -> dict[str, Any]:
        """Return the form as JSON Schema."""
        ...


def wrong_type(node: Node, reporter: Reporter, label: str, expected: str) -> None:
    """Report that *node* is not what *label* takes."""
    fix = None
    if isinstance(node, ScalarNode) and node.plain and node.value is not None:
        fix = (TextEdit(span_of(node), f'"{node.text}"'),) if "text" in expected else None
    reporter.report("P103", f"`{label}` is {describe(node)}, expected {expected}", node, fix=fix)


class Text(Struct, frozen=True):
    """Any text."""

    what: str = "a text"

    def read(self, node: Node, reporter: Reporter, label: str) -> str | None:
        """Return the text."""
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
            wrong_type(node, reporter, label, self.what)
            return None
        if node.trap:
            report_trap(node, reporter)
        return node.value

    def schema(self) -> dict[str, Any]:
        """Any string."""
        return {"type": "string"}


class Name(Struct, frozen=True):
    """A name of some kind."""

    pattern: re.Pattern[str]
    what: str

    def read(self, node: Node, reporter: Reporter, label: str) -> str | None:
        """Return the name."""
        text = Text(f"{self.what} (text)").read(node, reporter, label)
        if text is None or self.pattern.fullmatch(text):
            return text
        fix = None
        mended = re.sub(r"[^\w-]+", "_", text.strip()).strip("_")
        if self.pattern.fullmatch(mended):
            fix = (TextEdit(span_of(node), mended),)
        reporter.report("P105", f"`{label}` is {describe(node)}, not {self.what}", node, fix=fix)
        return None

    def schema(self) -> dict[str, Any]:
        """A string with the pattern."""
        return {"type": "string", "pattern": f"^{self.pattern.pattern}$"}


class Boolean(Struct, frozen=True):
    """True or false."""

    def read(self, node: Node, reporter: Reporter, label: str) -> bool | None:
        """Return the boolean; ``yes`` and ``off`` are meant, but have to be written out."""
        if isinstance(node, ScalarNode):
            if isinstance(node.value, bool):
                return node.value
            if node.trap == "a boolean":
                meant = node.text.lower() in ("yes", "on")
                report_trap(node, reporter, instead="true" if meant else "false")
                return meant
        wrong_type(node, reporter, label, "true or false")
        return None

    def schema(self) -> dict[str, Any]:
        """A boolean."""
        return {"type": "boolean"}


class Number(Struct, frozen=True):
    """A number in a range."""

    minimum: float
    maximum: float
    whole: bool = True

    def read(self, node: Node, reporter: Reporter, label: str) -> Any:
        """Return the number."""
        what = "a whole number" if self.whole else "a number"
        value = node.value if isinstance(node, ScalarNode) else None
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            wrong_type(node, reporter, label, what)
            return None
        if self.minimum <= value <= self.maximum:
            return value
        bounds = f"from {self.minimum:g} to {self.maximum:,.15g}"
        reporter.report("P106", f"`{label}` is {describe(node)}, expected {what} {bounds}", node)
        return None

    def schema(self) -> dict[str, Any]:
        """A number with bounds."""
        kind = "integer" if self.whole else "number"
        return {"type": kind, "minimum": self.minimum, "maximum": self.maximum}


class Choice(Struct, frozen=True):
    """One of a few words."""

    words: tuple[str, ...]

    def read(self, node: Node, reporter: Reporter, label: str) -> str | None:
        """Return the word."""
        text = Text(f"one of the texts {listed(self.words)}").read(node, reporter, label)
        if text is None or text in self.words:
            return text
        expected = listed(self.words)
        found = nearest(text, self.words)
        reporter.report(
            "P104",
            f"`{label}` is {describe(node)}, expected one of {expected}",
            node,
            remedy=did_you_mean(text, self.words, "use one of them"),
            fix=(TextEdit(span_of(node), found),) if found else None,
        )
        return None

    def schema(self) -> dict[str, Any]:
        """An enum."""
        return {"enum": list(self.words)}


class ListOf(Struct, frozen=True):
    """A list of one form; with *or_one* a single value counts as a list of one."""

    item: Form
    or_one: bool = False
    minimum: int = 0

    def read(self, node: Node, reporter: Reporter, label: str) -> list[Any] | None:
        """Return the items that could be read."""
        if not isinstance(node, SequenceNode):
            if self.or_one:
                value = self.item.read(node, reporter, label)
                return None if value is None else [value]
            # `gates:` with nothing below is an empty list to the person who wrote it.
            if not isinstance(node, ScalarNode) or node.value is not None:
                wrong_type(node, reporter, label, "a list")
                return None
        items = node.items if isinstance(node, SequenceNode) else []
        if len(items) > MAX_ITEMS:
            message = f"`{label}` has {len(items):,} items, expected at most {MAX_ITEMS:,}"
            reporter.report("P106", message, node)
            items = items[:MAX_ITEMS]
        if len(items) < self.minimum:
            reporter.report("P112", f"`{label}` has no items", node)
        read = [self.item.read(item, reporter, label) for item in items]
        return [value for value in read if value is not None]

    def schema(self) -> dict[str, Any]:
        """An array, or the item by itself."""
        many: dict[str, Any] = {"type": "array", "items": self.item.schema()}
        if self.minimum:
            many["minItems"] = self.minimum
        return {"anyOf": [self.item.schema(), many]} if self.or_one else many


class Key(Struct, frozen=True):
    """A key of a record."""

    form: Form
    doc: str
    required: bool = False
    field: str = ""  # of the Struct, where it is not the key
    insert: str = ""  # offered as a fix where the key is missing
    fallback: Any = None  # used if the key is missing or wrong, so that checking can continue


class MapForm(Struct, frozen=True):
    """A map with known keys, made into a Struct."""

    what: str
    build: Callable[..., Any]
    keys: Mapping[str, Key]
    exclusive: Sequence[tuple[str, str]] = ()
    with_node: bool = True

    def read(self, node: Node, reporter: Reporter, label: str) -> Any:
        """Return the Struct."""
        if not isinstance(node, MappingNode):
            wrong_type(node, reporter, label, f"a map: {self.what}")
            return None
        values = self.read_keys(node, reporter)
        return None if values is None else self.build(**values)

    def read_keys(self, node: MappingNode, reporter: Reporter) -> dict[str, Any] | None:
        """Return the values by field; None if one that is required could not be read."""
        values: dict[str, Any] = {"node": node} if self.with_node else {}
        for name, (key_node, value_node) in node.entries.items():
            key = self.keys.get(name)
            if key is None:
                self._report_unknown(name, key_node, node, reporter)
                continue
            value = key.form.read(value_node, reporter, name)
            if value is not None:
                values[key.field or name] = value
        for one, other in self.exclusive:
            if one in node.entries and other in node.entries:
                message = f"`{one}` and `{other}` cannot both be given"
                reporter.report("P111", message, node.entries[other][0])
        return values if self._is_complete(node, values, reporter) else None

    def schema(self) -> dict[str, Any]:
        """An object with these properties and no others."""
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {
                name: {"description": key.doc, **key.form.schema()}
                for name, key in self.keys.items()
            },
            "additionalProperties": False,
        }
        required = [name for name, key in self.keys.items() if key.required]
        return {**schema, "required": required} if required else schema

    def _is_complete(self, node: MappingNode, values: dict[str, Any], reporter: Reporter) -> bool:
        complete = True
        for name, key in self.keys.items():
            if not key.required or (key.field or name) in values:
                continue
            if key.fallback is None:
                complete = False
            else:
                values[key.field or name] = key.fallback
            if name not in node.entries:
                misspelt = any(self._meant(each, node) == name for each in node.entries)
                fix = insertion(node, key.insert) if key.insert and not misspelt else None
                reporter.report("P102", f"{self.what} needs `{name}:`", node, fix=fix)
        return complete

    def _report_unknown(
        self, name: str, key: ScalarNode, node: MappingNode, reporter: Reporter
    ) -> None:
        if not isinstance(key.value, str):
            return  # reported as it was read
        found = self._meant(name, node)
        given = None if found else nearest(name, self.keys)
        if found:
            remedy = f"did you mean `{found}`?"
        elif given:  # all that is near, and free, would have been meant
            remedy = f"`{given}` is there already: remove one of them"
        else:
            remedy = f"known keys are {listed(self.keys, len(self.keys))}"
        reporter.report(
            "P101",
            f"`{name}` is not a key of {self.what}",
            key,
            remedy=remedy,
            fix=(TextEdit(span_of(key), found),) if found else None,
        )

    def _meant(self, name: str, node: MappingNode) -> str | None:
        """The key that the unknown key *name* of *node* means, if it is not given already."""
        if name in self.keys:
            return None
        free = [key for key in self.keys if key not in node.entries]
        # Events and compiled files have `parameters` for the `with` of a source.
        named = next((key for key in free if self.keys[key].field == name), None)
        found = named or nearest(name, self.keys)
        return found if found in free else None


class OneOf(Struct, frozen=True):
    """A form read by a function, where the shape of the node decides."""

    function: Callable[[Node, Reporter, str], Any]
    schemas: tuple[Callable[[], dict[str, Any]], ...]

    def read(self, node: Node, reporter: Reporter, label: str) -> Any:
        """Return what the function makes of *node*."""
        return self.function(node, reporter, label)

    def schema(self) -> dict[str, Any]:
        """Any of the shapes."""
        shapes = [make() for make in self.schemas]
        return shapes[0] if len(shapes) == 1 else {"anyOf": shapes}


def insertion(node: MappingNode, text: str) -> tuple[TextEdit, ...] | None:
    """Return the edit that adds the entry *text* after the first one of *node*."""
    if node.flow or not node.entries:
        return None
    key, value = next(iter(node.entries.values()))
    if not isinstance(value, ScalarNode):
        return None
    indent = " " * column_of(key.start)
    return (TextEdit(point(value.end), f"\n{indent}{text}"),)


def span_within(node: Node, offset: int, length: int) -> SourceSpan:
    """Return the range of *length* characters at *offset* in the text of *node*."""
    whole = span_of(node)
    if not isinstance(node, ScalarNode) or whole.line != whole.end_line:
        return whole
    quote = 0 if node.plain else 1
    if whole.end_column - whole.column != len(node.text) + 2 * quote:
        return whole  # escapes in it: columns do not follow from offsets
    column = whole.column + quote + offset
    return SourceSpan(whole.line, column, whole.line, column + length)
