"""`cortex down`: end the hub of a home."""

import click
import msgspec

from cortex.runtime.kernel import Home
from cortex.runtime.serving import stop

from ..options import with_home, with_screen
from ..screen import Screen

PATIENCE_S = 30.0


class DownDocument(msgspec.Struct):
    """Whose hub was ended."""

    home: str
    pid: int


@click.command()
@click.option("--kill", is_flag=True, help="Kill the hub if it does not end by itself.")
@click.option(
    "--timeout",
    "patience_s",
    type=click.FloatRange(min=0.0),
    default=PATIENCE_S,
    show_default=True,
    metavar="SECONDS",
    help="How long the hub may take to end.",
)
@with_home
@with_screen
def down(kill: bool, patience_s: float, home: Home, screen: Screen) -> None:
    """End the hub that is up on the home. When the command returns, the hub is gone.

    Handlers finish their current work; executions continue when a hub is up again.
    """
    home.check()
    pid = stop(home, patience_s, kill=kill)
    screen.document(DownDocument(str(home.path), pid))
    screen.line(f"the hub of {home.path} has ended (process {pid})")
