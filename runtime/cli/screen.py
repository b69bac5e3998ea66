"""Where a command writes: a table for people, tab-separated text on a pipe, JSON when asked.

Columns choose what is printed of documents: `{"client": "name", "since": lambda row: ...}` gives
for each header a field, or a function of the document. JSON prints the documents unchanged.
"""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, Any, NamedTuple, TypeAlias

import click
import msgspec

from .exits import exit_code_of

# What a log or a model wrote must not move the cursor, change the colours of a terminal, set its
# title, or turn the direction in which a line is read.
_CONTROL = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)

SAID = "cortex.said"  # in a context's `meta`, once a command printed its document
PAGE = 100  # columns without a terminal
LEAST = 30  # columns for a text, however far it is set in
STEP = "  "  # by which a tree without a terminal is set in

_PLAIN = {
    "is not a valid float range": "is not a number",
    "is not a valid integer range": "is not a whole number",
    "is not in the range x>=": "is less than ",
}
_WEIGHTS = ("bold", "dim")  # all else in a style is a colour

STATES = {"ok": "green", "warn": "yellow", "fail": "red"}  # of a check
Columns: TypeAlias = Mapping[str, str | Callable[[Any], str]]


class Branch(NamedTuple):
    """An entry of a tree."""

    name: str
    parent: str  # the name of the entry around it, which comes before it; "" at the top
    columns: str  # what the tree has of each entry, in one width
    text: str
    style: str = ""
    details: Sequence[str] = ()  # below the text


