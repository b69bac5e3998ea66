"""`cortex process validate`: what the compiler says of sources, without running anything."""

import difflib
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec.structs import replace

from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home, NotFoundError, many
from cortex.runtime.processes import (
    Diagnostic,
    apply_fixes,
    compile_sources,
    errors_of,
    known_sources,
    read_folder,
    read_source,
    with_kept_fixes,
)
from cortex.runtime.processes.catalog import Catalog
from cortex.runtime.serving import found as hub_on
from cortex.runtime.sessions import mask_of, sources_of, symbols_of, topics_of

from ..exits import FAILED, OK
from ..options import with_any_home, with_screen
from ..screen import Screen

_STYLES = {"error": "red", "warning": "yellow"}
_UNSERVED = ("P401", "P402")


class ValidateDocument(msgspec.Struct):
    """What the compiler says of the sources that were named."""

    files: list[str]
    errors: int
    warnings: int
    diagnostics: list[Diagnostic]


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="FILE_OR_FOLDER...")
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option("--fix", is_flag=True, help="Show the available fixes and apply them.")
@with_any_home
@with_screen
def validate(paths: tuple[Path, ...], strict: bool, fix: bool, home: Home, screen: Screen) -> int:
    """Check sources: FILE:LINE:COLUMN: severity, code, what is wrong; then what to do.

    Without a name, it checks the processes of the home. It compiles the sources together with the
    processes of the home and of the library, which they may extend or run. The components of the
    home, its plugins and, while a hub is up, its workers serve the actions and gates.
    """
    sources, problems = _named(paths or (home.processes,), required=bool(paths))
    checker = _Checker(home, strict=strict)
    if fix:
        sources, found = _fixed(checker, sources, screen)
    else:
        found = with_kept_fixes(sources, checker.check)
    found = sorted([*problems, *found], key=lambda each: (each.file, each.span))
    errors = found if strict else list(errors_of(found))
    screen.document(ValidateDocument(sorted(sources), len(errors), len(found) - len(errors), found))
    for each in found:
        where = f"{each.file}:{each.span.line}:{each.span.column}"
        severity = "error" if strict else each.severity
        screen.line(f"{where}: {severity} {each.code} {each.message}", _STYLES[severity])
        screen.line(f"    {each.remedy}" + ("  (--fix does it)" if each.fix else ""), "dim")
    if not (paths or sources):
        screen.line(f"no sources in {home.processes}: name a FILE_OR_FOLDER", "dim")
    screen.line(
        f"{many(len(sources), 'file')}, {many(len(errors), 'error')}, "
        f"{many(len(found) - len(errors), 'warning')}"
    )
    return FAILED if errors else OK


class _Checker:
    """Compiles sources beside those of a home; compiled again, only what changed is looked at."""

    def __init__(self, home: Home, *, strict: bool) -> None:
        self._symbols, self._topics, self._strict = symbols_of(home), topics_of(home), strict
        self._around = sources_of(home).texts
        self._up = hub_on(home) is not None
        self._mask = mask_of(home)
        self._previous: Any = None
        self._known: dict[tuple[str, int], str] = {}
        if home.path.exists():
            with History.open(home) as history:
                compiled = Catalog(history).compiled
            self._known = known_sources(each.event for each in compiled.values())

    def check(self, sources: dict[str, str]) -> list[Diagnostic]:
        """The diagnostics of *sources*."""
        masked = {file: self._mask.text(text) for file, text in sources.items()}
        absolute = {str(Path(file).absolute()): file for file in sources}
        around = {f: text for f, text in self._around.items() if f not in absolute}
        self._previous = compile_sources(
            {**around, **masked},
            self._symbols,
            self._topics,
            known=self._known,
            strict=self._strict,
            previous=self._previous,
        )
        found = [
            # Places after a mask are not those of the file, which is what a fix would change.
            each if masked[each.file] == sources[each.file] else replace(each, fix=None)
            for each in self._previous.diagnostics
            if each.file in sources
        ]
        return found if self._up else [_with_absent(each) for each in found]


def _with_absent(diagnostic: Diagnostic) -> Diagnostic:
    """What is unknown here may be served by somebody whom only a hub knows, and none is up."""
    if diagnostic.code not in _UNSERVED or diagnostic.fix:
        return diagnostic
    return msgspec.structs.replace(
        diagnostic,
        message=diagnostic.message.replace("no component", "no component here", 1)
        + ": a worker or a plugin must",
        remedy=f"{diagnostic.remedy}; no hub is up that could be asked: `cortex up`",
    )


def _named(paths: tuple[Path, ...], *, required: bool) -> tuple[dict[str, str], list[Diagnostic]]:
    sources: dict[str, str] = {}
    problems: list[Diagnostic] = []
    for path in paths:
        if path.is_dir():
            texts, found = read_folder(path)
            sources |= {str(path / name): text for name, text in texts.items()}
            problems += [msgspec.structs.replace(p, file=str(path / p.file)) for p in found]
        elif path.exists():
            text, found = read_source(path, str(path))
            problems += found
            if text is not None:
                sources[str(path)] = text
        elif required:
            raise NotFoundError("file", str(path), "is not there: check the path")
    return sources, problems


def _fixed(
    checker: _Checker, sources: dict[str, str], screen: Screen
) -> tuple[dict[str, str], list[Diagnostic]]:
    """Apply the fixes that hold; show and write the result."""
    texts, found = apply_fixes(sources, checker.check)
    for file, text in texts.items():
        if text == sources[file]:
            continue
        before, after = (each.splitlines() for each in (sources[file], text))
        for line in difflib.unified_diff(before, after, file, file, lineterm=""):
            screen.line(line, "green" if line[0] == "+" else "red" if line[0] == "-" else "dim")
        Path(file).write_text(text, encoding="utf-8")
        screen.note(f"wrote {file}")
    return texts, found
