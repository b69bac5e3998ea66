"""A home and the hub on it: connections, delays, and the growth of the log."""

import time
from pathlib import Path
from typing import Any

import msgspec

from cortex.bus import SystemClock, clock_behind_ns, steady_s
from cortex.bus.events import RuntimeAnswer, RuntimeGet, RuntimeStarted
from cortex.runtime.audit import AuditError, Cosigning, Standing
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import ConfigError, Home, iso
from cortex.runtime.log import EventLog, LogMissingError, no_room
from cortex.runtime.processes.catalog import NotReady, not_ready_of
from cortex.runtime.projections import Selection
from cortex.runtime.serving import (
    Note,
    PluginFared,
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
    failing_of,
    plugins_of,
    silent_servers_of,
)

PATIENCE_S = 10.0  # for the hub's own word
PLUGINS_S = 6.0  # that are waited for plugins, to say how they fare
LOOK_S = 0.05
STARTS = Selection(topics=(RuntimeStarted.topic_name(),))
OF_PLUGINS = Selection(topics=("plugin.*",))


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
    urls: list[str]  # as clients write them, with the fingerprint, if any
    events: int  # position of the newest
    clock_behind_s: float  # how far this machine's clock is behind the newest event
    rates: list[Rate]
    clients: list[ClientRow]
    subscriptions: list[SubscriptionRow]
    not_ready: list[NotReady]  # sources that do not compile, processes that are unlinked
    plugins: list[PluginRow]  # that are to run, and those that could not
    failing: list[Failing]  # components that could not handle an event since they started
    silent_servers: list[SilentServer]  # servers of tools that offer none
    witnesses: list[Standing]  # of the log, how far each has cosigned, and whether it counts

    @property
    def disk_full(self) -> bool:
        """Whether nothing can be recorded for want of room."""
        return no_room(Path(self.home))


class UpDocument(msgspec.Struct):
    """A hub that is up."""

    home: str
    pid: int
    urls: list[str]
    fingerprint: str  # of the certificate shown on tls+tcp://; empty if there is none
    version: str
    not_ready: list[NotReady]  # sources that do not compile, processes that are unlinked


def status_of(home: Home) -> StatusDocument:
    """The home as it is now; its hub is asked, if one is up.

    Raises:
        HomeError: The home cannot be used.
        HubSilentError: A hub is up and does not answer.
    """
    home.check()
    answer, own = None, ""
    if found(home):
        with connected(home, "status") as client:
            reply = client.ask(RuntimeGet(), PATIENCE_S)
            answer = reply if isinstance(reply, RuntimeAnswer) else None
            own = client.name
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
        witnesses=_witnesses(home),
        clients=[client for client in clients if client.name != own],  # not who asks
        subscriptions=subscriptions,
        **_told(home),
    )


def _witnesses(home: Home) -> list[Standing]:
    try:
        return Cosigning(home).standings()
    except AuditError:
        return []  # unknown here; `cortex audit witness list` says why


def _told(home: Home) -> dict[str, Any]:
    """The problems that the log reports."""
    with History.open(home) as history:
        try:
            silent = silent_servers_of(history)
        except ConfigError:
            silent = []  # unknown here; `doctor` reports them
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
    since_ns = msgspec.convert(said["since_ns"], int)
    return msgspec.convert({**said, "since": iso(since_ns)}, ClientRow)


def _standing(home: Home) -> tuple[int, float, list[Rate], list[SubscriptionRow]]:
    try:
        log = EventLog.open(home.log_path, readonly=True)
    except LogMissingError:
        return 0, 0.0, [], []
    try:
        state, now_ns = log.state(), time.time_ns()
        behind_ns = clock_behind_ns(state.time_ns, now_ns)
        rates = rates_of(log, state.head, now_ns + behind_ns)
        subscriptions = subscriptions_of(log, state, SystemClock().monotonic_ns())
        return state.head, behind_ns / 1e9, rates, subscriptions
    finally:
        log.close()


def up_document(home: Home, note: Note) -> UpDocument:
    """The hub that *note* describes, and what it cannot run of its home."""
    with History.open(home) as history:
        not_ready = not_ready_of(history)
    urls = [note.url, *note.urls]
    return UpDocument(str(home.path), note.pid, urls, note.fingerprint, note.version, not_ready)


def plugins_at_start(home: Home) -> dict[str, PluginFared]:
    """The plugins that start with the hub, and their state after that, or after a while."""
    until = steady_s() + PLUGINS_S
    while True:
        with History.open(home) as history:
            begun = max((r.position for r in history.select(STARTS)), default=0)
            # Before `said`: what ends between the two is said then, and no longer wanted.
            wanted = {name for name, how in plugins_of(history).items() if how.load is not None}
            said = {r.stream.partition("/")[2] for r in history.select(OF_PLUGINS, begun)}
            fared = plugins_of(history)
        if wanted <= said or steady_s() > until:
            starting = {name: PluginFared("starting") for name in wanted - said}
            known = {name: fared[name] for name in said & fared.keys()}
            return dict(sorted({**starting, **known}.items()))
        time.sleep(LOOK_S)
