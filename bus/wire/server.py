"""A hub's server: its addresses and connections, which clients it admits, and how they leave."""

import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from ..access import Access, Open, Peer
from ..blobs import Blobs
from ..client import Client
from ..errors import ClientDeniedError, UrlError
from ..event import Event
from ..limits import root_of
from ..local import LocalHub
from ..log import Log
from ..strangers import Strangers
from ..vocabulary import Vocabulary
from . import inproc
from .blobs import BlobDesk
from .carrier import UNUSED, Carrier, Context, Pipe
from .connected import Connected
from .connected_client import ConnectedClient
from .connection import Connection
from .dispatcher import Dispatcher
from .failures import Failures
from .frames import Hello
from .gone import Gone
from .inside import HubInside
from .questions import Questions
from .tls import ServerTls
from .unnamed import UnnamedBlobs
from .unopened import Unopened, notice_the_dead
from .urls import checked_path, parse, with_port
from .usage import Usage
from .watchman import Watchman
from .workers import Workers

CONNECTIONS = 1_024  # of all clients together that are let in
KEPT_FOR_IPC = 64  # of them, so that no network keeps this machine's own out
# Connections from networks that are not let in yet. Few: nng takes as large a frame from each of
# them as from anybody.
STRANGERS = 32
NEIGHBOURS = 256  # those by ipc, which are its owner's own
AN_ADDRESS = 16  # of them from one address
UNOPENED = 256  # and those that nng has not even greeted
UNOPENED_AN_ADDRESS = 128
HELLO_S = 10.0  # in which a client has to be let in, from nng's greeting to its hello
A_CLIENT = 64  # connections of one client, whatever each calls itself
# Within which a client that lost its last connection keeps the work that it holds. The kernel of a
# killed process closes its connections; a network may cut those of one that lives.
BACK_S = {"ipc": 1.0}
BACK_FROM_AFAR_S = 5.0
NOBODY = "?"  # who is not let in yet


