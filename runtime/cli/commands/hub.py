"""`cortex up` and `cortex down`: serve the hub of a home, and end it."""

from pathlib import Path

import click
import msgspec

from cortex.runtime.admin import plugins_at_start, up_document
from cortex.runtime.kernel import Home
from cortex.runtime.processes.catalog import not_ready_lines
from cortex.runtime.serving import Note, Service, start, stop, tell_systemd
from cortex.runtime.serving.doctor import plugin_line

from ..exits import OK
from ..options import FILE_THERE, at_any_home, at_home
from ..screen import Screen
from ..terminal import told_to_end, wait_for

UP_S = 60.0  # within which a hub in the background has to listen
PATIENCE_S = 30.0  # that a hub may take to its end


class DownDocument(msgspec.Struct):
    """Whose hub was ended."""

    home: str
    pid: int


@click.command()
@click.option(
    "--listen", multiple=True, metavar="URL", help="Also listen here: tls+tcp://HOST:PORT."
)
@click.option("--insecure", is_flag=True, help="Allow --listen with tcp:// on loopback.")
@click.option(
    "--certificate",
    type=FILE_THERE,
    metavar="PEM",
    help="Certificate for tls+tcp:// instead of the hub's own, with its key in the same file.",
)
@click.option(
    "--background", is_flag=True, help="Return when the hub is up; `cortex down` ends it."
)
@at_any_home
def up(
    listen: tuple[str, ...],
    insecure: bool,
    certificate: Path | None,
    background: bool,
    home: Home,
    screen: Screen,
) -> int:
    """Serve the home to other processes and other machines.

    For other machines, give an address with --listen. The components of the home run in this
    process. Commands on this home use the hub while it is up; agents, tools and workers connect to
    it. Ctrl-C, SIGTERM or `cortex down` end it in good order.
    """
    if background:
        options = [f"--listen={url}" for url in listen]
        options += ["--insecure"] if insecure else []
        options += [f"--certificate={certificate.absolute()}"] if certificate else []
        _show(screen, home, start(home.open(), options, UP_S))
        return OK
    # From the first moment on: a hub that is just starting is ended in good order, too.
    served = Service(home, listen, insecure=insecure, certificate=certificate)
    with told_to_end() as told, served as service:
        _show(screen, home, service.note)
        tell_systemd("READY=1")
        wait_for(told, service.check)
        tell_systemd("STOPPING=1")
        screen.note("ending in good order")
    return OK


def _show(screen: Screen, home: Home, note: Note) -> None:
    plugins = plugins_at_start(home)
    document = up_document(home, note)
    screen.document(document)
    screen.line(f"up         {home.path} (process {note.pid})", "bold")
    screen.lines(f"listening  {address}" for address in note.addresses)
    for name, how in plugins.items():
        screen.line(*plugin_line(name, how))
    screen.lines(not_ready_lines(document.not_ready), "yellow")
    screen.line("cortex status", "cyan")


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
@at_home
def down(kill: bool, patience_s: float, home: Home, screen: Screen) -> None:
    """End the hub that is up on the home. When the command returns, the hub is gone.

    Handlers finish their current work; executions continue when a hub is up again.
    """
    home.check()
    pid = stop(home, patience_s, kill=kill)
    screen.document(DownDocument(str(home.path), pid))
    screen.line(f"the hub of {home.path} has ended (process {pid})")
