"""`cortex init` and `cortex completion`: make a home, and complete commands in a shell."""

from pathlib import Path

import click
import msgspec
from click.shell_completion import get_completion_class

from cortex.runtime.kernel import Home

from ..main import COMPLETE
from ..options import FOLDER, named_home, with_screen
from ..screen import Screen
from ..tree import root

SHELLS = ("bash", "zsh", "fish")


class InitDocument(msgspec.Struct):
    """Where the home is."""

    home: str
    made: bool  # False: it was there, and what was missing was added
    trusted: bool  # False: something was there that can act, and this user has not trusted it


@click.command()
@click.argument("folder", type=FOLDER, required=False)
@click.option(
    "--home",
    type=FOLDER,
    metavar="FOLDER",
    help="The home itself, in any place; commands then use it with --home or CORTEX_HOME.",
)
@with_screen
def init(folder: Path | None, home: Path | None, screen: Screen) -> None:
    """Make a home, .cortex/, in FOLDER (this folder).

    Commands in FOLDER and below then use it. The command does not change an existing home, but adds
    what is missing; the home is as trusted as before: see `cortex trust`. With --home, the home is
    made there, under any name.
    """
    path = _place(folder, named_home(home))
    made = not (path / "version").exists()
    found = Home.create(path)
    untrusted = found.untrusted_because
    screen.document(InitDocument(str(found.path), made, not untrusted))
    screen.line(f"{'made' if made else 'completed'} {found.path}")
    screen.line(f"settings   {found.config_path}")
    screen.line(f"processes  {found.processes}   checked by `cortex process validate`")
    screen.line(f"knowledge  {found.knowledge}")
    if untrusted:
        screen.note(f"not trusted, nothing of it runs: {untrusted[0]}", "yellow")
        screen.note("cortex trust", "cyan")


def _place(folder: Path | None, named: Path | None) -> Path:
    """Where the home is to be: as it is named, or in *folder*, or in the working folder.

    Raises:
        UsageError: Both are given.
    """
    if folder and named:
        raise click.UsageError("give FOLDER or --home: FOLDER holds the home, --home is the home")
    folder = folder or Path()
    return named or (folder if folder.name == ".cortex" else folder / ".cortex")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the completion script of SHELL.

    \b
    bash: eval "$(cortex completion bash)" in ~/.bashrc
    zsh:  eval "$(cortex completion zsh)" in ~/.zshrc
    fish: cortex completion fish > ~/.config/fish/completions/cortex.fish
    """  # noqa: D301  # backslash-b keeps lines apart, for click
    found = get_completion_class(shell)
    if found is None:
        raise click.ClickException(f"this version of click has no completion for {shell}")
    click.echo(found(root, {}, "cortex", COMPLETE).source())
