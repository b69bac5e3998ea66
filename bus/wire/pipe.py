"""Bytes between two ends: a plain socket, or one under TLS.

One thread reads; any thread may write, one at a time. A socket of its own timeouts is left
blocking, so that a read is one system call; the kernel keeps the time (``SO_RCVTIMEO``).
"""

import contextlib
import select
import socket
import ssl
import struct
import threading
from typing import Protocol, cast

from ..clock import lasting, steady_s

SEND_S = 10.0  # a peer that takes nothing for so long is given up
TLS_READ = 1 << 16
POLL_MS = (1 << 31) - 1  # the system takes no longer one


class Gone(Exception):  # noqa: N818  # the end of a connection, not an error
    """The other end is gone, or was cut off; *args* say how."""


class Pipe(Protocol):
    """A connection of bytes."""

    def read_into(self, buffer: memoryview) -> int:
        """Read some bytes; 0 where none came within `wait_at_most`.

        Raises:
            Gone: No more bytes will come.
        """
        ...

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write all of *data*.

        Raises:
            Gone: The other end is gone, or took nothing for too long.
        """
        ...

    def write_soon(self, data: bytes | bytearray) -> None:
        """Write *data* without waiting for the other end: what it does not take goes later."""
        ...

    def wait_at_most(self, seconds: float) -> None:
        """How long a read waits for bytes."""
        ...

    def pause(self, bell: int, seconds: float) -> None:
        """Wait until descriptor *bell* is readable, or until *seconds* are over.

        Raises:
            Gone: The other end went, or sent something although it is not its turn.
        """
        ...

    def cut(self) -> None:
        """End the connection from any thread; reads and writes under way end with `Gone`."""
        ...

    def close(self) -> None:
        """Let go of it, in the thread that reads."""
        ...


class PlainPipe:
    """A socket as it is."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._waits_s = -1.0
        self._writing = threading.Lock()
        self._closing = threading.Lock()
        sock.settimeout(None)
        with contextlib.suppress(OSError):  # the other end is gone already: a read will say so
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(SEND_S))
            if sock.family != socket.AF_UNIX:
                _for_networks(sock)

    def read_into(self, buffer: memoryview) -> int:
        """Read some bytes; 0 where none came in time."""
        try:
            size = self._sock.recv_into(buffer)
        except BlockingIOError:
            return 0
        except OSError as error:
            raise Gone(_why(error)) from None
        if not size:
            raise Gone("the other end closed the connection")
        return size

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write all of *data*."""
        with self._writing:
            self._write(data)

    def write_soon(self, data: bytes | bytearray) -> None:
        """Write what fits now; a thread of its own waits with the rest."""
        self._writing.acquire()
        size = -1
        try:
            size = self._sock.send(data, socket.MSG_DONTWAIT)
        except BlockingIOError:
            size = 0
        except OSError as error:
            raise Gone(_why(error)) from None
        finally:
            if size < 0 or size == len(data):
                self._writing.release()
        if size < len(data):
            # The lock goes with the rest, so that nothing comes between.
            rest = bytes(memoryview(data)[size:])
            threading.Thread(target=self._write_rest, args=(rest,), daemon=True).start()

    def wait_at_most(self, seconds: float) -> None:
        """How long a read waits for bytes."""
        if seconds != self._waits_s:
            self._waits_s = seconds
            with contextlib.suppress(OSError):
                self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _timeval(seconds))

    def pause(self, bell: int, seconds: float) -> None:
        """Wait for the bell, or for the end."""
        if not _rings(self._sock, bell, seconds):
            return
        try:
            there = self._sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError as error:
            raise Gone(_why(error)) from None
        raise Gone("sent a request before the answer" if there else "closed the connection")

    def cut(self) -> None:
        """End the connection from any thread."""
        with self._closing, contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of the socket."""
        self.cut()  # so that whoever writes has done with it soon
        # Or what another thread still writes could go to a file that has got the descriptor since.
        with self._writing, self._closing:
            self._sock.close()

    def _write(self, data: bytes | bytearray | memoryview) -> None:
        try:
            self._sock.sendall(data)
        except OSError as error:
            self.cut()  # half a frame may be on its way
            raise Gone(_why(error)) from None

    def _write_rest(self, rest: bytes) -> None:
        try:
            with contextlib.suppress(Gone):
                self._write(rest)
        finally:
            self._writing.release()


