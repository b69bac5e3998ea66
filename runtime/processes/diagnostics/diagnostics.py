"""A diagnostic: its place in a source, its message, its remedy, and the name that was meant."""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches
from typing import Literal, TypeAlias

from msgspec import Struct

Severity: TypeAlias = Literal["error", "warning"]
# Codes of findings that name something which is not there, and what kind of thing that is.
KINDS = {
    "P301": "process",
    "P306": "interface",
    "P401": "action",
    "P402": "gate",
    "P403": "topic",
    "P408": "process",
    "P417": "tool",
}
_QUOTED = re.compile(r"`([^`]+)`")
CLOSE = 0.6  # of 1, as difflib measures it
TYPO = 0.8  # what is less close may be the name of something else that is not there
MAX_CANDIDATES = 1_000  # difflib compares with each: beyond this the wait costs more than it gives


class DiagnosticRule(Struct, gc=False, frozen=True):
    """One code: its name, its reason, and its remedy."""

    code: str  # "P101": stable, see docs/diagnostics.md
    title: str
    explanation: str
    remedy: str
    severity: Severity = "error"


class SourceSpan(Struct, gc=False, frozen=True, order=True):
    """A range in a file; lines and columns count from 1, the end is the first column after it."""

    line: int
    column: int
    end_line: int
    end_column: int


class TextEdit(Struct, gc=False, frozen=True):
    """Replace the text in *span* by *text*; an empty span inserts."""

    span: SourceSpan
    text: str


class Diagnostic(Struct, gc=False, frozen=True, kw_only=True):
    """One finding."""

    code: str
    severity: Severity
    message: str  # what is, and what was expected
    file: str
    span: SourceSpan
    remedy: str  # what to do
    fix: tuple[TextEdit, ...] | None = None  # applied together, they do it

    def __str__(self) -> str:
        where = f"{self.file}:{self.span.line}:{self.span.column}"
        return f"{where}: {self.severity} {self.code}: {self.message}; {self.remedy}"


def errors_of(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the errors among *diagnostics*."""
    return tuple(each for each in diagnostics if each.severity == "error")


def apply_edits(text: str, edits: Sequence[TextEdit]) -> str:
    """Return *text* after *edits*, which must not overlap."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        return min(starts[min(line, len(starts)) - 1] + column - 1, len(text))

    # From the last to the first, so that what is still to be edited keeps its place.
    for edit in sorted(edits, key=lambda each: each.span, reverse=True):
        start = offset(edit.span.line, edit.span.column)
        end = offset(edit.span.end_line, edit.span.end_column)
        text = text[:start] + edit.text + text[end:]
    return text


def absent_by(found: Diagnostic) -> str:
    """The missing name in *found*, such as "action fix", or its message if it names none."""
    name, kind = _QUOTED.search(found.message), KINDS.get(found.code)
    return f"{kind} {name[1]}" if kind and name else found.message


def absence(missing: str) -> str:
    """A clause about the problem, from the result of `absent_by`: a name, or a message."""
    kind, _, name = missing.partition(" ")
    is_name = kind in KINDS.values() and name and " " not in name
    return f"{missing} is not there" if is_name else missing


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the name of *known* that is closest to *name*, if one is close.

    Of names with dots what follows the parts that they share has to be close: `a.testing` is not
    meant by `a.reviewing`, however long `a` is.
    """
    name = name[:100]
    letters, room = set(name), 2 + len(name) // 2
    shared = len(letters) / 2
    # What shares too few letters cannot be close, and is dropped before difflib looks at it.
    candidates = [
        each
        for each in sorted(known)[:MAX_CANDIDATES]
        if abs(len(each) - len(name)) <= room and len(letters.intersection(each)) >= shared
    ]
    found = get_close_matches(name, candidates, n=1, cutoff=CLOSE)
    return found[0] if found and _is_close(name, found[0]) else None


def is_typo(name: str, meant: str) -> bool:
    """Whether *name* is so close to *meant* that it hardly is the name of anything else."""
    swapped = sorted(name) == sorted(meant)  # of a short name that is much of it
    return swapped or SequenceMatcher(None, name[:100], meant[:100]).ratio() >= TYPO


def _is_close(name: str, found: str) -> bool:
    own, other = name.split("."), found.split(".")
    while own and other and own[0] == other[0]:
        del own[0], other[0]
    if own == name.split("."):
        return True  # they share no part: difflib has compared all there is
    return SequenceMatcher(None, ".".join(own), ".".join(other)).ratio() >= CLOSE


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a remedy: the nearest of *known*, else *otherwise*."""
    found = nearest(name, known)
    return f"did you mean `{found}`?" if found else otherwise


def listed(names: Iterable[str], limit: int = 12) -> str:
    """Return *names* in words, cut where there are many."""
    known = sorted(names)
    shown = ", ".join(f"`{name}`" for name in known[:limit])
    return f"{shown} and {len(known) - limit} more" if len(known) > limit else shown or "none"
