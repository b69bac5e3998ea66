"""`cortex init`: make a home."""

from pathlib import Path

import click
import msgspec

from cortex.runtime.kernel import Home

from ..options import with_screen
from ..screen import Screen


class InitDocument(msgspec.Struct):
    """Where the home is."""

    home: str
    made: bool  # False: it was there, and what was missing was added
    trusted: bool  # False: something was there that can act, and this user has not trusted it


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=".")
@with_screen
def init(folder: Path, screen: Screen) -> None:
    """Make a home, .cortex/, in FOLDER (this folder).

    Commands in FOLDER and below then use it. A home that is there stays as it is; what is missing
    from it is added, and it is as trusted as it was: see `cortex trust`.
    """
    path = folder if folder.name == ".cortex" else folder / ".cortex"
    made = not (path / "version").exists()
    home = Home.create(path)
    untrusted = home.untrusted_because
    screen.document(InitDocument(str(home.path), made, not untrusted))
    screen.line(f"{'made' if made else 'completed'} {home.path}")
    screen.line(f"settings   {home.config_path}")
    screen.line(f"processes  {home.processes}   checked by `cortex process validate`")
    screen.line(f"knowledge  {home.knowledge}")
    if untrusted:
        screen.note(f"not trusted, nothing of it runs: {untrusted[0]}", "yellow")
        screen.note("cortex trust", "cyan")
