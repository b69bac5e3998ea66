"""`cortex memory reword`: a summary in the words of a draft, which a model wrote for instance."""

from typing import TextIO

import click

from cortex.runtime.admin import reword_memory
from cortex.runtime.kernel import Home, RefusedError

from ..options import at_home, with_subject
from ..screen import Screen

MOST_READ = 100_000  # characters; the engine refuses a draft that is much shorter already


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option(
    "--draft",
    type=click.File(encoding="utf-8"),
    default="-",
    metavar="FILE",
    help="The summary in fewer words; standard input unless given.",
)
@with_subject
@at_home
def reword(memory_id: str, draft: TextIO, subject: str, home: Home, screen: Screen) -> None:
    """Write the summary ID in the words of a draft, which a model wrote for instance.

    A sentence of the draft is used if it states all facts of a sentence of the summary; the others
    stay as they are. Prompts mark it as said by a model. The summary stays, and `undo` takes the
    wording back.
    """
    change = reword_memory(home, memory_id, _text(draft), subject)
    screen.document(change)
    screen.line(f"consolidation {change.id} wrote {change.wrote[0]}")


def _text(draft: TextIO) -> str:
    try:
        return draft.read(MOST_READ)
    except UnicodeDecodeError as error:
        raise RefusedError(
            f"the draft is not UTF-8 at byte {error.start + 1:,}: convert it, for instance with "
            "iconv"
        ) from error
