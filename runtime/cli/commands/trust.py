"""`cortex trust`: let a home act that came from somewhere, or no more."""

from pathlib import Path

import click
import msgspec

from cortex.bus import CortexError
from cortex.bus.events import TrustWithdrawn
from cortex.runtime.access.trust import UntrustedHomeError, give_trust, withdraw_trust
from cortex.runtime.kernel import Home
from cortex.runtime.serving import ActingDocument, acting_document, found, granting, home_in

from ..exits import FAILED, OK, UNTRUSTED
from ..options import home_at, with_screen
from ..running import asked_for_trust, has_person, show_acting
from ..screen import Screen

BY_COMMAND = "cortex trust"


class WithdrawnDocument(msgspec.Struct):
    """A home that is not trusted any more."""

    home: str
    was_trusted: bool
    recorded: bool  # in its log


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), required=False)
@click.option("--show", is_flag=True, help="Only show what can act in it, and its digest.")
@click.option("--withdraw", is_flag=True, help="Trust it no more.")
@click.option(
    "--own",
    is_flag=True,
    help="It is a home of your own, from before or from a backup: your edits stay trusted.",
)
@click.option("--digest", default="", metavar="HEX", help="Do not ask, if this is its digest.")
@with_screen
def trust(
    folder: Path | None, show: bool, withdraw: bool, own: bool, digest: str, screen: Screen
) -> int:
    """Let a home act, or no more: one that came from somewhere.

    That is the home in FOLDER, or the one that belongs to this folder. What can act in it is
    shown first: its processes, plugins and programs, servers of tools, the hosts of its models
    and the variables with keys that they would get, and what waits in its log. Trust is kept in
    your own folder, outside the home. What version control or a copy brings later is asked
    about again; your own edits are not.

    --show ends with 6 where the home is not trusted. In CI the digest that it prints goes into
    CORTEX_TRUST; several are separated by commas.
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
        raise UntrustedHomeError(str(home.path), ("nobody is here to be asked",))
    elif not asked_for_trust(home, document, own=own):
        screen.note("it stays as it was", "yellow")
        return FAILED
    document.trusted, document.reasons = True, []
    screen.document(document)
    screen.line(f"trusted {home.path}", "bold")
    return OK


def _withdraw(home: Home, screen: Screen) -> int:
    recorded = False
    if not home.untrusted_because and home.log_path.exists():
        try:
            with granting(home) as owner:
                owner.publish(TrustWithdrawn(home=str(home.path)))
            recorded = True
        except CortexError as error:
            screen.note(f"its log does not tell of it: {error}", "yellow")
    was = withdraw_trust(home.path)
    screen.document(WithdrawnDocument(str(home.path), was, recorded))
    screen.line(f"{home.path} is not trusted any more")
    if found(home):
        screen.note("the hub that is up on it goes on: `cortex down` ends it", "yellow")
    return OK
