"""Where a command writes: a table for people, tab-separated text on a pipe, JSON when asked.

A list of documents is printed by its columns: `{"client": "name", "since": lambda row: ...}` says
for each header which field, or what of a document, stands below it. JSON is the documents as they
are.
"""

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import IO, Any, TypeAlias

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
PAGE = 100  # columns where there is no terminal
LEAST = 30  # columns for a text, however far it is set in
GAP = 2  # columns between those of a table
ABOUT = 20  # columns for what a row is about, while others can give way
NARROWEST = 8  # columns of any other that gives way

_PLAIN = {
    "is not a valid float range": "is not a number",
    "is not a valid integer range": "is not a whole number",
    "is not in the range x>=": "is less than ",
}
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}

STATES = {"ok": "green", "warn": "yellow", "fail": "red"}  # of a check
Columns: TypeAlias = Mapping[str, str | Callable[[Any], str]]


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
        """Columns of the terminal; a width that reads well where there is none."""
        return shutil.get_terminal_size().columns if self.terminal else PAGE

    def cut(self, text: str, lines: int = 1) -> str:
        """*text* as far as it fits *lines* of the terminal, an ellipsis in place of the rest."""
        most = self.width * lines
        return f"{text[: most - 1]}…" if self.terminal and len(text) > most else text

    def table(self, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        """A table, aligned on a terminal and separated by tabs on a pipe."""
        if self.as_json:
            return
        if self.terminal:
            _draw(headers, rows)
            return
        for row in ([header.upper() for header in headers], *rows):
            click.echo("\t".join(re.sub(r"\s+", " ", clean(cell)).strip() for cell in row))

    def rows(
        self, found: Sequence[Any], columns: Columns, *, empty: str = "", known: bool = False
    ) -> None:
        """A list of documents: as JSON, as a table, or the line *empty* where there is none.

        Args:
            found: The documents.
            columns: What of each is shown, by header.
            empty: Where it is "", the headers stand alone.
            known: They were printed as part of a document already.
        """
        if not known:
            self.document(found)
        if found or not empty:
            cells = [[_cell(row, column) for column in columns.values()] for row in found]
            self.table(tuple(columns), cells)
        else:
            self.line(empty)

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


def _draw(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    # Here, not at the top: most commands draw no table, and rich takes its time to load.
    from rich.cells import cell_len, set_cell_size

    lines = [[clean(cell).replace("\n", " ") for cell in row] for row in (headers, *rows)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    words = [any(map(str.isalpha, "".join(column[1:]))) for column in zip(*lines, strict=True)]
    widths = narrowed(widths, words, shutil.get_terminal_size().columns)
    for number, row in enumerate(lines):
        cells = [
            set_cell_size(cell, width)
            if cell_len(cell) <= width
            else set_cell_size(cell, width - 1) + "…"
            for cell, width in zip(row, widths, strict=True)
        ]
        text = (" " * GAP).join(cells).rstrip()
        click.echo(_styled(text, "bold" if number == 0 else "", sys.stdout))


def narrowed(widths: list[int], words: list[bool], most: int) -> list[int]:
    """*widths* that fit *most* columns: one line a row.

    What a row is about, the last column, gives way first, then the widest that holds words; an id,
    the first, never does.
    """
    found = list(widths)
    over = sum(found) + GAP * (len(found) - 1) - most
    last = len(found) - 1
    while over > 0:
        inner = [n for n in range(1, last) if words[n] and found[n] > NARROWEST]
        if found[last] > ABOUT or (not inner and found[last] > NARROWEST):
            place = last
        elif inner:
            place = max(inner, key=found.__getitem__)
        else:
            break
        found[place] -= 1
        over -= 1
    return found


def _styled(text: str, style: str, stream: IO[str]) -> str:
    if not style or not is_terminal(stream) or os.environ.get("NO_COLOR"):
        return text
    codes = ";".join(_STYLES[name] for name in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m"


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
    """In place of the document that the command would have printed."""

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
