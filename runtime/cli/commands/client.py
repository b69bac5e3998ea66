"""`cortex client`: who may come to the bus, and what they may do there."""

import datetime as dt
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from cortex.bus import SUBSCRIPTIONS
from cortex.runtime.access import (
    ANYWHERE,
    GRANTS,
    Grant,
    Grants,
    Terms,
    change,
    client_certificate,
    folded,
    found,
    grants_of,
    hub_certificate,
    issue,
    renew_hub_certificate,
    revoke,
    token_file,
)
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home, iso, parse_end
from cortex.runtime.processes.catalog import gates_of, wrong_gate
from cortex.runtime.serving import granting, held_by, held_lines
from cortex.runtime.sessions import gates_of_sources

from ..options import with_any_home, with_home, with_screen
from ..screen import Screen
from ..tree import Family
from .client_shown import (
    HEADERS,
    NEVER,
    ShownDocument,
    cells_of_client,
    document_of_client,
    show_added,
    show_client,
)

DEFAULT = "default"  # of a limit: what config.toml says

Function = TypeVar("Function", bound=Callable[..., Any])


class RevokedDocument(msgspec.Struct):
    """A client that was let out."""

    client: str
    reason: str
    removed: tuple[str, ...]  # subscriptions
    deadlines: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()  # what it had announced


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


def with_terms(function: Function) -> Function:
    """Add the options that say what a client may do."""
    for option in (
        click.option(
            "--limit",
            "limits",
            multiple=True,
            callback=_limits,
            metavar="KEY=NUMBER",
            help="Another limit than in [limits]: 0 for none, 'default' for the one in [limits] "
            "again.",
        ),
        click.option(
            "--expires", metavar="TIME", help="When it ends: 12h, 30d, a date, or 'never'."
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
            "--name", "names", multiple=True, metavar="COMPONENT", help="Component it may host."
        ),
        click.option(
            "--approve", multiple=True, metavar="PROCESS/GATE", help="Gates it may answer."
        ),
        click.option("--work", multiple=True, metavar="TOPIC", help="Work it may take."),
        click.option(
            "--read",
            multiple=True,
            metavar="TOPIC",
            help="Events that it may read, and queries that it may ask.",
        ),
        click.option(
            "--subscribe", multiple=True, metavar="TOPIC", help="Events that it may receive."
        ),
        click.option(
            "--publish", multiple=True, metavar="TOPIC", help="Events that it may publish."
        ),
    ):
        function = option(function)
    return function


@click.group(cls=Family)
def client() -> None:
    """Manage the clients of the bus, and what they may do."""


@client.command()
@click.argument("name")
@with_terms
@click.option(
    "--token-file",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the token to this file, readable only by its owner, and do not show it.",
)
@click.option(
    "--certificate",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Make a TLS certificate, NAME.pem in FOLDER. Without it, the token does not work.",
)
@with_any_home
@with_screen
def add(
    name: str,
    path: Path | None,
    folder: Path | None,
    home: Home,
    screen: Screen,
    **asked: Any,
) -> None:
    """Authorise a client with the name NAME, and print its token.

    It may do only what these options allow. A TOPIC is exact, a family such as 'step.*', a plugin's
    'x.plugin.*', or '*'; in PROCESS/GATE either part may be '*'. You can give every option several
    times. The token is shown once.
    """
    _refuse_unknown_gates(home, asked["approve"])
    with granting(home) as owner, _written_to(path) as write:
        terms, made = _terms(Terms(), **asked), None
        if folder is not None and grants_of(owner).grant(name) is None:
            made = client_certificate(home.path / "keys", name, folder)
            terms = msgspec.structs.replace(terms, certificate=made.sha256)
        token = issue(owner, name, terms)
        write(token)
    show_added(screen, name, terms, token, path, made)


@client.command("list")
@with_home
@with_screen
def list_(home: Home, screen: Screen) -> None:
    """List the clients that may connect, and what they may do."""
    documents = [document_of_client(grant.given) for grant in _grants(home).clients()]
    screen.document(documents)
    if documents:
        screen.table(HEADERS, map(cells_of_client, documents))
    else:
        screen.line("no clients: `cortex client add NAME` lets one in")


@client.command()
@click.argument("name")
@with_home
@with_screen
def show(name: str, home: Home, screen: Screen) -> None:
    """Show what the client NAME may do, what it has at the hub, and how near its limits it is.

    A revocation removes all of it. If a hub is up, the command also asks it for what the client has
    only while it is connected (work that it has taken, queries, blobs that it is uploading).
    """
    given = _grant(home, name).given
    shown = msgspec.structs.asdict(document_of_client(given))
    document = ShownDocument(**shown, holds=held_by(home, name, given))
    show_client(screen, document)
    for word, told in held_lines(document.holds):
        style = "yellow" if word in ("near", "reached") else ""
        screen.paragraph(told, lead=f"  {word:<10} ", style=style)


@client.command()
@click.argument("name")
@with_terms
@click.option("--only", is_flag=True, help="Withdraw everything that these options do not allow.")
@click.option("--nothing", is_flag=True, help="Withdraw all its grants; it may still connect.")
@with_home
@with_screen
def grant(name: str, only: bool, nothing: bool, home: Home, screen: Screen, **asked: Any) -> None:
    """Give the client NAME more rights, or, with --only, others.

    Its token stays. If it is connected, changes take effect at once.
    """
    _check_grant(name, only=only, nothing=nothing, **asked)
    _refuse_unknown_gates(home, asked["approve"])
    with granting(home) as owner:
        given = change(
            owner,
            name,
            lambda terms: _terms(_bare(terms) if only or nothing else terms, **asked),
        )
    show_client(screen, document_of_client(given))


