"""`cortex status` and `cortex doctor`: the state of a home and its hub, and its problems."""

from math import isinf

import click

from cortex.runtime.admin import StatusDocument, status_of
from cortex.runtime.kernel import Home, duration, many
from cortex.runtime.metrics import BUCKETS_S, MetricRow, metrics_of
from cortex.runtime.processes.catalog import not_ready_lines
from cortex.runtime.serving import SubscriptionRow
from cortex.runtime.serving.doctor import checks_of, failing_lines, silent_server_lines

from ..exits import NOT_FOUND, OK, UNUSABLE
from ..options import at_any_home, at_home
from ..screen import STATES, Columns, Screen

PLUGINS: Columns = {"plugin": "name", "version": "version", "state": "state", "about": "reason"}
CLIENTS: Columns = {
    "client": "name",
    "over": "carrier",
    "from": "address",
    "connections": "connections",
    "since": "since",
}
SUBSCRIPTIONS: Columns = {
    "subscription": "name",
    "kind": "kind",
    "waiting": lambda row: f"{row.lag:,}" if row.exact else f"up to {row.lag:,}",
    "held": lambda row: f"{row.held:,}" if row.kind == "work" else "",
    "oldest": lambda row: "" if row.oldest_s is None else duration(row.oldest_s),
}


METRICS: Columns = {
    "metric": "name",
    "labels": lambda row: ", ".join(f"{name} {value}" for name, value in row.labels.items()),
    "value": lambda row: _value(row),
    "mean": lambda row: duration(row.mean) if row.count else "",
    "95 % within": lambda row: _bound(row) if row.count else "",
}


@click.command()
@click.option("--all", "every", is_flag=True, help="Show idle subscriptions, too.")
@click.option("--metrics", is_flag=True, help="Show what was counted and measured, instead.")
@at_home
def status(every: bool, metrics: bool, home: Home, screen: Screen) -> int:
    """Show whether a hub is up, who is connected, and how fast it is.

    It also shows how far behind subscriptions are: those with waiting or taken events; --json has
    all of them. If no hub is up, it shows what is in the log, and ends with 3.

    With --metrics: executions, steps, gates, prompts, calls of models and tools, tokens and costs,
    with the times that they took, from the whole log. It needs no hub.
    """
    if metrics:
        found = metrics_of(home)
        screen.document(found)
        screen.rows(found.metrics, METRICS, empty="nothing was recorded yet", known=True)
        return OK
    document = status_of(home)
    screen.document(document)
    _show(screen, document)
    _show_subscriptions(screen, document.subscriptions, every=every)
    return OK if document.up else NOT_FOUND


def _value(row: MetricRow) -> str:
    """How much was counted or observed; an amount of dollars with its digits."""
    return f"{row.count:,}" if row.count else f"{row.value:,.10g}"


def _bound(row: MetricRow) -> str:
    bound = row.quantile(0.95)
    return f"over {duration(BUCKETS_S[-1])}" if isinf(bound) else duration(bound)


def _show(screen: Screen, document: StatusDocument) -> None:
    if document.up:
        screen.line(f"up  {document.home} (process {document.pid})", "bold green")
        screen.line(f"    Cortex {document.version}, since {document.since}")
        screen.lines(f"    {url}" for url in document.urls)
    else:
        screen.line(f"down  {document.home}", "bold")
        screen.line("cortex up", "cyan")
    rates = ", ".join(
        f"{rate.events_per_s:,.1f} events/s over {duration(rate.over_s)}" for rate in document.rates
    )
    screen.line(f"{many(document.events, 'event')}{f'; {rates}' if rates else ''}")
    if document.disk_full:
        screen.line("the disk of this home is full: nothing can be recorded", "yellow")
        screen.line("-> free some space: waiting work then continues automatically")
    if document.clock_behind_s:
        behind = duration(document.clock_behind_s)
        screen.line(f"the newest event is {behind} in the future of this clock", "yellow")
        screen.line("-> set the clock if it is wrong; nothing waits for it to catch up")
    screen.lines(not_ready_lines(document.not_ready), "yellow")
    screen.lines(failing_lines(document.failing), "yellow")
    screen.lines(silent_server_lines(document.silent_servers), "yellow")
    for row in document.witnesses:
        none = "" if row.counts else f"; it counts as none: {row.why_not}"
        told = f"witness {row.name}: {many(row.events, 'event')} cosigned{none}"
        screen.line(told, "" if row.counts else "yellow")
    if document.plugins:
        screen.line()
        screen.rows(document.plugins, PLUGINS, known=True)
    if document.clients:
        screen.line()
        screen.rows(document.clients, CLIENTS, known=True)


def _show_subscriptions(screen: Screen, rows: list[SubscriptionRow], *, every: bool) -> None:
    shown = [row for row in rows if every or row.lag or row.held]
    if rows:
        screen.line()
    if shown:
        screen.rows(shown, SUBSCRIPTIONS, known=True)
    if len(shown) < len(rows):
        screen.line(f"idle subscriptions: {len(rows) - len(shown)}, which --all shows")


@click.command()
@click.option("--quick", is_flag=True, help="Do not read every event of the log and every blob.")
@click.option("--load", is_flag=True, help="Also import your own components: their code runs.")
@at_any_home
def doctor(quick: bool, load: bool, home: Home, screen: Screen) -> int:
    """Check this installation, the home, its log and its blobs.

    It changes nothing, and runs no code of the home without --load.

    Ends with 4 if you have to do something.
    """
    found = []
    for check in checks_of(home, deep=not quick, loading=load):
        found.append(check)
        screen.line(f"{check.state:<5} {check.name:<11} {check.found}", STATES[check.state])
        if check.todo:
            screen.line(f"{'':<17} -> {check.todo}")
    screen.document(found)
    return UNUSABLE if any(check.state == "fail" for check in found) else OK
