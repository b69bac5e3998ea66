"""`cortex plugin`: the installed plugins, their requests and their grants."""

import shlex
from pathlib import Path

import click

from cortex.bus import SubscriptionError, check_start
from cortex.bus.events import PluginLoad, PluginUnload
from cortex.runtime.cli.extensions import (
    OK,
    Columns,
    Family,
    Screen,
    at_any_home,
    at_home,
    with_screen,
)
from cortex.runtime.cli.terminal import open_session
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Home
from cortex.runtime.serving import PluginFared
from cortex.runtime.serving.doctor import plugins_of, times

from ..errors import PluginRefusedError
from ..granted import chosen
from ..host import lines_of, unavailable
from ..installed import Installed, installed, installed_as, manifest_here
from ..scaffold import write_package
from .consent import MEANS, again, confirm, document_of
from .developing import dev
from .documents import LoadedDocument, LogDocument, NewDocument, PluginDocument, PluginRow
from .loading import fared, load_of, looked_at, settled

UNCONFINED = click.option(
    "--unconfined", is_flag=True, help="Run its code without a sandbox: you trust its author."
)


@click.group(cls=Family)
def plugin() -> None:
    """Show plugins, load them with grants, write one."""


plugin.add_command(dev)


@plugin.command("list")
@at_any_home
def list_(home: Home, screen: Screen) -> None:
    """List the installed and the loaded plugins.

    This runs no code of plugins that others wrote. A plugin is a package with an entry point in the
    group `cortex.plugins`; its installation grants it nothing.
    """
    there = {each.name: each for each in installed()}
    known = _all_fared(home)
    rows = [
        _row(name, there.get(name), known.get(name, PluginFared()))
        for name in sorted({*there, *(n for n, how in known.items() if how.state != "unloaded")})
    ]
    screen.rows(rows, COLUMNS)


@plugin.command()
@click.argument("name")
@UNCONFINED
@at_any_home
def info(name: str, unconfined: bool, home: Home, screen: Screen) -> None:
    """Show what the plugin NAME requests and what you granted.

    Its own code reports this, in a sandbox without files and without network.
    """
    found = installed_as(name)
    document = document_of(found, looked_at(found, home, unconfined=unconfined), _fared(home, name))
    screen.document(document)
    _show(screen, document)


@plugin.command()
@click.argument("name")
@click.option(
    "--grant", multiple=True, metavar="PART", help="Grant only this part; repeat it for more parts."
)
@click.option("--deny", multiple=True, metavar="PART", help="Grant everything except this part.")
@click.option(
    "--in-runtime", is_flag=True, help="Run it in the runtime's own process; needs --unconfined."
)
@click.option(
    "--from",
    "start",
    default="",
    metavar="WHERE",
    help="Where its events begin: `beginning`, `now`, the position of an event, or a time with its "
    "zone [default: as its components say].",
)
@click.option("-y", "--yes", is_flag=True, help="Grant without a question.")
@UNCONFINED
@at_any_home
def load(
    name: str,
    grant: tuple[str, ...],
    deny: tuple[str, ...],
    in_runtime: bool,
    start: str,
    yes: bool,
    unconfined: bool,
    home: Home,
    screen: Screen,
) -> int:
    """Load the plugin NAME, with the parts that you grant.

    The command first shows what the plugin requests, and you confirm it. The plugin runs in a
    separate process, in a sandbox, as a client of the bus with only those grants. If a hub is up,
    it starts now; from now on it runs whenever a runtime runs. Plugins that come with Cortex run in
    the hub's process.

    With --from, new subscriptions of its components begin there; an existing one continues at its
    cursor.

    \b
    cortex plugin load ticker --deny network
    cortex plugin load ticker --from beginning
    """  # noqa: D301  # backslash-b keeps lines apart, for click
    if start:
        _check_start(home, name, start)
    found = installed_as(name)
    if in_runtime and not (unconfined or found.built_in):
        raise PluginRefusedError("nothing confines a plugin in the runtime: say --unconfined, too")
    described = looked_at(found, home, unconfined=unconfined, logged=True)
    try:
        granted = chosen(described.manifest, grant, deny)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    document = document_of(found, described, PluginFared())
    if document.problems:
        raise PluginRefusedError(f"plugin {name} cannot be loaded: {'; '.join(document.problems)}")
    if not yes:
        confirm(screen, document, granted, unconfined=unconfined or in_runtime)
    event = load_of(
        described, granted, found, beside=in_runtime, unconfined=unconfined, start=start
    )
    return _load(home, screen, event)


def _check_start(home: Home, name: str, start: str) -> None:
    head = 0
    if home.path.exists():
        with History.open(home) as history:
            head = history.log.state().head if history.log else 0
    try:
        check_start(start, head, name)
    except SubscriptionError as error:
        raise click.UsageError(f"--from: {name} {error.problem}") from None


@plugin.command()
@click.argument("name")
@at_home
def unload(name: str, home: Home, screen: Screen) -> int:
    """End the plugin NAME, and remove all that it has."""
    if _fared(home, name).state == "unloaded":
        raise PluginRefusedError(f"plugin {name} is not loaded")
    with open_session(home, screen) as session:
        settled(session, PluginUnload(plugin=name, reason="asked for on the command line"))
    screen.document(LoadedDocument(name, "unloaded"))
    screen.line(f"plugin {name} is unloaded", "bold")
    return OK


