"""`cortex memory export` and `import`: memory as a file."""

import sys
from contextlib import ExitStack
from pathlib import Path

import click

from cortex.runtime.admin import export_memory, import_memory
from cortex.runtime.kernel import Home, many
from cortex.runtime.memory import lines_in

from ..exits import FAILED, OK
from ..options import FILE, FILE_THERE, STDOUT, at_home, with_past, with_scopes
from ..screen import Screen


@click.command()
@click.argument("file", type=FILE, metavar="FILE|-")
@with_scopes
@click.option(
    "--with-subjects", is_flag=True, help="Write personal data, too; it is in clear in the file."
)
@at_home
@with_past
def export(
    file: Path, scopes: tuple[str, ...], with_subjects: bool, home: Home, screen: Screen
) -> None:
    """Write what is in memory to FILE, as JSON Lines; - is standard output.

    What rules derive from executions is left out: import the log for that (`cortex export`).
    """
    document, lines = export_memory(home, scopes, with_subjects=with_subjects)
    with ExitStack() as stack:
        stream = sys.stdout.buffer
        if file != STDOUT:
            stream = stack.enter_context(file.open("wb"))
        for line in lines:
            stream.write(line)
        stream.flush()
    if file != STDOUT:
        screen.document(document)
        screen.line(f"wrote {many(document.nodes, 'node')} and {many(document.edges, 'edge')}")
    if document.left_out:
        screen.note(
            f"left out {many(document.left_out, 'node')} with personal data: --with-subjects"
        )
    if document.replaced:
        screen.note(
            f"left out {many(document.replaced, 'node')} replaced by what is no longer in memory"
        )


@click.command("import")
@click.argument("file", type=FILE_THERE)
@at_home
def import_(file: Path, home: Home, screen: Screen) -> int:
    """Take the memory in FILE into this home.

    Every line is checked first; if one is wrong, nothing is taken in. Memories keep their ids, so
    that a second import adds nothing.
    """
    with file.open("rb") as opened:
        document = import_memory(home, lines_in(opened))
    screen.document(document)
    screen.line(
        f"recorded {many(document.recorded, 'node')} and {many(document.linked, 'edge')}; "
        f"{document.known:,} were there"
    )
    screen.notes(document.refused)
    return FAILED if document.refused else OK
