"""A hub's server: its addresses, connections and admitted clients."""

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from ...access import Access, Open, Peer
from ...blobs import Blobs
from ...client.client import Client
from ...errors import ClientDeniedError, UrlError
from ...event import Event
from ...limits import root_of
from ...local import LocalHub
from ...log import Log
from ...vocabulary import Vocabulary
from .. import inproc
from ..frames import Gone, Hello
from ..tls import ServerTls
from ..urls import checked_path, parse, with_port
from .blobs import BlobDesk
from .carrier import UNUSED, Carrier, Context, Pipe
from .connected_client import Connected, ConnectedClient
from .connection import Connection
from .dispatcher import Dispatcher
from .failures import Failures
from .inside import HubInside
from .questions import Questions
from .strangers import Strangers
from .unnamed import UnnamedBlobs
from .unopened import Unopened, notice_the_dead
from .usage import Usage
from .watchman import Watchman
from .workers import Workers

CONNECTIONS = 1_024  # of all admitted clients together
KEPT_FOR_IPC = 64  # of them, so that network clients cannot shut out local ones
# Network connections that are not admitted yet. Few: nng accepts as large a frame from each of
# them as from an admitted one.
STRANGERS = 32
NEIGHBOURS = 256  # the same over ipc, from the owner's own programs
AN_ADDRESS = 16  # of them from one address
UNOPENED = 256  # connections before nng's greeting
UNOPENED_AN_ADDRESS = 128
HELLO_S = 10.0  # time to be admitted, from nng's greeting to the hello
A_CLIENT = 64  # connections of one client, under all its names
# A client that lost its last connection keeps its work for this long. The kernel of a
# killed process closes its connections; a network may cut those of a live one.
BACK_S = {"ipc": 1.0}
BACK_FROM_AFAR_S = 5.0
NOBODY = "?"  # a client that is not admitted yet


