"""Serves a home's runtime to other processes and machines."""

import contextlib
import os
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

import msgspec

from cortex.bus import AskTimeoutError, Clock, Event, HubServer, Logger, Query, ServerTls
from cortex.bus.events import RuntimeAnswer, RuntimeGet
from cortex.runtime.access import HubAccess, client_authority, hub_certificate, read_certificate
from cortex.runtime.kernel import VERSION, Component, Entry, Home, Runtime
from cortex.runtime.log import EventLog, LogHeldError
from cortex.runtime.processes import compile_home
from cortex.runtime.subjects import stored_log

from .errors import HELD_FOR_HUB, AlreadyUpError, NotUpError
from .note import Note, found, remove, url_of, write

# Only with a running hub: changed files start executions, and processes are compiled and knowledge
# is indexed when they change.
FILE_WATCHER = "cortex.actors.managers:FileWatchManager"
PROCESS_WATCHER = "cortex.actors.managers:ProcessWatchManager"
KNOWLEDGE_WATCHER = "cortex.actors.managers:KnowledgeWatchManager"
TLS = "tls+tcp://"
ROWS_TOLD = 1_000  # rows that differ from the hub's state
ANYWHERE = ("0.0.0.0", "::")  # noqa: S104  # no names of this machine, so in no certificate
VARIABLE = "NOTIFY_SOCKET"

log = Logger("cortex.serving")


class Service:
    """Serves the hub of one home; use it as a context manager.

    Args:
        home: Created if it is missing.
        listen: Addresses in addition to the home's own socket.
        insecure: Must be True for tcp:// on loopback, which is not encrypted.
        certificate: Used for tls+tcp:// instead of the hub's own: PEM, with its key.
        components: Used instead of the built-in and configured components.
        clock: The hub's clock.
    """

    def __init__(
        self,
        home: Home,
        listen: Sequence[str] = (),
        *,
        insecure: bool = False,
        certificate: Path | None = None,
        components: Iterable[str | Entry | type[Component]] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._home = home
        self._listen, self._insecure = tuple(listen), insecure
        self._certificate = certificate
        self._components, self._clock = components, clock
        self._open = contextlib.ExitStack()
        self._note: Note | None = None
        self._runtime: Runtime | None = None
        self._server: HubServer | None = None

    @property
    def note(self) -> Note:
        """The note with its addresses.

        Raises:
            NotUpError: The service is not entered.
        """
        if self._note is None:
            raise NotUpError(str(self._home.path))
        return self._note

    def check(self) -> None:
        """Check that this process still owns the home.

        Raises:
            LogLostError: It may not own it: the server must end, and record nothing more.
        """
        log = stored_log(self._runtime.log) if self._runtime is not None else None
        if isinstance(log, EventLog):
            log.check_owner()

    def __enter__(self) -> Self:
        """Start the runtime, compile the processes of the home, then listen.

        A source that does not compile is recorded as `process.rejected`, and affects nothing else.

        Raises:
            AlreadyUpError: Another process serves the home, or runs a runtime on it.
            UrlError: An address cannot be listened on.
            CortexError: The runtime cannot start; the message says why.
        """
        with contextlib.ExitStack() as opened:
            self._start(opened)
            self._open = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        self._note = None

    def _start(self, opened: contextlib.ExitStack) -> None:
        home = self._home.open()
        runtime = self._opened(home, opened)
        keys, limits = home.path / "keys", runtime.config.limits
        access = HubAccess(runtime.hub, runtime.log, runtime.vocabulary, keys, limits)
        opened.callback(access.close)
        server = HubServer(runtime.hub, runtime.log, runtime.blobs, access)
        opened.callback(server.close)
        tls, fingerprint = self._tls(home)
        urls = tuple(
            server.listen(url, tls=tls, insecure=self._insecure, waits=True) for url in self._listen
        )
        runtime.start()  # after those, so that a port in use is reported at once
        if self._components is None:
            _compile(home, runtime)  # before clients can publish triggers for these processes
            runtime.add(FILE_WATCHER)
            if runtime.config.processes.watch:
                runtime.add(PROCESS_WATCHER)
            if runtime.config.knowledge.watch:
                runtime.add(KNOWLEDGE_WATCHER)
        self._runtime, self._server = runtime, server
        since_ns = runtime.clock.now_ns()
        self._note = Note(os.getpid(), url_of(home), urls, since_ns, VERSION, fingerprint)
        runtime.hub.answer(RuntimeGet, self._tell)
        opened.callback(runtime.hub.unanswer, RuntimeGet)
        write(home, self._note)
        opened.callback(remove, home, os.getpid())
        server.listen(self._note.url)  # last: a client that gets an answer there finds all ready
        server.take()

    def _opened(self, home: Home, opened: contextlib.ExitStack) -> Runtime:
        try:
            runtime = Runtime(
                home, components=self._components, clock=self._clock, held_for=HELD_FOR_HUB
            )
        except LogHeldError as error:
            up = found(home)
            pid = up.pid if up and up.pid else error.pid
            between = error.held_for == HELD_FOR_HUB
            raise AlreadyUpError(str(home.path), pid, up is not None, between) from None
        opened.callback(runtime.stop)
        return runtime

    def _tls(self, home: Home) -> tuple[ServerTls | None, str]:
        """The certificate of tls+tcp:// and its fingerprint; empty without such an address."""
        hosts = [urlsplit(u).hostname or "" for u in self._listen if u.startswith(TLS)]
        if not hosts:
            return None, ""
        keys = home.path / "keys"
        if self._certificate is not None:
            shown = read_certificate(self._certificate)
        else:
            shown = hub_certificate(keys, [h for h in hosts if h not in ANYWHERE])
        path = Path(shown.path)
        clients = Path(client_authority(keys).path)
        return ServerTls(certificate=path, key=path, clients=clients), shown.sha256

    def _tell(self, query: Query, timeout_s: float) -> Event:  # noqa: ARG002  # it is at hand
        """Answer a `RuntimeGet`."""
        note, runtime, server = self.note, self._runtime, self._server
        if runtime is None or server is None:
            raise NotUpError(str(self._home.path))
        wanted = isinstance(query, RuntimeGet) and query.check
        clients = tuple(msgspec.structs.asdict(client) for client in server.clients())
        return RuntimeAnswer(
            position=runtime.hub.head,
            pid=note.pid,
            version=note.version,
            since_ns=note.since_ns,
            urls=note.addresses,
            clients=clients,
            astray=tuple(runtime.hub.astray()[:ROWS_TOLD]) if wanted else (),
        )


def _compile(home: Home, runtime: Runtime) -> None:
    """Compile the processes of *home*; an error in one does not affect the others."""
    try:
        found = compile_home(home, runtime.client("processes"), runtime.blobs, relink=True)
    except (AskTimeoutError, OSError) as error:
        log.warning("processes_not_compiled", error=str(error))
        return
    for problem in found:
        log.warning("process_rejected", problem=str(problem))


def tell_systemd(state: str) -> None:
    """Report *state*, such as "READY=1", to systemd; does nothing without it."""
    path = os.environ.get(VARIABLE, "")
    if not path:
        return
    if path.startswith("@"):  # abstract namespace
        path = "\0" + path[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as knock, contextlib.suppress(OSError):
        knock.sendto(state.encode(), path)
