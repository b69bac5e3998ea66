"""A hub's server: listens on any number of URLs, with a thread for each connection."""

import contextlib
import selectors
import socket
import ssl
import threading
from pathlib import Path
from typing import Any, TypeAlias

from ..access import Access, Open, Peer
from ..blobs import Blobs
from ..client import Client
from ..clock import lasting
from ..errors import ClientDeniedError, UrlError
from ..event import Event
from ..limits import root_of
from ..local import LocalHub
from ..log import Log
from ..strangers import Strangers
from ..vocabulary import Vocabulary
from . import inproc
from .blobs import BlobDesk
from .connected import Connected
from .connection import Connection
from .desk import Desk
from .failures import Failures
from .frames import Hello
from .inside import HubInside
from .link import Link
from .listening import HELLO_S, bind_path, bind_port, identity, opener
from .pipe import Gone
from .questions import Questions
from .tls import ServerTls, server_context
from .unnamed import UnnamedBlobs
from .urls import Address, parse
from .usage import Usage

CONNECTIONS = 1_024  # of all clients together that are let in
KEPT_FOR_IPC = 64  # of them, so that no network keeps this machine's own out
STRANGERS = 256  # connections from networks that are not let in yet; as many by ipc
AN_ADDRESS = 128  # of them from one address
A_CLIENT = 64  # connections of one client, whatever each calls itself
JOIN_S = 5.0
# Within which a client that lost its last connection keeps the work that it holds. The kernel of a
# killed process closes its connections; a network may cut those of one that lives.
BACK_S = {"ipc": 1.0}
BACK_FROM_AFAR_S = 5.0
NOBODY = "?"  # who is not let in yet