class HubServer:
    """Serves one hub to other processes.

    Args:
        hub: Handles the requests; closing the server does not close it.
        log: Its log, for reading.
        blobs: The store of payloads; None if there is none.
        access: Says who may do what; None allows everything, for tests.
    """

    def __init__(
        self,
        hub: LocalHub,
        log: Log,
        blobs: Blobs | None = None,
        access: Access | None = None,
    ) -> None:
        self._hub, self._log = hub, log
        self._access: Access = access or Open()
        self.failures = Failures(hub)
        self._questions = Questions(hub)
        self._store = blobs
        self.unnamed = (
            None
            if blobs is None
            else UnnamedBlobs(blobs, log, lambda: hub.head, hub.clock, hub.steady_ns, hub.alarm)
        )
        self._blobs = BlobDesk(blobs, hub.steady_ns, hub.alarm, self.unnamed)
        self.dispatcher = Dispatcher(hub, log, self._access, self._questions, self._blobs)
        self._lock = threading.Lock()
        self._programs: dict[tuple[str, str], ConnectedClient] = {}
        # Clients without a connection that still hold work.
        self._away: dict[tuple[str, str], ConnectedClient] = {}
        self._usages: dict[str, Usage] = {}  # of limited clients; reconnecting does not reset them
        self._connections: dict[int, Connection] = {}  # by nng's number of the pipe
        self._let_in = 0  # number of admitted ones; the others are strangers
        self.outsiders: Strangers[Connection] = Strangers(STRANGERS, AN_ADDRESS, HELLO_S)
        # Separate, so that network clients cannot shut out local ones.
        self.insiders: Strangers[Connection] = Strangers(NEIGHBOURS, NEIGHBOURS, HELLO_S)
        self.unopened = Unopened(UNOPENED, UNOPENED_AN_ADDRESS, HELLO_S)
        self._urls: list[str] = []
        self._ports: set[int] = set()
        self._waiting: dict[int, list[tuple[Connection, Context, bytes]]] = {}  # until `take`
        self._closed = False
        self._receiving = threading.local()  # jobs that a receiving thread does after its answer
        self._workers = Workers("cortex-wire", self._fail)
        self.elsewhere = self._workers.do
        self.carrier = Carrier(self._take, self._rest, self._came, self._went)
        self._watchman = Watchman(hub.steady_ns, self._look, self._fail)
        self.due = self._watchman.due
        self._access.watch(self._changed)
        hub.limit_by(self._access.limits)

    @property
    def urls(self) -> tuple[str, ...]:
        """The addresses that it listens on."""
        return tuple(self._urls)

    def listen(
        self,
        url: str,
        *,
        tls: ServerTls | None = None,
        insecure: bool = False,
        waits: bool = False,
    ) -> str:
        """Accept clients at *url* from now on; return the URL with the bound port.

        Args:
            url: ``inproc://``, ``ipc://``, ``tls+tcp://`` or, on loopback, ``tcp://``.
            tls: The certificate for ``tls+tcp://``.
            insecure: Must be True for ``tcp://``, which is not encrypted.
            waits: Bind the port, but accept no client before `take`.

        Raises:
            UrlError: The address cannot be listened on; the message says why.
        """
        address = parse(url)
        if address.carrier == "inproc":
            inproc.serve(address.path, self.client)
            self._urls.append(url)
            return url
        if address.carrier == "ipc":
            checked_path(address)
        elif address.carrier == "tls" and tls is None:
            raise UrlError(url, "needs a certificate and its key to listen with TLS")
        elif address.carrier == "tcp" and not address.loopback:
            raise UrlError(url, "would send tokens in the clear: write tls+tcp://HOST:PORT")
        elif address.carrier == "tcp" and not insecure:
            raise UrlError(url, "is not encrypted: say --insecure (in Python, insecure=True)")

        def before(listener: int) -> None:
            if waits:
                self._waiting[listener] = []

        port = self.carrier.listen(address, tls, before)
        if port:
            self._ports.add(port)
            notice_the_dead(port)
            self.due(self._hub.steady_ns())
        self._urls.append(with_port(address, port) if port else url)
        return self._urls[-1]

    def take(self) -> None:
        """Accept clients at addresses bound with `waits`, the ones that already came first."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for early in waiting.values():
            for connection, context, body in early:
                self._workers.do(partial(connection.go_on, context, body))

    def clients(self) -> list[Connected]:
        """The client programs that are connected now."""
        with self._lock:
            programs = list(self._programs.values())
        return [program.shown(*self._blobs.under_way(program)) for program in programs]

    def client(
        self,
        token: str,
        name: str,
        vocabulary: Vocabulary | None = None,
        events: tuple[type[Event], ...] = (),
    ) -> Client:
        """A client in this process, without a wire, that works like a remote one.

        Args:
            token: Proves the client's identity.
            name: The name that it states.
            vocabulary: The events that it decodes; None for the hub's.
            events: Event classes of its own, in addition.

        Raises:
            ClientDeniedError: The client is not admitted.
        """
        client = self._access.admit(token, name, Peer("inproc"))
        known = vocabulary or self._hub.vocabulary
        if events:
            known = known.extended(events)
        hub: Any = HubInside(self._hub, known)  # delegates the rest of the interface to the hub
        return Client(client, hub, self._log, known, self._store)

    def close(self) -> None:
        """Accept no more clients and disconnect all; a second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            connections = list(self._connections.values())
        inproc.withdraw(self.client)
        self._hub.limit_no_more(self._access.limits)
        self.carrier.silence()
        self._watchman.close()
        for connection in connections:
            self._leave(connection, "the hub was closed")
        self._workers.close()
        self.carrier.close()

    def admitted(self, connection: Connection, hello: Hello, peer: Peer) -> ConnectedClient:
        """The admitted client program."""
        client = self._access.admit(hello.token, hello.name, peer)
        key = (client, hello.instance or f"\0{id(connection)}")
        root = root_of(client)
        # The owner is not limited. Outside the lock, which a change of grants takes as well.
        counted = not self._access.allows(client, "publish", "*")
        with self._lock:
            if self._closed:
                raise Gone("the hub is closing")
            own = (p for (name, _), p in self._programs.items() if root_of(name) == root)
            there = sum(len(p.connections) for p in own) if counted else 0
            if there >= A_CLIENT:
                raise ClientDeniedError(client, f"it has {there} connections: close some")
            program, fresh = self._programs.get(key), False
            if program is None:
                fresh = True
                program = ConnectedClient(client, peer, self._hub, self._questions)
                self._programs[key], program.key = program, key
                if before := self._away.pop(key, None):
                    before.hand_over(program)
                program.whose = root if counted else program
                program.usage = self._usage(client)
            program.connections.add(connection)
            connection.program = program
            self._let_in += 1
            self._strangers(connection).left(connection)
        if fresh:
            self._access.connected(client, peer)
        return program

    def soon(self, job: Callable[[], None]) -> None:
        """Run *job* soon: in the receiving thread after its answer, or in a worker."""
        jobs: deque[Callable[[], None]] | None = getattr(self._receiving, "jobs", None)
        if jobs is None:
            self._workers.do(job)
        else:
            jobs.append(job)

    def _leave(self, connection: Connection, reason: str = "") -> None:
        """A connection ended; with its last one, the client has left."""
        connection.leave()
        program = connection.program
        ended = False
        with self._lock:
            if self._connections.pop(connection.pipe.number, None) is None:
                return
            self._strangers(connection).left(connection)
            if program is not None:
                self._let_in -= 1
                program.connections.discard(connection)
                ended = not program.connections
            if program is not None and ended:
                program.answerer.gone = True  # at once: the client may reconnect already
                self._programs = {k: p for k, p in self._programs.items() if p is not program}
        if connection.pushed:
            kept = self._strangers(connection)
            self._access.limited(NOBODY, "strangers", min(kept.most, kept.an_address))
        if program is not None and ended:
            program.end()
            self._blobs.leave(program)
            if withdrawal := self._access.withdrawal(program.client):
                # After its last open request: nothing of it remains.
                program.withdraw(withdrawal)
            elif program.leases:
                self._await(program)
            self._access.left(program.client, program.peer, connection.reason or reason)

    def _await(self, program: ConnectedClient) -> None:
        """Release the work of a client that left, unless it is back soon."""
        back_s = BACK_S.get(program.peer.carrier, BACK_FROM_AFAR_S)

        def look() -> None:
            with self._lock:
                # A client that a closing hub disconnects continues at the next one.
                gone = self._away.get(program.key) is program and not self._closed
                if gone:
                    del self._away[program.key]
            if gone:
                program.give_back()

        with self._lock:
            if back := self._programs.get(program.key):
                program.hand_over(back)
                return
            self._away[program.key] = program
        self._hub.alarm(self._hub.steady_ns() + round(back_s * 1e9), look)

    def _usage(self, client: str) -> Usage | None:
        """What the client uses; None if it is not limited. The caller holds the lock."""
        allowance = self._access.limits(root_of(client))
        if allowance is None:
            return None
        usage = self._usages.get(allowance.client)
        if usage is None:
            usage = Usage(allowance, self._hub.steady_ns)
            self._usages[allowance.client] = usage
        return usage

    def _changed(self, client: str) -> None:
        """Grants changed: drop cached rights, and disconnect clients without a grant."""
        allowance = self._access.limits(client)
        with self._lock:
            usage = self._usages.get(client)
            if usage is not None and allowance is not None:
                usage.change(allowance)
            concerned = [
                c
                for c in self._connections.values()
                if c.program is not None
                and (c.program.client == client or c.program.client.startswith(f"{client}/"))
            ]
        for connection in concerned:
            rights, program = connection.rights, connection.program
            if rights is not None:
                rights.forget()
            if program is not None and not self._access.standing(program.client):
                connection.cut()

    def _came(self, pipe: Pipe) -> bool:
        """Whether to accept a connection; nng holds a lock during the call."""
        connection = Connection(self, pipe)
        with self._lock:
            if self._closed or self._let_in >= CONNECTIONS - KEPT_FOR_IPC * connection.networked:
                return False
            self._connections[pipe.number] = connection
            host = pipe.address.rpartition(":")[0]
            pushed = self._strangers(connection).came(connection, host, self._hub.steady_ns())
        for each in pushed:
            each.pushed = True
            self._watchman.soon(each.cut)
        return True

    def _went(self, number: int) -> None:
        """A connection has ended; nng holds a lock during the call."""
        connection = self._connections.get(number)
        if connection is not None:
            leaves = partial(self._leave, connection, "the client closed the connection")
            self._watchman.soon(partial(self._workers.do, leaves))

    def _take(self, number: int, context: Context, body: bytes) -> bytes | None:
        """Answer a frame; None if its context is kept for a later answer."""
        connection = self._connections.get(number)
        if connection is None:
            return UNUSED
        if self._waiting:
            with self._lock:
                early = self._waiting.get(connection.pipe.listener)
                if early is not None:
                    early.append((connection, context, body))
                    return None
        if not hasattr(self._receiving, "jobs"):
            self._receiving.jobs = deque()
        return connection.take(context, body)

    def _rest(self) -> None:
        """Run the jobs that a frame left for after its answer."""
        jobs: deque[Callable[[], None]] = getattr(self._receiving, "jobs", deque())
        while jobs:
            jobs.popleft()()

    def _fail(self, error: Exception) -> None:
        self.failures.note("", error)

    def _strangers(self, connection: Connection) -> Strangers[Connection]:
        return self.outsiders if connection.networked else self.insiders

    def _look(self, now_ns: int) -> int | None:
        """Disconnect clients not admitted in time, and do what is due; return when more is due."""
        self.carrier.free_stuck()
        both = (self.outsiders, self.insiders)
        with self._lock:
            late = [connection for each in both for connection in each.late(now_ns)]
            waits_s = [wait_s for each in both if (wait_s := each.wait_s(now_ns)) is not None]
            connections = list(self._connections.values())
        for connection in late:
            connection.cut("it sent no hello in time")
        if self._ports:
            opened = {connection.pipe.address for connection in connections}
            wait_s = self.unopened.look(self._ports, opened, now_ns)
            waits_s += [] if wait_s is None else [wait_s]
        next_ns = [now_ns + int(wait_s * 1e9) for wait_s in waits_s]
        for connection in connections:
            at_ns = connection.look_at_the_time(now_ns)
            if at_ns is not None:
                next_ns.append(at_ns)
        return min(next_ns, default=None)
