"""Compiles sources of processes for their diagnostics, without running anything."""

from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home, NotFoundError
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

UNSERVED = ("P401", "P402")


class ValidateDocument(msgspec.Struct):
    """The diagnostics of the named sources."""

    files: list[str]
    errors: int
    warnings: int
    diagnostics: list[Diagnostic]


def validated(
    home: Home, paths: tuple[Path, ...], *, strict: bool = False, fix: bool = False
) -> tuple[ValidateDocument, dict[str, tuple[str, str]]]:
    """Check sources together with the processes of *home* and of the library.

    Args:
        home: Its processes, components and workers may be used.
        paths: Files and folders; without any the processes of the home.
        strict: Warnings count as errors.
        fix: Write the fixes that hold.

    Returns:
        What is wrong (still, after the fixes), and the text of each fixed file before and after.

    Raises:
        NotFoundError: A path is not there.
    """
    sources, problems = _named(paths or (home.processes,), required=bool(paths))
    checker = _Checker(home, strict=strict)
    fixed: dict[str, tuple[str, str]] = {}
    if fix:
        texts, found = apply_fixes(sources, checker.check)
        fixed = {f: (sources[f], text) for f, text in texts.items() if text != sources[f]}
        for file, (_, text) in fixed.items():
            Path(file).write_text(text, encoding="utf-8")
    else:
        found = with_kept_fixes(sources, checker.check)
    found = sorted([*problems, *found], key=lambda each: (each.file, each.span))
    errors = len(found) if strict else len(list(errors_of(found)))
    return ValidateDocument(sorted(sources), errors, len(found) - errors, found), fixed


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
    """A name that is unknown here may be known to a hub, and no hub is up."""
    if diagnostic.code not in UNSERVED or diagnostic.fix:
        return diagnostic
    return replace(
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
            problems += [replace(p, file=str(path / p.file)) for p in found]
        elif path.exists():
            text, found = read_source(path, str(path))
            problems += found
            if text is not None:
                sources[str(path)] = text
        elif required:
            raise NotFoundError("file", str(path), "is not there: check the path")
    return sources, problems
