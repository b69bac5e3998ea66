"""Stage one: from text to syntax trees, with all errors within the file itself."""

from bisect import bisect_left, bisect_right

from msgspec import Struct

from cortex.runtime.registry import digest_of

from ..diagnostics.diagnostics import Diagnostic, SourceSpan, did_you_mean
from ..syntax.definitions import Definition
from ..syntax.documents import read_documents
from ..syntax.nodes import MappingNode, Node, Reporter, ScalarNode, line_of
from ..syntax.readers import plain_value
from .language import INTERFACE, PROCESS


class Parsed(Struct, frozen=True, kw_only=True):
    """The definitions of one file, and what was found wrong while they were read."""

    file: str
    text: str
    definitions: tuple[Definition, ...]
    diagnostics: tuple[Diagnostic, ...]
    renamed: frozenset[str] = frozenset()  # names that a shipped file left to a user's processes


def parse(text: str, file: str) -> Parsed:
    """Return the processes and interfaces in *text*; never raises, whatever the text is."""
    reporter = Reporter(file)
    documents = read_documents(text, reporter)
    # A `---` at the end, or a file of comments, makes an empty document.
    written = [node for node in documents if not _is_empty(node)]
    if not written and not reporter.found:
        reporter.report(
            "P012", "the file holds no process and no interface", SourceSpan(1, 1, 1, 1)
        )
    read = [_define(node, file, reporter) for node in written]
    definitions = tuple(each for each in read if each is not None)
    _mark_broken(definitions, [line_of(node.start) + 1 for node in documents], reporter.found)
    found = tuple(sorted(reporter.found, key=lambda each: each.span))
    return Parsed(file=file, text=text, definitions=definitions, diagnostics=found)


def _mark_broken(
    definitions: tuple[Definition, ...], starts: list[int], found: list[Diagnostic]
) -> None:
    """Mark each definition that has an error between its start and the next document."""
    lines = sorted(each.span.line for each in found if each.severity == "error")
    for definition in definitions:
        first = line_of(definition.node.start) + 1
        following = bisect_right(starts, first)
        last = starts[following] if following < len(starts) else None
        until = len(lines) if last is None else bisect_left(lines, last)
        definition.broken = bisect_left(lines, first) < until


def _is_empty(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.plain and node.value is None


def _define(node: Node, file: str, reporter: Reporter) -> Definition | None:
    if not isinstance(node, MappingNode):
        reporter.report("P011", "the document is not a map", node)
        return None
    kinds = [kind for kind in ("process", "interface") if kind in node.entries]
    if len(kinds) != 1:
        found = (
            "both `process:` and `interface:`" if kinds else "neither `process:` nor `interface:`"
        )
        remedy = None
        if not kinds and node.entries:
            first = next(iter(node.entries))
            remedy = did_you_mean(first, ("process", "interface"), "") or None
        reporter.report("P011", f"the document has {found}", node, remedy=remedy)
        return None
    record = PROCESS if kinds == ["process"] else INTERFACE
    definition: Definition | None = record.read(node, reporter, kinds[0])
    if definition is not None:
        definition.file = file
        # Over the data, not the text: layout, comments and the order of keys are no new version.
        definition.source_digest = digest_of(plain_value(node))
    return definition
