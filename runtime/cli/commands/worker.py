"""`cortex worker`: host components in a process of their own."""

import os
import sys
from pathlib import Path

import click
import msgspec

from cortex.runtime.access import read_token
from cortex.runtime.kernel import Entry, Home
from cortex.runtime.serving import Hub, hosted, hub_of

from ..exits import OK
from ..options import FILE_THERE, FOLDER_THERE, at_any_home
from ..screen import Screen
from ..terminal import told_to_end

OWN = "worker"  # beside "owner/", on the home's own hub
TOKEN_BYTES = 4_096  # more than any token has
LEFT = "ended while the hub is away: its work goes to another worker once its lease is over"
PATIENCE_S = 30.0  # for handlers to finish after the worker was asked to end


class WorkerDocument(msgspec.Struct):
    """A worker that is ready."""

    name: str
    pid: int
    url: str
    components: list[str]


@click.command()
@click.argument("components", nargs=-1, required=True, metavar="PACKAGE.MODULE:COMPONENT...")
@click.option("--url", default="", help="The hub's address, instead of the home's own hub.")
@click.option(
    "--token-file",
    type=FILE_THERE,
    metavar="FILE",
    help="File with the token for --url; only its owner may read it.",
)
@click.option(
    "--token-fd",
    type=click.IntRange(min=0),
    metavar="N",
    help="Read the token for --url from this open descriptor.",
)
@click.option("--name", default="", help="The worker's name [default: the name in its token].")
@click.option(
    "--workers",
    type=click.IntRange(min=1, max=1_000),
    help="Threads for each component that takes work [default: the number in its class].",
)
@click.option(
    "--path",
    type=FOLDER_THERE,
    multiple=True,
    metavar="FOLDER",
    help="Also look for modules in this folder; `--path .` for the working folder.",
)
@at_any_home
def worker(
    components: tuple[str, ...],
    url: str,
    token_file: Path | None,
    token_fd: int | None,
    name: str,
    workers: int | None,
    path: tuple[Path, ...],
    home: Home,
    screen: Screen,
) -> int:
    """Host components in a separate process, connected to a hub.

    The worker gets events from the hub and sends results to it. Any number of workers may host the
    same component if it takes work. If a worker is killed, its work goes to another worker. While
    the hub is away, a worker waits. Ctrl-C and SIGTERM end it in good order.

    \b
    cortex worker my_package.steps:Resize
    cortex worker steps:greet --path .
    cortex worker my_package.steps:Resize --url tls+tcp://hub:7421#FINGERPRINT --token-file t
    """  # noqa: D301  # backslash-b keeps lines apart, for click
    hub = _hub(url, token_file, token_fd, home)
    # Last, so that nothing installed is hidden. Never the working folder unless it is named: its
    # files may come from a checkout.
    sys.path += [str(folder.resolve()) for folder in path]
    entries = [Entry(component, workers) for component in components]
    name = name or ("" if url else OWN)
    with told_to_end() as told, hosted(entries, hub, name=name, patience_s=PATIENCE_S) as host:
        hosts = host.components
        screen.document(WorkerDocument(host.name, os.getpid(), hub.url, list(hosts)))
        screen.line(f"ready  {', '.join(hosts)} on {hub.url}, as {host.name}", "bold")
        host.until_over(told)
    if host.left:
        screen.note(LEFT, "yellow")
    return OK


def _hub(url: str, token_file: Path | None, token_fd: int | None, home: Home) -> Hub:
    if not url:
        if token_file is not None or token_fd is not None:
            raise click.UsageError("a token is for --url; the home's own hub needs none")
        return hub_of(home)
    if (token_file is None) == (token_fd is None):
        raise click.UsageError("with --url give one of --token-file and --token-fd")
    if token_file is not None:
        return Hub(url, read_token(token_file))
    try:
        with os.fdopen(token_fd or 0, "rb") as given:
            token = given.read(TOKEN_BYTES).decode("ascii", "replace").strip()
    except OSError as error:
        raise click.UsageError(f"descriptor {token_fd} cannot be read: {error.strerror}") from None
    return Hub(url, token)