@plugin.command()
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Also grant new requests.")
@at_home
def reload(name: str, yes: bool, home: Home, screen: Screen) -> int:
    """Start the installed version of NAME, with its present grants.

    The running version continues until the new one works. If the new one does not, the command says
    why, and nothing changes. A plugin that was denied or given up starts again. The command shows
    only what the new version requests beyond what you confirmed before, and grants it when you
    confirm.
    """
    how = _fared(home, name)
    if how.confirmed is None:
        raise PluginRefusedError(f"plugin {name} is not loaded: `cortex plugin load {name}`")
    event = again(home, screen, how.confirmed, at_work=how.load is not None, yes=yes)
    return _load(home, screen, event)


@plugin.command()
@click.argument("name")
@click.option("-n", "--lines", type=click.IntRange(min=1), default=50, show_default=True)
@at_home
def logs(name: str, lines: int, home: Home, screen: Screen) -> None:
    """Show the last lines that the plugin NAME printed.

    Its secrets are replaced by their names.
    """
    if "/" in name or name.startswith("."):
        raise click.UsageError(f"{name!r} is not a name of a plugin")
    home.check()
    document = LogDocument(name, tuple(lines_of(home.path, name, lines)))
    if not document.lines and name not in _all_fared(home):
        installed_as(name)
    screen.document(document)
    screen.lines(document.lines)
    if not document.lines:
        screen.note(f"plugin {name} has printed nothing")


@plugin.command()
@click.argument("name")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Where to write it [default: this folder].",
)
@with_screen
def new(name: str, folder: Path, screen: Screen) -> None:
    """Write a package with the plugin NAME, with tests that pass.

    \b
    cortex plugin new ticker
    pip install -e 'cortex-ticker[dev]' && python -m pytest cortex-ticker
    """  # noqa: D301  # backslash-b keeps lines apart, for click
    root, files = write_package(name, folder)
    screen.document(NewDocument(name, str(root), tuple(files)))
    screen.line(f"{root} holds the plugin {name}", "bold")
    for file in files:
        screen.line(f"  {file}")
    wanted = shlex.quote(f"{root}[dev]")
    screen.note(f"next: pip install -e {wanted} && python -m pytest {shlex.quote(str(root))}")


def _load(home: Home, screen: Screen, event: PluginLoad) -> int:
    with open_session(home, screen) as session:
        answer = settled(session, event)
        names, listens = getattr(answer, "components", ()), getattr(answer, "listens", "")
    screen.document(LoadedDocument(event.plugin, "loaded", event.granted, names))
    screen.line(f"plugin {event.plugin} is loaded: {', '.join(names)}", "bold")
    if listens:
        screen.line(f"listens on {listens}")
    screen.note("it runs whenever a runtime runs: in `cortex up`, or during `cortex run`")
    return OK


def _fared(home: Home, name: str) -> PluginFared:
    if not home.path.exists():
        return PluginFared()
    with History.open(home) as history:
        return fared(history, name)


def _all_fared(home: Home) -> dict[str, PluginFared]:
    found: dict[str, PluginFared] = {}
    if home.path.exists():
        with History.open(home) as history:
            found = plugins_of(history)
    return found


def _row(name: str, found: Installed | None, how: PluginFared) -> PluginRow:
    loaded = how.load
    return PluginRow(
        name=name,
        package=found.package if found else "",
        version=found.version if found else "",
        state=how.state,
        place=loaded.place if loaded else "",
        confined=loaded.confined if loaded else False,
        reason=how.reason,
        failures=how.failures,
        summary=_summary(found) if found else "",
    )


def _summary(found: Installed) -> str:
    # The metadata of our own package describe Cortex, not the plugin in it.
    return manifest_here(found).summary if found.built_in else found.summary


def _about(row: PluginRow) -> str:
    return f"{times(row.failures)}: {row.reason}" if row.failures else row.reason or row.summary


COLUMNS: Columns = {
    "name": "name",
    "version": "version",
    "package": "package",
    "state": "state",
    "place": lambda row: row.place or "-",
    "about": _about,
}


def _show(screen: Screen, document: PluginDocument) -> None:
    screen.line(f"{document.name} {document.version}, of {document.package}", "bold")
    if document.summary:
        screen.paragraph(document.summary)
    screen.line(f"works with Cortex {document.cortex}; is {document.state}")
    screen.line(f"components: {', '.join(document.components)}")
    for part in document.asks:
        mark = "granted" if part in document.granted else "asks"
        screen.line(f"  {mark:<8} {part}")
    screen.line(f"limits: {document.limits.told()}")
    for name, effect in document.effects.items():
        screen.line(f"effect: {name} is {effect}: {MEANS[effect]}")
    for problem in document.problems:
        screen.paragraph(problem, lead="problem: ", style="red")
    if document.reason:
        failures = f"{times(document.failures)}, " if document.failures else ""
        screen.paragraph(f"{failures}{document.reason}", lead=f"{document.state}: ")
    if document.failures:
        screen.note(f"`cortex plugin logs {document.name}` shows where it came from")
    if unavailable():
        screen.note(f"plugins cannot be confined here: {unavailable()}", "yellow")
