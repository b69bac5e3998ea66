"""`cortex up`: serve the hub of a home."""

import time
from pathlib import Path

import click
import msgspec

from cortex.bus.events import RuntimeStarted
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home
from cortex.runtime.processes.catalog import NotReady, not_ready_lines, not_ready_of
from cortex.runtime.projections import Selection
from cortex.runtime.serving import Note, PluginFared, Service, start, tell_systemd
from cortex.runtime.serving.doctor import plugin_line, plugins_of

from ..exits import OK
from ..options import FILE_THERE, at_any_home
from ..screen import Screen
from ..terminal import told_to_end, wait_for

UP_S = 60.0  # within which a hub in the background has to listen
PLUGINS_S = 6.0  # that are waited for plugins, to say how they fare
STARTS = Selection(topics=(RuntimeStarted.topic_name(),))
OF_PLUGINS = Selection(topics=("plugin.*",))


class UpDocument(msgspec.Struct):
    """A hub that is up."""

    home: str
    pid: int
    urls: list[str]
    fingerprint: str  # of the certificate shown on tls+tcp://; empty where there is none
    version: str
    not_ready: list[NotReady]  # sources that do not compile, processes that are unlinked


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
    urls = [note.url, *note.urls]
    plugins = _plugins(home)
    with History.open(home) as history:
        not_ready = not_ready_of(history)
    screen.document(
        UpDocument(str(home.path), note.pid, urls, note.fingerprint, note.version, not_ready)
    )
    screen.line(f"up         {home.path} (process {note.pid})", "bold")
    for address in note.addresses:
        screen.line(f"listening  {address}")
    for name, how in plugins.items():
        screen.line(*plugin_line(name, how))
    for line in not_ready_lines(not_ready):
        screen.line(line, "yellow")
    screen.line("cortex status", "cyan")


def _plugins(home: Home) -> dict[str, PluginFared]:
    """The plugins that start with the hub, as they stand once all of them have, or soon after."""
    until = time.monotonic() + PLUGINS_S
    while True:
        with History.open(home) as history:
            begun = max((r.position for r in history.select(STARTS)), default=0)
            said = {r.stream.partition("/")[2] for r in history.select(OF_PLUGINS, begun)}
            fared = plugins_of(history)
        wanted = {name for name, how in fared.items() if how.load is not None}
        if wanted <= said or time.monotonic() > until:
            starting = {name: PluginFared("starting") for name in wanted - said}
            known = {name: fared[name] for name in said & fared.keys()}
            return dict(sorted({**starting, **known}.items()))
        time.sleep(0.05)
