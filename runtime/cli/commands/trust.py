"""`cortex trust`: trust a home that came from elsewhere, or revoke that trust."""

from pathlib import Path

import click

from cortex.runtime.access.trust import UntrustedHomeError, give_trust
from cortex.runtime.kernel import Home
from cortex.runtime.serving import (
    ActingDocument,
    acting_document,
    found,
    home_in,
    withdraw_recorded,
)

from ..exits import FAILED, OK, UNTRUSTED
from ..options import home_at, with_screen
from ..screen import Screen
from ..terminal import asked_for_trust, has_person, show_acting

BY_COMMAND = "cortex trust"


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), required=False)
@click.option("--show", is_flag=True, help="Only show what can act in it, and its digest.")
@click.option("--withdraw", is_flag=True, help="Withdraw trust.")
@click.option(
    "--own",
    is_flag=True,
    help="This is your own home, from an older version or a backup: your edits stay trusted.",
)
@click.option("--digest", default="", metavar="HEX", help="Do not ask if this is its digest.")
@with_screen
def trust(
    folder: Path | None, show: bool, withdraw: bool, own: bool, digest: str, screen: Screen
) -> int:
    """Trust a home that came from elsewhere, or withdraw trust.

    It trusts the home in FOLDER, or the one that belongs to this folder. It first shows what can
    act in the home: its processes, plugins and programs, tool servers, the hosts of its models and
    the variables with keys that they would get, and the work that waits in its log. Cortex keeps
    trust in your own folder, outside the home. It asks again about what version control or a copy
    brings later, but not about your own edits.

    --show ends with 6 if the home is not trusted. In CI, put the digest that it prints into
    CORTEX_TRUST; separate several with commas.
    """
    if (show or withdraw) and (own or digest or (show and withdraw)):
        raise click.UsageError("--show and --withdraw go with no other option")
    home = home_at(None) if folder is None else Home(home_in(folder.absolute()))
    home.check()
    if withdraw:
        return _withdraw(home, screen)
    document = acting_document(home)
    if show:
        _show(screen, document)
        return OK if document.trusted else UNTRUSTED
    return _trust(home, document, screen, own=own, digest=digest.lower())


def _show(screen: Screen, document: ActingDocument) -> None:
    screen.document(document)
    show_acting(screen, document)
    screen.line(document.digest)


def _trust(home: Home, document: ActingDocument, screen: Screen, *, own: bool, digest: str) -> int:
    if document.trusted and not own:
        screen.document(document)
        screen.line(f"{home.path} is trusted already")
        return OK
    show_acting(screen, document)
    if digest:
        give_trust(home.path, by=BY_COMMAND, digest=digest, own=own)
    elif not has_person():
        raise UntrustedHomeError(str(home.path), ("there is no terminal to ask at",))
    elif not asked_for_trust(home, document, own=own):
        screen.note("it stays as it was", "yellow")
        return FAILED
    document.trusted, document.reasons = True, []
    screen.document(document)
    screen.line(f"trusted {home.path}", "bold")
    return OK


def _withdraw(home: Home, screen: Screen) -> int:
    document, problem = withdraw_recorded(home)
    if problem:
        screen.note(f"its log has no record of it: {problem}", "yellow")
    screen.document(document)
    screen.line(f"{home.path} is not trusted any more")
    if found(home):
        screen.note("the hub that is up on it continues: `cortex down` ends it", "yellow")
    return OK
