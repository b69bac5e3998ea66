"""`cortex client`: who may connect to the bus, and what each client may do there."""

import datetime as dt
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from cortex.bus import VERBS
from cortex.runtime.access import ANYWHERE, Terms, hub_certificate, renew_hub_certificate
from cortex.runtime.admin import (
    NEVER,
    ClientDocument,
    Wanted,
    add_client,
    client_of,
    clients_of,
    grant_client,
    revoke_client,
)
from cortex.runtime.kernel import Home, iso, local
from cortex.runtime.serving import held_lines

from ..options import FILE, FOLDER, at_any_home, at_home, with_options, with_past
from ..screen import Columns, Screen
from ..tree import Family

DEFAULT = "default"  # of a limit: the value in config.toml
NO_CLIENTS = "no clients: `cortex client add NAME` authorises one"
SHOWN_ONCE = "this token is shown once, and kept nowhere:"


class FingerprintDocument(msgspec.Struct):
    """What clients know the hub by."""

    sha256: str
    expires: str  # UTC
    hosts: tuple[str, ...]
    path: str
    renewed: bool


def _limits(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, int | None]:
    """The limits that were given, by key; None for the default."""
    limits: dict[str, int | None] = {}
    for each in given:
        key, _sign, number = each.partition("=")
        if number != DEFAULT and not (number.isascii() and number.isdecimal()):
            raise click.BadParameter(f"{each!r}: write KEY=NUMBER, such as subscriptions=500")
        limits[key] = None if number == DEFAULT else int(number)
    return limits


