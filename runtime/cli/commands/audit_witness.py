"""`cortex audit witness`: others who keep the heads of a log, and this home as one of them."""

from pathlib import Path

import click
import msgspec

from cortex.runtime.audit import (
    AuditError,
    Cosigning,
    KnownWitness,
    VerifierKey,
    Witness,
    WitnessServer,
)
from cortex.runtime.kernel import Home

from ..options import FOLDER_THERE, at_home
from ..screen import Columns, Screen
from ..terminal import told_to_end, wait_for
from ..tree import Family

WITNESSES: Columns = {
    "witness": "name",
    "events": "events",
    "where": "where",
    "counts": lambda row: "yes" if row.counts else f"no: {row.why_not}",
}
LOGS: Columns = {"events": "events", "log": "origin"}
_KEYS = click.option("--key", "keys", multiple=True, help="A public key; may be given repeatedly.")


class WitnessKeys(msgspec.Struct):
    """The public keys of a witness."""

    keys: list[str]


class ServedDocument(msgspec.Struct):
    """Where a witness answers."""

    url: str
    keys: list[str]


@click.group(cls=Family)
def witness() -> None:
    """Let others keep the heads of this log, or keep those of others."""


@witness.command()
@click.argument("name")
@click.option("--folder", type=FOLDER_THERE, help="Its home, on this machine.")
@click.option("--url", default="", help="Its URL, as `cortex audit witness serve` prints it.")
@_KEYS
@at_home
def add(
    name: str,
    folder: Path | None,
    url: str,
    keys: tuple[str, ...],
    home: Home,
    screen: Screen,
) -> None:
    """Let the witness NAME cosign every head that is signed here.

    A home on this machine becomes a witness if it is none, and accepts this log. For a URL, give
    the public keys of the witness, and let its owner accept the keys of this log.
    """
    if (folder is None) == (not url) or (folder is not None and keys):
        raise click.UsageError("give --folder, or --url and --key")
    home.open()
    known = Cosigning(home)
    made = known.add_url(name, url, [*keys]) if folder is None else known.add_home(name, folder)
    _added(screen, made)


def _added(screen: Screen, made: KnownWitness) -> None:
    screen.document(made)
    screen.line(f"{made.name}: {made.where}")
    if why := made.counts_not():
        screen.warn(f"it counts as none: {why}")
    screen.note("cortex audit sign", "cyan")


@witness.command("list")
@at_home
def list_(home: Home, screen: Screen) -> None:
    """List the witnesses of this log, how far each has cosigned, and whether it counts."""
    home.check()
    screen.rows(Cosigning(home).standings(), WITNESSES, empty="no witness: heads stay in this home")


@witness.command()
@click.argument("name")
@at_home
def remove(name: str, home: Home, screen: Screen) -> None:
    """Ask the witness NAME no more; what it cosigned stays."""
    home.open()
    Cosigning(home).remove(name)
    screen.document({"removed": name})
    screen.line(f"removed {name}")


@witness.command("init")
@click.argument("name")
@at_home
def init_(name: str, home: Home, screen: Screen) -> None:
    """Make this home a witness called NAME, and print its public keys.

    NAME is best an address of yours without its scheme. If it is a witness already, its keys stay.
    """
    home.open()
    keys = [key.text() for key in Witness(home).make(name)]
    screen.document(WitnessKeys(keys))
    screen.lines(keys)


@witness.command()
@click.argument("origin")
@_KEYS
@at_home
def accept(origin: str, keys: tuple[str, ...], home: Home, screen: Screen) -> None:
    """Cosign heads of the log ORIGIN, which is their first line, if one of its keys signed."""
    home.open()
    own = _own(home)
    own.accept(origin, [VerifierKey.parse(key) for key in keys])
    screen.document({"accepted": origin})
    screen.line(f"accepted {origin}")


@witness.command()
@at_home
def logs(home: Home, screen: Screen) -> None:
    """List the logs that this witness accepts, and how many events it saw of each."""
    home.check()
    home.require_trust()
    screen.rows(_own(home).logs(), LOGS, empty="no log: cortex audit witness accept")


@witness.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    help="Port on loopback; 0 for any free one.",
)
@at_home
def serve(port: int, home: Home, screen: Screen) -> None:
    """Answer other logs over HTTP on loopback (C2SP tlog-witness) until Ctrl-C.

    For other machines, put a web server with TLS in front of it.
    """
    own = _own(home.open())
    with told_to_end() as told, WitnessServer(own, port) as server:
        document = ServedDocument(server.url, [key.text() for key in own.public_keys()])
        screen.document(document)
        screen.line(document.url, "bold")
        screen.lines(document.keys)
        wait_for(told)


def _own(home: Home) -> Witness:
    own = Witness(home)
    if not own.public_keys():
        raise AuditError("this home is no witness: cortex audit witness init NAME")
    return own