class Screen:
    """Standard output and standard error of one command."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.terminal = is_terminal(sys.stdout)

    def line(self, text: str = "", style: str = "") -> None:
        """One line for people; nothing where JSON was asked for."""
        if not self.as_json:
            click.echo(_styled(clean(text), style, sys.stdout))

    def paragraph(self, text: str, *, lead: str = "", style: str = "") -> None:
        """A text that a terminal gets in lines that fit, all behind *lead*; elsewhere one line."""
        parts = [text]
        if self.terminal:
            width = max(LEAST, self.width - len(lead))
            # A path or a digest is copied whole.
            parts = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
        for number, part in enumerate(parts or [""]):
            self.line(f"{' ' * len(lead) if number else lead}{part}".rstrip(), style)

    def block(self, text: str) -> None:
        """A text of several lines, as it is."""
        for line in text.rstrip("\n").split("\n"):
            self.line(line)

    def note(self, text: str, style: str = "", *, lead: str = "") -> None:
        """How it goes, on standard error: it is no part of the result.

        With a *lead*, which comes before *text*, that alone is styled.
        """
        plain = clean(text)
        said = f"{_styled(lead, style, sys.stderr)}{plain}" if lead else ""
        click.echo(said or _styled(plain, style, sys.stderr), err=True)

    def warn(self, text: str) -> None:
        """A note on what is wrong and keeps nothing from being done."""
        self.note(text, "yellow")

    @property
    def width(self) -> int:
        """Columns of the terminal, or a readable width without one."""
        return shutil.get_terminal_size().columns if self.terminal else PAGE

    def cut(self, text: str, lines: int = 1) -> str:
        """*text* as far as it fits *lines* of the terminal, an ellipsis in place of the rest."""
        if not self.terminal:
            return text
        from rich.cells import cell_len, set_cell_size

        most = self.width * lines
        return text if cell_len(text) <= most else f"{set_cell_size(text, most - 1)}…"

    def rows(
        self, found: Sequence[Any], columns: Columns, *, empty: str = "", known: bool = False
    ) -> None:
        """Print documents as JSON or as a table; without any, the line *empty*.

        Args:
            found: The documents.
            columns: The field or function of each header.
            empty: If "", the headers are printed alone.
            known: The documents were already printed as part of another.
        """
        if not known:
            self.document(found)
        if self.as_json:
            return
        if found or not empty:
            cells = [[_cell(row, column) for column in columns.values()] for row in found]
            self._table(tuple(columns), cells)
        else:
            self.line(empty)

    def _table(self, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        lines = [[" ".join(clean(cell).split()) for cell in row] for row in rows]
        if self.terminal:
            from .drawing import draw_table

            draw_table(headers, lines, self.width)
        else:
            self.lines("\t".join(row) for row in (map(str.upper, headers), *lines))

    def tree(self, branches: Iterable[Branch], margin: str = "") -> None:
        """A tree: a terminal has the columns of its entries at the right, a pipe in front."""
        if self.as_json:
            return
        if self.terminal:
            from .drawing import draw_tree

            draw_tree(branches, margin, self.width)
            return
        depths: dict[str, int] = {}
        for each in branches:
            depths[each.name] = depth = depths.get(each.parent, -1) + 1
            lead = f"{STEP}{margin}{STEP * depth}"
            self.line(f"{each.columns}{lead}{each.text}")
            lead = f"{'':{len(each.columns)}}{lead}{STEP}"
            self.lines(f"{lead}{line}" for text in each.details for line in text.splitlines())

    def lines(self, lines: Iterable[str], style: str = "") -> None:
        """Several lines."""
        for line in lines:
            self.line(line, style)

    def facts(self, facts: Iterable[tuple[str, str]], margin: str = "") -> None:
        """Names in a column, each with its text behind it; those without a text are left out."""
        for name, text in facts:
            if text:
                self.paragraph(text, lead=f"{margin}{name:<10} ")

    def notes(self, notes: Iterable[str], style: str = "yellow") -> None:
        """Several notes, on standard error."""
        for note in notes:
            self.note(note, style)

    def document(self, value: Any) -> None:
        """The one JSON document of this command; nothing unless JSON was asked for."""
        if self.as_json:
            click.echo(msgspec.json.format(msgspec.json.encode(value), indent=2))
            if context := click.get_current_context(silent=True):
                context.meta[SAID] = True

    def record(self, value: Any) -> None:
        """One JSON document of a stream of them, on a line of its own."""
        if self.as_json:
            click.echo(msgspec.json.encode(value))


def _cell(row: Any, column: str | Callable[[Any], str]) -> str:
    if callable(column):
        return column(row)
    value = getattr(row, column)
    return f"{value:,}" if isinstance(value, int) else str(value)


def clean(text: str) -> str:
    """*text* without what would act on a terminal."""
    return _CONTROL.sub("", text)


def _styled(text: str, style: str, stream: IO[str]) -> str:
    if not style or not is_terminal(stream) or os.environ.get("NO_COLOR"):
        return text
    words = style.split()
    colour = next((word for word in words if word not in _WEIGHTS), None)
    return click.style(text, colour, **{word: True for word in _WEIGHTS if word in words})


def is_terminal(stream: IO[str]) -> bool:
    """Whether *stream* shows what is written to it to a person, in place and in colours."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class Failure(msgspec.Struct):
    """Why a command failed."""

    kind: str  # NotFoundError, UsageError, ...: what a program can act on
    message: str  # as on standard error
    exit_code: int
    fields: dict[str, Any] = {}  # of this kind: an execution's id, the question it asks, ...


class FailureDocument(msgspec.Struct):
    """Printed in place of the command's own document, if the command failed."""

    error: Failure


def show_failure(context: click.Context, error: Exception) -> None:
    """Print *error* as a line of JSON, unless the command has printed its document already."""
    if context.meta.get(SAID):
        return
    click.echo(msgspec.json.encode(FailureDocument(_failure(error)), enc_hook=str))


def _failure(error: Exception) -> Failure:
    kind = type(error).__name__
    if isinstance(error, click.UsageError):
        return Failure("UsageError", said_of(error), error.exit_code)
    if isinstance(error, click.ClickException):
        return Failure(kind, error.format_message(), error.exit_code)
    # Here, not at the top: `cortex --help` gets along without the bus.
    from cortex.bus import CortexError

    fields = dict(vars(error)) if isinstance(error, CortexError) else {}
    return Failure(kind, str(error), exit_code_of(error), fields)


def said_of(error: click.UsageError) -> str:
    """What is wrong with a command line; of a type in plain words, where click has its own."""
    said = error.format_message().rstrip(".")
    for jargon, plain in _PLAIN.items():
        said = said.replace(jargon, plain)
    return said