def _folders(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """The folders that were given, as absolute paths."""
    for each in given:
        if each != ANYWHERE and not Path(each).is_dir():
            raise click.BadParameter(
                f"{each!r} is not a folder of this machine, so the client could not work in it: "
                "make it first, or name another"
            )
    return tuple(each if each == ANYWHERE else str(Path(each).absolute()) for each in given)


def _topics(name: str, help_: str) -> Any:
    return click.option(name, multiple=True, metavar="TOPIC", help=help_)


with_terms = with_options(  # what a client may do
    _topics("--publish", "Events that it may publish."),
    _topics("--subscribe", "Events that it may receive."),
    _topics("--read", "Events that it may read, and queries that it may ask."),
    _topics("--work", "Work it may take."),
    click.option("--approve", multiple=True, metavar="PROCESS/GATE", help="Gates it may answer."),
    click.option(
        "--name", "names", multiple=True, metavar="COMPONENT", help="Component it may host."
    ),
    click.option(
        "--workspace",
        "workspaces",
        multiple=True,
        callback=_folders,
        metavar="FOLDER",
        help="Folder in which it may request work; '*' for any [default: any].",
    ),
    click.option(
        "--directive",
        "directives",
        multiple=True,
        metavar="SCOPE",
        help="Scope in which a person may lay down directives by it, with "
        "--publish directive.submit; '*' for all.",
    ),
    click.option("--expires", metavar="TIME", help="When it ends: 12h, 30d, a date, or 'never'."),
    click.option(
        "--limit",
        "limits",
        multiple=True,
        callback=_limits,
        metavar="KEY=NUMBER",
        help="Another limit than in [limits]: 0 for none, 'default' for the one in [limits] again.",
    ),
)


@click.group(cls=Family)
def client() -> None:
    """Manage the clients of the bus, and what they may do."""


@client.command()
@click.argument("name")
@with_terms
@click.option(
    "--token-file",
    "path",
    type=FILE,
    metavar="FILE",
    help="Write the token to this file, readable only by its owner, and do not show it.",
)
@click.option(
    "--certificate",
    "folder",
    type=FOLDER,
    metavar="FOLDER",
    help="Make a TLS certificate, NAME.pem in FOLDER. Without it, the token does not work.",
)
@at_any_home
def add(
    name: str, path: Path | None, folder: Path | None, home: Home, screen: Screen, **asked: Any
) -> None:
    """Authorise a client with the name NAME, and print its token.

    It may do only what these options allow. A TOPIC is exact, a family such as 'step.*', a plugin's
    'x.plugin.*', or '*'; in PROCESS/GATE either part may be '*'. TOPIC=KEY allows only the events
    with this key: 'memory.*=project:shop' is the memory of one project. You can give every option
    several times. The token is shown once.
    """
    added = add_client(home, name, _wanted(**asked), path, folder)
    screen.document(added)
    if not any(getattr(added, verb) for verb in VERBS):
        more = f"`cortex client grant {name} --publish ...`"
        screen.warn(f"{name} may connect, and do nothing else: {more}")
    if added.certificate_file:
        screen.note(f"its certificate, with the key, is in {added.certificate_file}")
    if added.token is None:
        screen.note(f"its token is in {added.token_file}")
    else:
        screen.note(SHOWN_ONCE)
        screen.line(added.token)


@client.command("list")
@at_home
@with_past
def list_(home: Home, screen: Screen) -> None:
    """List the clients that may connect, and what they may do."""
    screen.rows(clients_of(home), COLUMNS, empty=NO_CLIENTS)


@client.command()
@click.argument("name")
@at_home
def show(name: str, home: Home, screen: Screen) -> None:
    """Show what the client NAME may do, what it has at the hub, and how near its limits it is.

    A revocation removes all of it. If a hub is up, the command also asks it for what the client has
    only while it is connected (work that it has taken, queries, blobs that it is uploading).
    """
    document = client_of(home, name)
    _show(screen, document)
    for word, told in held_lines(document.holds):
        style = "yellow" if word in ("near", "reached") else ""
        screen.paragraph(told, lead=f"  {word:<10} ", style=style)


@client.command()
@click.argument("name")
@with_terms
@click.option("--only", is_flag=True, help="Withdraw everything that these options do not allow.")
@click.option("--nothing", is_flag=True, help="Withdraw all its grants; it may still connect.")
@at_home
def grant(name: str, only: bool, nothing: bool, home: Home, screen: Screen, **asked: Any) -> None:
    """Give the client NAME more rights, or, with --only, others.

    Its token stays. If it is connected, changes take effect at once.
    """
    wanted = _wanted(**asked)
    _check_grant(name, wanted, only=only, nothing=nothing)
    _show(screen, grant_client(home, name, wanted, only=only or nothing))


@client.command("revoke")
@click.argument("name")
@click.option("--reason", default="", help="Why; it is recorded.")
@click.option(
    "--keep-subscriptions",
    "keep",
    is_flag=True,
    help="Keep its subscriptions, for the next client of this name.",
)
@at_home
def revoke_(name: str, reason: str, keep: bool, home: Home, screen: Screen) -> None:
    """Revoke the client NAME, disconnect it, and remove what it left.

    One transaction removes all that `cortex client show NAME` lists: deadlines, subscriptions with
    the work that waits in them, and announcements.
    """
    document = revoke_client(home, name, reason, keep=keep)
    screen.document(document)
    screen.line(f"{name} is revoked")
    screen.lines(f"removed {each}" for each in document.removed)
    screen.lines(f"removed the deadline {each}" for each in document.deadlines)
    screen.lines(f"withdrew the {each}" for each in document.withdrawn)


@client.command()
@click.option("--renew", is_flag=True, help="Make a new certificate first.")
@click.option(
    "--host", "hosts", multiple=True, help="A further name or address for a new certificate."
)
@at_any_home
def fingerprint(renew: bool, hosts: tuple[str, ...], home: Home, screen: Screen) -> None:
    """Print the SHA-256 of the hub's certificate, which clients on other machines pin.

    If there is no certificate, the command makes one. After --renew, a hub that is up shows the old
    one until its next start; then every client needs the new fingerprint.
    """
    keys = home.open().path / "keys"
    made = renew_hub_certificate(keys, hosts) if renew else hub_certificate(keys, hosts)
    ends = iso(int(made.expires.timestamp()) * 1_000_000_000)
    screen.document(FingerprintDocument(made.sha256, ends, made.hosts, made.path, renew))
    screen.line(made.sha256)
    screen.note(f"until {ends[:10]}, for {', '.join(made.hosts)}", "dim")
    if made.ends_soon(dt.datetime.now(dt.UTC)):
        screen.warn("it ends soon: --renew makes a new one")


def _wanted(expires: str | None, limits: dict[str, int | None], **rights: Any) -> Wanted:
    return Wanted(Terms(**rights), expires, limits)


def _check_grant(name: str, wanted: Wanted, *, only: bool, nothing: bool) -> None:
    """Refuse a change of nothing, and one that takes every right away unawares."""
    if wanted.rights != Terms():
        if nothing:
            raise click.UsageError("--nothing takes all rights back: give none with it, or --only")
    elif only and not nothing:
        raise click.UsageError(
            "--only withdraws all rights except the given ones, and none is given: give --publish, "
            "--read or another, or --nothing instead to withdraw every right"
        )
    elif wanted.expires is None and not wanted.limits and not nothing:
        raise click.UsageError(
            f"say what {name} may do, such as --publish 'step.*', or until when, with --expires"
        )


def _show(screen: Screen, document: ClientDocument) -> None:
    """Show what a client is granted."""
    own = " ".join(f"{key}={number}" for key, number in sorted(document.limits.items()))
    screen.document(document)
    screen.line(document.client, "bold")
    facts = (
        *((name, _names(document, name)) for name in (*VERBS, "names")),
        ("works in", " ".join(document.workspaces)),
        ("lays down in", " ".join(document.directives)),
        ("until", _until(document)),
        ("limits", own),
        ("shows", document.certificate and f"the certificate {document.certificate}"),
    )
    screen.facts(facts, "  ")


def _names(document: ClientDocument, field: str) -> str:
    return " ".join(getattr(document, field)) or "-"


def _until(document: ClientDocument) -> str:
    if document.expires is None:
        return NEVER
    when = dt.datetime.fromisoformat(document.expires)
    shown = f"{local(int(when.timestamp()) * 1_000_000_000)} {when.astimezone():%Z}"
    return f"{shown} (over)" if document.expired else shown


COLUMNS: Columns = {
    "client": "client",
    **{name: partial(_names, field=name) for name in (*VERBS, "names")},
    "works in": lambda row: " ".join(row.workspaces) or "any",
    "until": _until,
}
