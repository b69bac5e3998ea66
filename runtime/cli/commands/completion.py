"""`cortex completion`: scripts that complete commands and options in a shell."""

import click
from click.shell_completion import get_completion_class

from ..main import COMPLETE
from ..tree import root

SHELLS = ("bash", "zsh", "fish")


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
