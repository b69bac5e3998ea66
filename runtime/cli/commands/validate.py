"""`cortex process validate`: what the compiler says of sources, without running anything."""

import difflib
from pathlib import Path

import click

from cortex.runtime.admin import validated
from cortex.runtime.kernel import Home, many

from ..exits import FAILED, OK
from ..options import at_any_home
from ..screen import Screen

_STYLES = {"error": "red", "warning": "yellow"}
_MARKS = {"+": "green", "-": "red"}


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="FILE_OR_FOLDER...")
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option("--fix", is_flag=True, help="Show the available fixes and apply them.")
@at_any_home
def validate(paths: tuple[Path, ...], strict: bool, fix: bool, home: Home, screen: Screen) -> int:
    """Check sources: FILE:LINE:COLUMN: severity, code, what is wrong; then what to do.

    Without a name, it checks the processes of the home. It compiles the sources together with the
    processes of the home and of the library, which they may extend or run. The components of the
    home, its plugins and, while a hub is up, its workers serve the actions and gates.
    """
    document, fixed = validated(home, paths, strict=strict, fix=fix)
    for file, (before, after) in fixed.items():
        lines = before.splitlines(), after.splitlines()
        for line in difflib.unified_diff(*lines, file, file, lineterm=""):
            screen.line(line, _MARKS.get(line[0], "dim"))
        screen.note(f"wrote {file}")
    screen.document(document)
    for each in document.diagnostics:
        where = f"{each.file}:{each.span.line}:{each.span.column}"
        severity = "error" if strict else each.severity
        screen.line(f"{where}: {severity} {each.code} {each.message}", _STYLES[severity])
        screen.line(f"    {each.remedy}" + ("  (--fix does it)" if each.fix else ""), "dim")
    if not (paths or document.files):
        screen.line(f"no sources in {home.processes}: name a FILE_OR_FOLDER", "dim")
    screen.line(
        f"{many(len(document.files), 'file')}, {many(document.errors, 'error')}, "
        f"{many(document.warnings, 'warning')}"
    )
    return FAILED if document.errors else OK