class HubServer:
    """Serves one hub to other processes.

    Args:
        hub: Whose requests these are; it is not closed with the server.
        log: Its log, for reading.
        blobs: Where payloads are kept; None where there is no such store.
        access: Who may do what; None lets everybody do everything, which is for tests.
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
        self._keeper = blobs
        self.unnamed = (
            None
            if blobs is None
            else UnnamedBlobs(blobs, log, lambda: hub.head, hub.clock, hub.steady_ns, hub.alarm)
        )
        self._blobs = BlobDesk(blobs, hub.steady_ns, hub.alarm, self.unnamed)
        self.dispatcher = Dispatcher(hub, log, self._access, self._questions, self._blobs)
        self._lock = threading.Lock()
        self._links: dict[tuple[str, str], ConnectedClient] = {}
        self._away: dict[
            tuple[str, str], ConnectedClient
        ] = {}  # without a connection, and with work in hand
        self._usages: dict[str, Usage] = {}  # of limited clients; kept, or coming anew would help
        self._connections: dict[int, Connection] = {}  # by nng's number of the pipe
        self._let_in = 0  # of them; the others are strangers
        self.outsiders: Strangers[Connection] = Strangers(STRANGERS, AN_ADDRESS, HELLO_S)
        # Apart, so that no network keeps this machine's own out.
        self.insiders: Strangers[Connection] = Strangers(NEIGHBOURS, NEIGHBOURS, HELLO_S)
        self.unopened = Unopened(UNOPENED, UNOPENED_AN_ADDRESS, HELLO_S)
        self._urls: list[str] = []
        self._ports: set[int] = set()
        self._waiting: dict[int, list[tuple[Connection, Context, bytes]]] = {}  # until `take`
        self._closed = False
        self._receiving = threading.local()  # jobs of a thread that receives, for after its answer
        self._workers = Workers("cortex-wire", self._fail)
        self.elsewhere = self._workers.do
        self.carrier = Carrier(self._take, self._rest, self._came, self._went)
        self._watchman = Watchman(hub.steady_ns, self._look, self._fail)
        self.due = self._watchman.due
        self._access.watch(self._changed)
        hub.limit_by(self._access.limits)

    @property
    def urls(self) -> tuple[str, ...]:
        """Where it listens."""
        return tuple(self._urls)

    def listen(
        self,
        url: str,
        *,
        tls: ServerTls | None = None,
        insecure: bool = False,
        waits: bool = False,
    ) -> str:
        """Take clients at *url* from now on; the URL comes back with the port that was bound.

        Args:
            url: ``inproc://``, ``ipc://``, ``tls+tcp://`` or, on loopback, ``tcp://``.
            tls: What ``tls+tcp://`` shows.
            insecure: Said for ``tcp://``, which is not encrypted.
            waits: Bind the port, so that nobody else does, and take nobody before `take`.

        Raises:
            UrlError: It cannot be listened on; the message says why.
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
        """Take clients at the addresses that wait for this; who came meanwhile is the first."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for early in waiting.values():
            for connection, context, body in early:
                self._workers.do(partial(connection.go_on, context, body))

    def clients(self) -> list[Connected]:
        """The client programs that are connected now."""
        with self._lock:
            links = list(self._links.values())
        return [link.shown(*self._blobs.under_way(link)) for link in links]

    def client(
        self,
        token: str,
        name: str,
        vocabulary: Vocabulary | None = None,
        events: tuple[type[Event], ...] = (),
    ) -> Client:
        """A client of this process, past every wire; with all that one elsewhere has.

        Args:
            token: What proves who comes.
            name: What it calls itself.
            vocabulary: The events it reads; None for the hub's.
            events: Event classes of its own, which it reads beside them.

        Raises:
            ClientDeniedError: It is not let in.
        """
        client = self._access.admit(token, name, Peer("inproc"))
        known = vocabulary or self._hub.vocabulary
        if events:
            known = known.extended(events)
        hub: Any = HubInside(self._hub, known)  # what it has not itself it gets from the hub
        return Client(client, hub, self._log, known, self._keeper)

    def close(self) -> None:
        """Take no more clients and let go of those that are there; a second call does nothing."""
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
        """The link of a client that is let in."""
        client = self._access.admit(hello.token, hello.name, peer)
        key = (client, hello.instance or f"\0{id(connection)}")
        root = client.partition("/")[0]
        # The owner could do worse. Asked outside the lock, which a change of grants wants as well.
        counted = not self._access.allows(client, "publish", "*")
        with self._lock:
            if self._closed:
                raise Gone("the hub is closing")
            links = (k for (name, _), k in self._links.items() if name.partition("/")[0] == root)
            there = sum(len(k.connections) for k in links) if counted else 0
            if there >= A_CLIENT:
                raise ClientDeniedError(client, f"it has {there} connections: close some")
            link, fresh = self._links.get(key), False
            if link is None:
                fresh = True
                link = self._links[key] = ConnectedClient(client, peer, self._hub, self._questions)
                link.key = key
                if before := self._away.pop(key, None):
                    before.hand_over(link)
                link.whose = root if counted else link
                link.usage = self._usage(client)
            link.connections.add(connection)
            connection.link = link
            self._let_in += 1
            self._strangers(connection).left(connection)
        if fresh:
            self._access.connected(client, peer)
        return link

    def soon(self, job: Callable[[], None]) -> None:
        """Do *job* soon: in the thread that receives after its answer, or in a worker."""
        jobs: deque[Callable[[], None]] | None = getattr(self._receiving, "jobs", None)
        if jobs is None:
            self._workers.do(job)
        else:
            jobs.append(job)

    def _leave(self, connection: Connection, reason: str = "") -> None:
        """A connection ended; with its last one, the client has left."""
        connection.leave()
        link = connection.link
        ended = False
        with self._lock:
            if self._connections.pop(connection.pipe.number, None) is None:
                return
            self._strangers(connection).left(connection)
            if link is not None:
                self._let_in -= 1
                link.connections.discard(connection)
                ended = not link.connections
            if link is not None and ended:
                link.answerer.gone = True  # at once: the client may be coming back already
                self._links = {k: v for k, v in self._links.items() if v is not link}
        if connection.pushed:
            kept = self._strangers(connection)
            self._access.limited(NOBODY, "strangers", min(kept.most, kept.an_address))
        if link is not None and ended:
            link.end()
            self._blobs.leave(link)
            if withdrawal := self._access.withdrawal(link.client):
                link.withdraw(withdrawal)  # after the last that was under way: nothing of it stays
            elif link.leases:
                self._await(link)
            self._access.left(link.client, link.peer, connection.reason or reason)

    def _await(self, link: ConnectedClient) -> None:
        """Let others have the work of a client that left without it, unless it is back soon."""
        back_s = BACK_S.get(link.peer.carrier, BACK_FROM_AFAR_S)

        def look() -> None:
            with self._lock:
                # Who is cut off by a hub that closes goes on at the next one.
                gone = self._away.get(link.key) is link and not self._closed
                if gone:
                    del self._away[link.key]
            if gone:
                link.give_back()

        with self._lock:
            if back := self._links.get(link.key):
                link.hand_over(back)
                return
            self._away[link.key] = link
        self._hub.alarm(self._hub.steady_ns() + round(back_s * 1e9), look)

    def _usage(self, client: str) -> Usage | None:
        """What the client uses; None where it is not limited. The lock is held."""
        allowance = self._access.limits(root_of(client))
        if allowance is None:
            return None
        usage = self._usages.get(allowance.client)
        if usage is None:
            usage = Usage(allowance, self._hub.steady_ns)
            self._usages[allowance.client] = usage
        return usage

    def _changed(self, client: str) -> None:
        """Grants changed: look at them anew, and cut who has none any more."""
        allowance = self._access.limits(client)
        with self._lock:
            usage = self._usages.get(client)
            if usage is not None and allowance is not None:
                usage.change(allowance)
            concerned = [
                c
                for c in self._connections.values()
                if c.link is not None
                and (c.link.client == client or c.link.client.startswith(f"{client}/"))
            ]
        for connection in concerned:
            rights, link = connection.rights, connection.link
            if rights is not None:
                rights.forget()
            if link is not None and not self._access.standing(link.client):
                connection.cut()

    def _came(self, pipe: Pipe) -> bool:
        """Whether to take a connection; nng holds a lock meanwhile."""
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
        """A connection has ended; nng holds a lock meanwhile."""
        connection = self._connections.get(number)
        if connection is not None:
            leaves = partial(self._leave, connection, "the client closed the connection")
            self._watchman.soon(partial(self._workers.do, leaves))

    def _take(self, number: int, context: Context, body: bytes) -> bytes | None:
        """Answer a frame; None where its context is kept for that."""
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
        """Do what a frame left to do, once it was answered."""
        jobs: deque[Callable[[], None]] = getattr(self._receiving, "jobs", deque())
        while jobs:
            jobs.popleft()()

    def _fail(self, error: Exception) -> None:
        self.failures.note("", error)

    def _strangers(self, connection: Connection) -> Strangers[Connection]:
        return self.outsiders if connection.networked else self.insiders

    def _look(self, now_ns: int) -> int | None:
        """Cut who was not let in in time, and do what is late; when there is more of it."""
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
