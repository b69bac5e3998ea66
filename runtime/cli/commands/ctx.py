"""`cortex ctx`: text for models in fewer tokens, exact for data and condensed for prose."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from cortex.runtime.context import TokenCounter
from cortex.runtime.ctx import (
    KINDS,
    CtxFormatError,
    CtxSourceError,
    Kind,
    Package,
    condense,
    decode,
    encode,
    extract,
    kind_of,
)
from cortex.runtime.ctx import check as check_package
from cortex.runtime.kernel import RefusedError, many

from ..exits import FAILED, OK
from ..options import with_screen
from ..screen import Columns, Screen
from ..tree import Family

FILE_BYTES = 64_000_000  # a model never reads more
SHOWN = 20  # losses that are listed
PROSE = ("markdown", "text")
_FILE = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


class CheckDocument(msgspec.Struct):
    """Whether a package contains everything in its source."""

    mode: str
    holds: bool
    lost: list[str]
    unkept: list[str]


class StatsRow(msgspec.Struct):
    """The tokens of one file, as it is and as a package."""

    file: str
    kind: str
    mode: str
    source_tokens: int
    tokens: int
    saved_percent: float


def _with_kind(function: Any) -> Any:
    option = click.option(
        "--kind",
        type=click.Choice(KINDS),
        help="The kind of the source, if its name does not show it.",
    )
    return option(function)


@click.group(cls=Family)
def ctx() -> None:
    """Write data and prose in fewer tokens, for models to read."""


@ctx.command("encode")
@click.argument("file", type=_FILE, default="-")
@_with_kind
@click.option("--condense", "condensed", is_flag=True, help="Condense prose; all facts stay.")
@click.option(
    "--legend",
    "named",
    is_flag=True,
    help="With --condense: give long repeated phrases a name of one character.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    metavar="TOKENS",
    help="Extract prose: the sentences that together say most in so many tokens, unchanged.",
)
@click.option("--question", default="", help="With --budget: what you read the text for.")
@click.option(
    "--draft", type=_FILE, help="A condensation of FILE; the command puts back lost facts."
)
@with_screen
def encode_(
    file: Path,
    kind: Kind | None,
    condensed: bool,
    named: bool,
    budget: int | None,
    question: str,
    draft: Path | None,
    screen: Screen,
) -> None:
    """Encode FILE, or standard input, and print the package.

    Data (JSON, JSON Lines, YAML, TOML, CSV) and logs are exact: `cortex ctx decode` restores them.
    Prose is exact, too, unless you give --condense, --budget or --draft.
    """
    if budget is not None:
        _print(_extracted(file, kind, budget, question, condensed or draft is not None), screen)
        return
    if question:
        raise RefusedError("--question is for --budget: add --budget TOKENS")
    if draft is not None and str(file) == str(draft) == "-":
        raise RefusedError("FILE and --draft are both standard input: give one of them by name")
    if named and not condensed and draft is None:
        raise RefusedError("--legend is for condensed prose: add --condense")
    package = _package(file, kind, condensed, draft, named=named)
    if draft is not None and package.mode != "drafted":
        screen.note("the draft was rejected: the package contains the source itself", "yellow")
    _print(package, screen)


def _print(package: Package, screen: Screen) -> None:
    for each in package.unkept:
        screen.note(f"not kept: {each}", "yellow")
    screen.document(package)
    if not screen.as_json:
        click.echo(package.text)


def _extracted(
    file: Path, kind: Kind | None, budget: int, question: str, shortened: bool
) -> Package:
    if shortened:
        raise RefusedError("--budget takes sentences as they are: leave out --condense and --draft")
    text = _read(file)
    kind = kind or kind_of(text, file.name)
    if kind not in PROSE:
        raise RefusedError(f"--budget is for prose, and {_name(file)} is {kind}: leave it out")
    package = extract(text, kind, tokens=budget, counter=TokenCounter(), question=question)
    if text.strip() and not decode(package.text).data:
        raise RefusedError(
            f"no sentence of {_name(file)} fits in {many(budget, 'token')}: give more"
        )
    return package


@ctx.command("decode")
@click.argument("file", type=_FILE, default="-")
@with_screen
def decode_(file: Path, screen: Screen) -> None:
    """Decode a package in FILE or standard input; print its source.

    Data comes back equal, with its comments, in its order and in its kind. (TOML comes back as
    JSON, and so does data whose shortest form was compact JSON.) Logs come back byte for byte. A
    condensed text is printed with its legend written out.
    """
    text = _read(file).removesuffix("\n")
    with _about(file):
        found = decode(text)
        source = found.source()
    screen.document({"mode": found.mode, "kind": found.kind, "source": source})
    if not screen.as_json:
        click.echo(source, nl=not source.endswith("\n"))


@ctx.command("check")
@click.argument("source", type=_FILE)
@click.argument("package", type=_FILE)
@_with_kind
@with_screen
def check_(source: Path, package: Path, kind: Kind | None, screen: Screen) -> int:
    """Check that PACKAGE contains what SOURCE says; ends with 1 if something is lost.

    For an exact package it checks data, order and comments; for a condensed one every number, name,
    date, quantity, address, code, quotation, negation, condition and modal.
    """
    if str(source) == str(package) == "-":
        raise RefusedError("SOURCE and PACKAGE are both standard input: give one of them by name")
    text, made = _read(source), _read(package).removesuffix("\n")
    with _about(source, package):
        report = check_package(text, kind or kind_of(text, source.name), made)
    screen.document(CheckDocument(report.mode, report.holds, report.lost, report.unkept))
    screen.lines((f"lost: {each}" for each in report.lost[:SHOWN]), "red")
    if len(report.lost) > SHOWN:
        screen.line(f"and {len(report.lost) - SHOWN} more", "dim")
    screen.lines((f"not kept: {each}" for each in report.unkept), "yellow")
    if report.holds:
        held = "the data is equal" if report.unkept else "nothing is lost"
        screen.line(f"{report.mode}: {held}", "green")
    return OK if report.holds else FAILED


@ctx.command()
@click.argument("files", nargs=-1, required=True, type=_FILE, metavar="FILE...")
@_with_kind
@click.option("--condense", "condensed", is_flag=True, help="Condense prose.")
@with_screen
def stats(files: tuple[Path, ...], kind: Kind | None, condensed: bool, screen: Screen) -> None:
    """Count the tokens of every FILE, unchanged and as a package."""
    rows = []
    for file in files:
        package = _package(file, kind, condensed, None)
        saved = 100 * package.tokens_saved / package.source_tokens if package.source_tokens else 0
        rows.append(
            StatsRow(
                str(file),
                package.kind,
                package.mode,
                package.source_tokens,
                package.tokens,
                round(saved, 1),
            )
        )
    screen.rows(rows, COLUMNS)


def _saved(row: StatsRow) -> str:
    more = row.tokens - row.source_tokens
    # A text of some words is shorter than any header.
    return f"{row.saved_percent} %" if more <= 0 else f"none, {more:,} more"


COLUMNS: Columns = {
    "file": "file",
    "kind": "kind",
    "mode": "mode",
    "source": "source_tokens",
    "package": "tokens",
    "saved": _saved,
}


def _package(
    file: Path, kind: Kind | None, condensed: bool, draft: Path | None, *, named: bool = False
) -> Package:
    text = _read(file)
    kind = kind or kind_of(text, file.name)
    if draft is not None and kind not in PROSE:
        raise RefusedError(f"--draft is for prose, and {_name(file)} is {kind}: leave it out")
    with _about(file):
        if draft is not None or (condensed and kind in PROSE):
            shorter = None if draft is None else _read(draft)
            return condense(text, kind, counter=TokenCounter(), draft=shorter, named=named)
        return encode(text, kind, counter=TokenCounter())


@contextmanager
def _about(source: Path, package: Path | None = None) -> Iterator[None]:
    """What goes wrong within names its file."""
    try:
        yield
    except CtxSourceError as error:
        error.file = _name(source)
        raise
    except CtxFormatError as error:
        error.file = _name(package or source)
        raise


def _name(file: Path) -> str:
    return "standard input" if str(file) == "-" else str(file)


def _read(file: Path) -> str:
    """The text of *file*; `-` is standard input."""
    name = _name(file)
    if str(file) == "-":
        data = sys.stdin.buffer.read(FILE_BYTES + 1)
    else:
        with file.open("rb") as source:
            data = source.read(FILE_BYTES + 1)
    if len(data) > FILE_BYTES:
        raise RefusedError(f"{name} is larger than {FILE_BYTES // 1_000_000} MB: split it")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise RefusedError(
            f"{name} is not UTF-8 at byte {error.start + 1:,}: convert it, for instance with iconv"
        ) from error
