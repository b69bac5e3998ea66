"""From YAML text to nodes, under bounds: nothing in a file can hang, crash or flood the compiler.

The events of the parser are folded here rather than by PyYAML's composer, so that depth, number of
values, anchors and tags are refused as they appear. Scalars are read by the YAML 1.2 core schema;
those that a YAML 1.1 reader takes for something else carry a trap, reported where it is used.
"""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from cortex.runtime.secrets import holds_mask

from ..diagnostics.diagnostics import SourceSpan, TextEdit
from .nodes import (
    COLUMN_BITS,
    MAX_SIZE_BYTES,
    MappingNode,
    Node,
    Reporter,
    ScalarNode,
    SequenceNode,
    place_of,
    point,
    shortened,
    span_of,
)

MAX_DEPTH = 64
MAX_VALUES = 200_000  # a full MiB of `[],` would take gigabytes as nodes
MAX_SYNTAX_ERRORS = 20  # each one re-reads the rest of the file

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DOCUMENT_START = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?P<fraction>\.[0-9]*)?(?P<exponent>[eE][-+]?[0-9]+)?")
_MAY_BE_TYPED = frozenset("0123456789+-.~nNtTfFyYoO")
_CONSTANTS: Mapping[str, Any] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}
_TRAPS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"yes|Yes|YES|on|On|ON|no|No|NO|off|Off|OFF"), "a boolean"),
    (re.compile(r"[-+]?0[0-9_]+|[-+]?0o[0-7_]+"), "an octal number"),
    (re.compile(r"[-+]?0x[0-9a-fA-F_]+|[-+]?0b[01_]+"), "a hexadecimal or binary number"),
    (re.compile(r"[-+]?[0-9][0-9_]*_[0-9_]*(\.[0-9_]*)?"), "a number"),
    (re.compile(r"[-+]?[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?"), "a number to the base of 60"),
    (re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?"), "a date"),
    (re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"), "no finite number"),
    (re.compile(r"[-+]?\.[0-9]+([eE][-+]?[0-9]+)?"), "a number"),
)
_LARGEST = 2**63 - 1


class _RefusedError(Exception):
    """The rest of the document, or of the file, is not read; why has been reported."""

    def __init__(self, *, whole_file: bool) -> None:
        super().__init__(whole_file)
        self.whole_file = whole_file


def read_documents(text: str, reporter: Reporter) -> list[Node]:
    """Return the documents of *text*; what is wrong with it goes to *reporter*."""
    if not _is_readable(text, reporter):
        return []
    documents: list[Node] = []
    rest = text
    for _ in range(MAX_SYNTAX_ERRORS):
        builder = _Builder(rest, reporter, documents)
        try:
            builder.run()
            return documents
        except _RefusedError as refused:
            if refused.whole_file:
                break
        except yaml.YAMLError as error:
            _report_syntax(error, text, reporter)
        # Continue with the next document. Lines are kept, so that places stay right.
        following = _next_document(text, builder.line)
        if following is None:
            break
        rest = following
    return documents


def _is_readable(text: str, reporter: Reporter) -> bool:
    start = SourceSpan(1, 1, 1, 1)
    if len(text) > MAX_SIZE_BYTES or len(text.encode(errors="replace")) > MAX_SIZE_BYTES:
        reporter.report("P001", f"the file has more than {MAX_SIZE_BYTES:,} bytes", start)
        return False
    forbidden = _FORBIDDEN.search(text)
    if forbidden:
        before = text[: forbidden.start()]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        character = f"U+{ord(forbidden.group()):04X}"
        span = SourceSpan(line, column, line, column + 1)
        reporter.report("P003", f"the character {character} is not allowed in a source", span)
        return False
    return True


def _report_syntax(error: yaml.YAMLError, text: str, reporter: Reporter) -> None:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    context = getattr(error, "context", None)
    line, column = (mark.line, mark.column) if mark else (0, 0)
    lines = text.splitlines()
    for number in (line, line - 1):
        content = lines[number] if 0 <= number < len(lines) else ""
        indentation = content[: len(content) - len(content.lstrip())]
        if "\t" in indentation:
            place = indentation.index("\t") + 1
            span = SourceSpan(number + 1, place, number + 1, len(indentation) + 1)
            fix = (TextEdit(span, "  " * (len(indentation) + 1 - place)),)
            reporter.report("P013", "this line is indented by a tab", span, fix=fix)
            return
    message = f"{problem} {context}".strip() if context else str(problem)
    content = lines[line] if line < len(lines) else ""
    remedy = "inside {...} and [...] put `${...}` in quotes" if "${" in content else None
    where = SourceSpan(line + 1, column + 1, line + 1, column + 1)
    reporter.report("P002", message, where, remedy=remedy)


def _next_document(text: str, line: int) -> str | None:
    offset = 0
    for _ in range(line):
        end = text.find("\n", offset)
        if end < 0:
            return None
        offset = end + 1
    found = _DOCUMENT_START.search(text, offset)
    if found and found.start() == offset:  # the document itself
        found = _DOCUMENT_START.search(text, offset + 3)
    if not found:
        return None
    return "\n" * text.count("\n", 0, found.start()) + text[found.start() :]


class _Builder:
    """Folds the events of one parser into documents."""

    def __init__(self, text: str, reporter: Reporter, documents: list[Node]) -> None:
        self._parser = _Loader(text)
        self._reporter = reporter
        self._documents = documents
        self._stack: list[SequenceNode | MappingNode] = []
        self._keys: list[ScalarNode | None] = []  # of each open map: the key that waits
        self._values = 0
        self.line = len(text) - len(text.lstrip("\n"))  # where the current document starts

    def run(self) -> None:
        # One loop over a closed set of events, the commonest first: this is the hot path.
        next_event, add, may_be_typed = self._parser.get_event, self._add, _MAY_BE_TYPED
        while True:
            event = next_event()
            kind = type(event)
            if kind is yaml.ScalarEvent:
                if event.anchor is not None or event.tag is not None:
                    self._check_properties(event)
                text, start, end = event.value, event.start_mark, event.end_mark
                plain = not event.style
                first = start.line << COLUMN_BITS | start.column  # place_of, without the call
                last = end.line << COLUMN_BITS | end.column
                node = ScalarNode(text, text, plain, first, last)
                if plain and (not text or text[0] in may_be_typed):
                    _resolve(node)
                add(node)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self._check_properties(event)
                node_type = MappingNode if kind is yaml.MappingStartEvent else SequenceNode
                start = event.start_mark
                place = place_of(start.line, start.column)
                self._open(node_type(place, bool(event.flow_style)))
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                self._close(event)
            elif kind is yaml.AliasEvent:
                self._refuse("P006", f"*{event.anchor} is an alias", event)
            elif kind is yaml.DocumentStartEvent:
                self.line = event.start_mark.line
            elif event is None or kind is yaml.StreamEndEvent:
                return

    def _check_properties(self, event: Any) -> None:
        if event.anchor is not None:
            self._refuse("P006", f"&{event.anchor} is an anchor", event)
        if event.tag is not None:
            self._refuse("P007", f"{event.tag} is a tag", event)

    def _open(self, node: SequenceNode | MappingNode) -> None:
        if len(self._stack) >= MAX_DEPTH:
            mark = point(node.start)
            self._reporter.report("P004", f"nested deeper than {MAX_DEPTH} levels", mark)
            raise _RefusedError(whole_file=False)
        self._stack.append(node)
        self._keys.append(None)

    def _close(self, event: Any) -> None:
        node = self._stack.pop()
        self._keys.pop()
        node.end = place_of(event.end_mark.line, event.end_mark.column)
        self._add(node)

    def _add(self, node: Node) -> None:
        self._values += 1
        if isinstance(node, ScalarNode) and holds_mask(node.text):
            self._reporter.report("P015", "a secret is written here", node)
        if self._values > MAX_VALUES:
            self._reporter.report("P005", f"more than {MAX_VALUES:,} values", point(node.start))
            raise _RefusedError(whole_file=True)
        if not self._stack:
            self._documents.append(node)
            return
        parent = self._stack[-1]
        if isinstance(parent, SequenceNode):
            parent.items.append(node)
            return
        key = self._keys[-1]
        if key is None:
            self._keys[-1] = self._as_key(node)
            return
        self._keys[-1] = None
        if key.text in parent.entries:
            self._reporter.report("P009", f"{shortened(key.text)} is given twice", key)
        else:
            parent.entries[key.text] = (key, node)

    def _as_key(self, node: Node) -> ScalarNode:
        if not isinstance(node, ScalarNode):
            self._reporter.report("P010", "a list or map cannot be a key", point(node.start))
            return ScalarNode("", f"\0{self._values}", True, node.start, node.start)
        if node.plain and node.text == "<<":
            self._reporter.report("P006", "`<<` is a merge key", node)
        if not isinstance(node.value, str):
            fix = (TextEdit(span_of(node), f'"{node.text}"'),)
            what = "nothing" if node.value is None else node.text
            self._reporter.report("P010", f"the key {what} is not a string", node, fix=fix)
        return node

    def _refuse(self, code: str, message: str, event: Any) -> None:
        start, end = event.start_mark, event.end_mark
        span = SourceSpan(start.line + 1, start.column + 1, end.line + 1, end.column + 1)
        self._reporter.report(code, message, span)
        raise _RefusedError(whole_file=False)


def _resolve(node: ScalarNode) -> None:
    """Give the plain scalar *node* its value."""
    text = node.text
    if text in _CONSTANTS:
        node.value = _CONSTANTS[text]
        return
    number = _NUMBER.fullmatch(text)
    if number:
        _resolve_number(node, whole=not (number["fraction"] or number["exponent"]))
        return
    node.trap = next((what for pattern, what in _TRAPS if pattern.fullmatch(text)), None)


def _resolve_number(node: ScalarNode, *, whole: bool) -> None:
    value: int | float
    # Twenty digits do not fit either way, and int() refuses thousands.
    value = int(node.text) if whole and len(node.text) <= 20 else float(node.text)
    if (whole and abs(value) > _LARGEST) or value in (float("inf"), float("-inf")):
        node.trap = "a number that is too large to be exact"
    else:
        node.value = value


def report_trap(node: ScalarNode, reporter: Reporter, *, instead: str | None = None) -> None:
    """Report that *node* means different things to different readers; *instead* replaces it."""
    span = span_of(node)
    reporter.report(
        "P008",
        f"unquoted {shortened(node.text)} is {node.trap} to some YAML readers",
        node,
        remedy=f"write {instead}" if instead else f'put it in quotes: "{node.text}"',
        fix=(TextEdit(span, instead or f'"{node.text}"'),),
    )