Accepting: TypeAlias = tuple[str, ssl.SSLContext | None]  # the carrier, and what TLS shows


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
        self.desk = Desk(hub, log, self._access, self._questions, self._blobs)
        self._lock = threading.Lock()
        self._links: dict[tuple[str, str], Link] = {}
        self._away: dict[tuple[str, str], Link] = {}  # without a connection, and with work in hand
        self._usages: dict[str, Usage] = {}  # of limited clients; kept, or coming anew would help
        self._connections: dict[Connection, threading.Thread] = {}
        self._let_in = 0  # of them; the others are strangers
        self.outsiders: Strangers[Connection] = Strangers(STRANGERS, AN_ADDRESS, HELLO_S)
        # Apart, so that no network keeps this machine's own out.
        self.insiders: Strangers[Connection] = Strangers(STRANGERS, STRANGERS, HELLO_S)
        self._selector = selectors.DefaultSelector()
        self._wake, wake = socket.socketpair()
        self._selector.register(wake, selectors.EVENT_READ)
        self._woken = wake
        self._urls: dict[str, socket.socket | None] = {}
        self._waiting: list[tuple[socket.socket, Accepting]] = []  # until `take`
        self._sockets: list[tuple[Path, tuple[int, int]]] = []  # of ipc, and whose files they are
        self._closed = False
        self._acceptor = threading.Thread(target=self._accept, name="cortex-accept", daemon=True)
        self._acceptor.start()
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
            self._urls[url] = None
            return url
        if address.carrier == "ipc":
            return self._listen(address, bind_path(address), None)
        if address.carrier == "tls":
            if tls is None:
                raise UrlError(url, "needs a certificate and its key to listen with TLS")
            return self._listen(address, bind_port(address), server_context(tls), waits=waits)
        if not address.loopback:
            raise UrlError(url, "would send tokens in the clear: write tls+tcp://HOST:PORT")
        if not insecure:
            raise UrlError(url, "is not encrypted: say --insecure (in Python, insecure=True)")
        return self._listen(address, bind_port(address), None, waits=waits)

    def take(self) -> None:
        """Take clients at the addresses that wait for this; who came meanwhile is the first."""
        waiting, self._waiting = self._waiting, []
        for listener, accepting in waiting:
            self._accept_at(listener, accepting)

    def clients(self) -> list[Connected]:
        """The client programs that are connected now."""
        with self._lock:
            links = list(self._links.values())
        return [
            Connected(
                link.client,
                link.peer.carrier,
                link.peer.address,
                len(link.connections),
                link.since_ns,
                link.leases,
                tuple(sorted(link.answerer.topics)),
                len(link.answerer.waiting),
                *self._blobs.under_way(link),
            )
            for link in links
        ]

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
            connections = dict(self._connections)
        inproc.withdraw(self.client)
        self._hub.limit_no_more(self._access.limits)
        self._wake.send(b"x")
        self._acceptor.join()
        self._selector.close()
        for listening in (*self._urls.values(), self._wake, self._woken):
            if listening is not None:
                listening.close()
        for path, owner in self._sockets:
            with contextlib.suppress(OSError):
                if identity(path) == owner:  # another hub may have taken its place
                    path.unlink()
        for connection in connections:
            connection.cut()
        for thread in connections.values():
            if thread is not threading.current_thread():
                thread.join(lasting(JOIN_S))

    def admitted(self, connection: Connection, hello: Hello, peer: Peer) -> Link:
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
                link = self._links[key] = Link(client, peer, self._hub, self._questions)
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

    def left(self, connection: Connection, reason: str) -> None:
        """A connection ended; with its last one, the client has left."""
        link = connection.link
        ended = False
        with self._lock:
            self._connections.pop(connection, None)
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
            self._access.left(link.client, link.peer, reason)

    def _await(self, link: Link) -> None:
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
                for c in self._connections
                if c.link is not None
                and (c.link.client == client or c.link.client.startswith(f"{client}/"))
            ]
        for connection in concerned:
            rights, link = connection.rights, connection.link
            if rights is not None:
                rights.forget()
            if link is not None and not self._access.standing(link.client):
                connection.cut()

    def _listen(
        self,
        address: Address,
        listener: socket.socket,
        context: ssl.SSLContext | None,
        *,
        waits: bool = False,
    ) -> str:
        url = address.url
        if address.carrier == "ipc":
            path = Path(address.path)
            self._sockets.append((path, identity(path)))
        else:
            host = f"[{address.host}]" if ":" in address.host else address.host
            scheme = url.partition("://")[0]
            url = f"{scheme}://{host}:{listener.getsockname()[1]}"
        listener.setblocking(False)
        self._urls[url] = listener
        if waits:
            self._waiting.append((listener, (address.carrier, context)))
        else:
            self._accept_at(listener, (address.carrier, context))
        return url

    def _accept_at(self, listener: socket.socket, accepting: Accepting) -> None:
        self._selector.register(listener, selectors.EVENT_READ, accepting)
        with contextlib.suppress(OSError):
            self._wake.send(b"x")  # so that the acceptor looks at it

    def _accept(self) -> None:
        while not self._closed:
            for key, _ in self._selector.select(self._cut_late()):
                if key.data is None:
                    self._woken.recv(64)
                    continue
                carrier, context = key.data
                listener = key.fileobj
                if isinstance(listener, socket.socket):
                    self._take(listener, carrier, context)

    def _take(self, listener: socket.socket, carrier: str, context: ssl.SSLContext | None) -> None:
        try:
            sock, where = listener.accept()
        except OSError:  # it went again, or there are no descriptors: then it waits its turn
            threading.Event().wait(lasting(0.01))
            return
        networked = carrier != "ipc"
        with self._lock:
            if self._closed or self._let_in >= CONNECTIONS - KEPT_FOR_IPC * networked:
                sock.close()
                return
            opened = opener(sock, where, carrier, context)
            connection = Connection(self, opened, sock, networked=networked)
            thread = threading.Thread(target=connection.run, name="cortex-client", daemon=True)
            self._connections[connection] = thread
            host = str(where[0]) if networked else ""
            pushed = self._strangers(connection).came(connection, host, self._hub.steady_ns())
        for each in pushed:
            each.pushed = True
            each.cut()
        thread.start()

    def _strangers(self, connection: Connection) -> Strangers[Connection]:
        return self.outsiders if connection.networked else self.insiders

    def _cut_late(self) -> float | None:
        """Cut who was not let in in time; how long until the next one is late."""
        now_ns = self._hub.steady_ns()
        both = (self.outsiders, self.insiders)
        with self._lock:
            late = [connection for each in both for connection in each.late(now_ns)]
            waits_s = [wait_s for each in both if (wait_s := each.wait_s(now_ns)) is not None]
        for connection in late:
            connection.cut()
        return min(waits_s, default=None)