class TlsPipe:
    """A socket under TLS, by OpenSSL's memory buffers.

    Not an `ssl.SSLSocket`: one thread reads while others write, which OpenSSL does not allow on one
    connection. Here whoever touches it holds a lock, and nobody waits for the network with it.
    """

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, host: str | None) -> None:
        self._plain = PlainPipe(sock)
        self._sock = sock
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._in, self._out, server_side=host is None, server_hostname=host or None
        )
        self._lock = threading.Lock()
        self._raw = memoryview(bytearray(TLS_READ))
        self._waits_s = 0.0

    def shake(self, until_s: float) -> None:
        """Do the handshake, in *until_s* seconds at most.

        Raises:
            Gone: It failed, or did not come in time.
            ssl.SSLError: One end does not take the other's certificate.
        """
        over_s = steady_s() + until_s
        while (left_s := over_s - steady_s()) > 0:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._flush()
                self.wait_at_most(max(0.001, left_s))  # 0 would be for ever
                self._fill()
            except ssl.SSLError:
                with contextlib.suppress(Gone):
                    self._flush()  # the alert that says why
                raise
            else:
                self._flush()
                return
        raise Gone("its handshake did not come in time")

    def certificate(self) -> bytes:
        """The other end's certificate as DER; empty where it showed none."""
        return self._tls.getpeercert(binary_form=True) or b""

    def certificate_fields(self) -> dict[str, object]:
        """Its fields, where it was verified."""
        return dict(self._tls.getpeercert() or {})

    def read_into(self, buffer: memoryview) -> int:
        """Read some bytes; 0 where none came in time, or only some of a sealed piece."""
        with self._lock:
            size = self._take(buffer)
        over_s = steady_s() + self._waits_s
        while not size and self._fill():
            with self._lock:
                size = self._take(buffer)
            if steady_s() > over_s:
                break
        return size

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write all of *data*."""
        with self._lock:
            self._plain.write(self._sealed(data))

    def write_soon(self, data: bytes | bytearray) -> None:
        """Write what fits now, the rest later."""
        with self._lock:
            self._plain.write_soon(self._sealed(data))

    def wait_at_most(self, seconds: float) -> None:
        """How long a read waits for bytes."""
        self._waits_s = seconds
        self._plain.wait_at_most(seconds)

    def pause(self, bell: int, seconds: float) -> None:
        """Wait for the bell, or for the end."""
        if not _rings(self._sock, bell, seconds):
            return
        self.wait_at_most(0.001)
        if self._fill():
            with self._lock:
                if self._take(self._raw[:1]):
                    raise Gone("sent a request before the answer")

    def cut(self) -> None:
        """End the connection from any thread."""
        self._plain.cut()

    def close(self) -> None:
        """Let go of the socket."""
        self._plain.close()

    def _take(self, buffer: memoryview) -> int:
        try:
            # With a buffer it gives a count, which not every type stub knows.
            size = cast("int", self._tls.read(len(buffer), buffer))
        except ssl.SSLWantReadError:
            return 0
        except ssl.SSLError as error:
            raise Gone(_why_tls(error)) from error
        if not size:
            raise Gone("the other end closed the connection")
        return size

    def _fill(self) -> bool:
        size = self._plain.read_into(self._raw)
        if size:
            with self._lock:
                self._in.write(self._raw[:size])
        return size > 0

    def _sealed(self, data: bytes | bytearray | memoryview) -> bytes:
        try:
            self._tls.write(data)
        except ssl.SSLError as error:
            raise Gone(_why_tls(error)) from error
        return self._out.read()

    def _flush(self) -> None:
        data = self._out.read()
        if data:
            self._plain.write(data)


def _rings(sock: socket.socket, bell: int, seconds: float) -> bool:
    """Wait for either; whether the socket has something to say."""
    poll = select.poll()
    poll.register(bell, select.POLLIN)
    try:
        poll.register(sock, select.POLLIN)
    except ValueError:  # it was closed
        raise Gone("the connection was closed") from None
    return any(
        where != bell for where, _ in poll.poll(min(lasting(max(0.0, seconds)) * 1000, POLL_MS))
    )


def _for_networks(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, option):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _timeval(seconds: float) -> bytes:
    micros = max(1, int(lasting(seconds) * 1e6))
    return struct.pack("@ll", micros // 1_000_000, micros % 1_000_000)


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _why_tls(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).lower().replace("_", " ")