@client.command("revoke")
@click.argument("name")
@click.option("--reason", default="", help="Why; it is recorded.")
@click.option(
    "--keep-subscriptions",
    "keep",
    is_flag=True,
    help="Keep its subscriptions, for the next client of this name.",
)
@with_home
@with_screen
def revoke_(name: str, reason: str, keep: bool, home: Home, screen: Screen) -> None:
    """Revoke the client NAME, disconnect it, and remove what it left.

    One transaction removes all that `cortex client show NAME` lists: deadlines, subscriptions with
    the work that waits in them, and announcements.
    """
    with granting(home) as owner:
        held = held_by(home, name)
        revoke(owner, name, reason, keeps=(SUBSCRIPTIONS,) if keep else ())
    subscriptions = () if keep else tuple(each.name for each in held.subscriptions)
    deadlines = tuple(each.name for each in held.deadlines)
    announced = tuple(f"{each.kind} {each.name}" for each in held.announcements)
    screen.document(RevokedDocument(name, reason, subscriptions, deadlines, announced))
    screen.line(f"{name} is revoked")
    for each in subscriptions:
        screen.line(f"removed {each}")
    for each in deadlines:
        screen.line(f"removed the deadline {each}")
    for each in announced:
        screen.line(f"withdrew the {each}")


@client.command()
@click.option("--renew", is_flag=True, help="Make a new certificate first.")
@click.option(
    "--host", "hosts", multiple=True, help="A further name or address for a new certificate."
)
@with_any_home
@with_screen
def fingerprint(renew: bool, hosts: tuple[str, ...], home: Home, screen: Screen) -> None:
    """Print the SHA-256 of the hub's certificate, which clients on other machines pin.

    If there is no certificate, the command makes one. After --renew, a hub that is up shows the old
    one until its next start; then every client needs the new fingerprint.
    """
    keys = home.open().path / "keys"
    made = renew_hub_certificate(keys, hosts) if renew else hub_certificate(keys, hosts)
    ends = _written(made.expires)
    screen.document(FingerprintDocument(made.sha256, ends, made.hosts, made.path, renew))
    screen.line(made.sha256)
    screen.note(f"until {ends[:10]}, for {', '.join(made.hosts)}", "dim")
    if made.ends_soon(dt.datetime.now(dt.UTC)):
        screen.note("it ends soon: --renew makes a new one", "yellow")


def _terms(
    before: Terms,
    *,
    expires: str | None,
    limits: dict[str, int | None],
    **asked: tuple[str, ...],
) -> Terms:
    """*before* and what was asked for."""
    fields: dict[str, Any] = {
        name: tuple(dict.fromkeys((*getattr(before, name), *more))) for name, more in asked.items()
    }
    changed = {**before.limits, **limits}
    fields["limits"] = {key: number for key, number in changed.items() if number is not None}
    if expires is not None:
        fields["expires_ns"] = 0 if expires == NEVER else parse_end(expires, time.time_ns())
    return msgspec.structs.replace(before, **fields)


def _refuse_unknown_gates(home: Home, patterns: tuple[str, ...]) -> None:
    """Refuse a grant to approve what no process asks."""
    if not patterns or not home.path.is_dir():
        return
    with History.open(home) as history:
        compiled = gates_of(history)
    problem = wrong_gate(compiled, patterns)
    if problem:  # there may be sources that were not compiled yet
        problem = wrong_gate({**compiled, **gates_of_sources(home)}, patterns)
    if problem:
        raise click.BadParameter(problem, param_hint="'--approve'")


def _check_grant(
    name: str,
    *,
    only: bool,
    nothing: bool,
    expires: str | None,
    limits: dict[str, int | None],
    **rights: tuple[str, ...],
) -> None:
    """Refuse a change of nothing, and one that takes every right away unawares."""
    if any(rights.values()):
        if nothing:
            raise click.UsageError("--nothing takes all rights back: give none with it, or --only")
    elif only and not nothing:
        raise click.UsageError(
            "--only withdraws all rights except the given ones, and none is given: give --publish, "
            "--read or another, or --nothing instead to withdraw every right"
        )
    elif expires is None and not limits and not nothing:
        raise click.UsageError(
            f"say what {name} may do, such as --publish 'step.*', or until when, with --expires"
        )


def _written_to(path: Path | None) -> AbstractContextManager[Callable[[str], object]]:
    return nullcontext(lambda _: None) if path is None else token_file(path)


def _bare(terms: Terms) -> Terms:
    # Without its folders it could ask for work in any.
    kept = ("expires_ns", "certificate", "limits", "workspaces")
    return Terms(**{name: getattr(terms, name) for name in kept})


def _grants(home: Home) -> Grants:
    with History.open(home) as history:
        return folded(map(history.vocabulary.read, history.stream(GRANTS)))


def _grant(home: Home, name: str) -> Grant:
    return found(_grants(home), name)


def _written(when: dt.datetime) -> str:
    return iso(int(when.timestamp()) * 1_000_000_000)
