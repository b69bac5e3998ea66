"""`cortex status`: who is connected to the hub, who is behind, how fast the log grows."""

import time
from pathlib import Path
from typing import Any

import click
import msgspec

from cortex.bus import clock_behind_ns
from cortex.bus.events import RuntimeAnswer, RuntimeGet
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import ConfigError, Home, duration, iso, many
from cortex.runtime.log import EventLog, LogMissingError, no_room
from cortex.runtime.processes.catalog import NotReady, not_ready_lines, not_ready_of
from cortex.runtime.serving import (
    Rate,
    SubscriptionRow,
    connected,
    found,
    rates_of,
    subscriptions_of,
)
from cortex.runtime.serving.doctor import (
    Failing,
    SilentServer,
    failing_lines,
    failing_of,
    plugins_of,
    silent_server_lines,
    silent_servers_of,
)

from ..exits import NOT_FOUND, OK
from ..options import with_home, with_screen
from ..screen import Screen

PATIENCE_S = 10.0  # for the hub's own word


class ClientRow(msgspec.Struct):
    """One client that is connected."""

    name: str
    carrier: str  # "ipc", "tcp" or "tls"
    address: str
    connections: int
    since: str  # UTC


class PluginRow(msgspec.Struct):
    """One plugin that is to run, or that ended otherwise than by being unloaded."""

    name: str
    state: str  # loading, loaded, failing, crashed, given up or denied
    version: str
    reason: str


class StatusDocument(msgspec.Struct):
    """A home and the hub on it."""

    home: str
    up: bool
    pid: int | None
    version: str | None  # of Cortex
    since: str | None  # UTC
    urls: list[str]  # as clients write them, with the fingerprint where there is one
    events: int  # position of the newest
    clock_behind_s: float  # how far this machine's clock is behind the newest event
    rates: list[Rate]
    clients: list[ClientRow]
    subscriptions: list[SubscriptionRow]
    not_ready: list[NotReady]  # sources that do not compile, processes that are unlinked
    plugins: list[PluginRow]  # that are to run, and those that could not
    failing: list[Failing]  # components that could not handle an event since they started
    silent_servers: list[SilentServer]  # servers of tools that offer none


@click.command()
@click.option("--all", "every", is_flag=True, help="Show idle subscriptions, too.")
@with_home
@with_screen
def status(every: bool, home: Home, screen: Screen) -> int:
    """Show whether a hub is up, who is connected, and how fast it is.

    It also shows how far behind subscriptions are: those with waiting or taken events; --json has
    all of them. If no hub is up, it shows what is in the log, and ends with 3.
    """
    home.check()
    answer, own = None, ""
    if found(home):
        with connected(home, "status") as client:
            reply = client.ask(RuntimeGet(), PATIENCE_S)
            answer = reply if isinstance(reply, RuntimeAnswer) else None
            own = client.name
    document = _document(home, answer, own)
    screen.document(document)
    _show(screen, document, every=every)
    return OK if document.up else NOT_FOUND


def _document(home: Home, answer: RuntimeAnswer | None, own: str) -> StatusDocument:
    events, behind_s, rates, subscriptions = _standing(home)
    clients = [_client(each) for each in answer.clients] if answer else []
    return StatusDocument(
        home=str(home.path),
        up=answer is not None,
        pid=answer.pid if answer else None,
        version=answer.version if answer else None,
        since=iso(answer.since_ns) if answer else None,
        urls=list(answer.urls) if answer else [],
        events=events,
        clock_behind_s=behind_s,
        rates=rates,
        clients=[client for client in clients if client.name != own],  # not who asks
        subscriptions=subscriptions,
        **_told(home),
    )


def _told(home: Home) -> dict[str, Any]:
    """What the log says of what does not work."""
    with History.open(home) as history:
        try:
            silent = silent_servers_of(history)
        except ConfigError:
            silent = []  # which there are, nobody can tell; `doctor` does
        plugins = [
            PluginRow(name, how.state, how.load.version if how.load else "", how.reason)
            for name, how in sorted(plugins_of(history).items())
            if how.state != "unloaded"
        ]
        return {
            "not_ready": not_ready_of(history),
            "plugins": plugins,
            "failing": failing_of(history),
            "silent_servers": silent,
        }


def _client(said: dict[str, object]) -> ClientRow:
    present = msgspec.convert(said, _Present)
    return ClientRow(
        present.name,
        present.carrier,
        present.address,
        present.connections,
        iso(present.since_ns),
    )


def _standing(home: Home) -> tuple[int, float, list[Rate], list[SubscriptionRow]]:
    try:
        log = EventLog.open(home.log_path, readonly=True)
    except LogMissingError:
        return 0, 0.0, [], []
    try:
        state, now_ns = log.state(), time.time_ns()
        behind_ns = clock_behind_ns(state.time_ns, now_ns)
        rates = rates_of(log, state.head, now_ns + behind_ns)
        subscriptions = subscriptions_of(log, state, time.monotonic_ns())
        return state.head, behind_ns / 1e9, rates, subscriptions
    finally:
        log.close()


def _show(screen: Screen, document: StatusDocument, *, every: bool) -> None:
    if document.up:
        screen.line(f"up  {document.home} (process {document.pid})", "bold green")
        screen.line(f"    Cortex {document.version}, since {document.since}")
        for url in document.urls:
            screen.line(f"    {url}")
    else:
        screen.line(f"down  {document.home}", "bold")
        screen.line("cortex up", "cyan")
    rates = ", ".join(
        f"{rate.events_per_s:,.1f} events/s over {duration(rate.over_s)}" for rate in document.rates
    )
    screen.line(f"{many(document.events, 'event')}{f'; {rates}' if rates else ''}")
    if no_room(Path(document.home)):
        screen.line("the disk of this home is full: nothing can be recorded", "yellow")
        screen.line("-> free some space: waiting work then continues automatically")
    if document.clock_behind_s:
        behind = duration(document.clock_behind_s)
        screen.line(f"the newest event is {behind} in the future of this clock", "yellow")
        screen.line("-> set the clock if it is wrong; nothing waits for it to catch up")
    for line in (
        *not_ready_lines(document.not_ready),
        *failing_lines(document.failing),
        *silent_server_lines(document.silent_servers),
    ):
        screen.line(line, "yellow")
    if document.plugins:
        screen.line()
        screen.table(
            ("plugin", "version", "state", "about"),
            ((p.name, p.version, p.state, p.reason) for p in document.plugins),
        )
    if document.clients:
        screen.line()
        screen.table(
            ("client", "over", "from", "connections", "since"),
            ((c.name, c.carrier, c.address, str(c.connections), c.since) for c in document.clients),
        )
    _show_subscriptions(screen, document.subscriptions, every=every)


def _show_subscriptions(screen: Screen, rows: list[SubscriptionRow], *, every: bool) -> None:
    shown = [row for row in rows if every or row.lag or row.held]
    if rows:
        screen.line()
    if shown:
        screen.table(("subscription", "kind", "waiting", "held", "oldest"), map(_cells, shown))
    if len(shown) < len(rows):
        screen.line(f"idle subscriptions: {len(rows) - len(shown)}, which --all shows")


def _cells(row: SubscriptionRow) -> tuple[str, ...]:
    waiting = f"{row.lag:,}" if row.exact else f"up to {row.lag:,}"
    held = f"{row.held:,}" if row.kind == "work" else ""
    oldest = "" if row.oldest_s is None else duration(row.oldest_s)
    return row.name, row.kind, waiting, held, oldest


class _Present(msgspec.Struct):
    name: str
    carrier: str
    address: str
    connections: int
    since_ns: int
