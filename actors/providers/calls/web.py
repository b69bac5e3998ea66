"""The HTTP client under an SDK, which goes where it is told, and the events that a server sends."""

from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from typing import Any, NamedTuple

from .failures import CallFailedError

CONNECT_S = 10.0
LARGEST_ERROR_BYTES = 64 << 10
KEPT = frozenset(
    (
        "host",
        "accept",
        "connection",
        "content-type",
        "content-length",
        "authorization",
        "x-api-key",
        "anthropic-version",
    )
)
SECRET = frozenset(("authorization", "x-api-key"))
NO_KEY = "none"  # SDKs want one; it is not sent
LARGEST_FRAME_BYTES = 1 << 20


class Connection(NamedTuple):
    """One SDK client and what must be closed with it."""

    sdk: Any  # the module, for its errors
    client: Any
    http: Any


def kept(headers: Iterable[tuple[str, str]], *, keyless: bool) -> list[tuple[str, str]]:
    """*headers* without what an SDK or the environment adds: system, organisation, traces."""
    allowed = KEPT - SECRET if keyless else KEPT
    found = [(name, value) for name, value in headers if name.lower() in allowed]
    # What is packed small may be large, and is unpacked at a stretch.
    return [*found, ("accept-encoding", "identity"), ("user-agent", "cortex")]


def http_client(socket: str, *, keyless: bool, parallel: int) -> Any:
    """A client without proxies, redirects, environment or a timeout of its own.

    Args:
        socket: Path of the unix socket that everything goes through; "" for none.
        keyless: No key is sent.
        parallel: Connections at a time.
    """
    import httpx2  # comes with the SDKs, and they are extras

    limits = httpx2.Limits(max_connections=parallel, max_keepalive_connections=parallel)
    transport = _transport_class(keyless=keyless)
    return httpx2.AsyncClient(
        transport=transport(uds=socket or None, limits=limits, trust_env=False),
        trust_env=False,
        follow_redirects=False,
        # The caller bounds the whole and the silence; here a slow first token is no failure.
        timeout=httpx2.Timeout(None, connect=CONNECT_S),
    )


def _transport_class(*, keyless: bool) -> Any:
    """A transport that sends only known headers, and reads neither refusals nor encoded bodies."""
    import httpx2

    class Body(httpx2.AsyncByteStream):
        def __init__(self, stream: Any, *, whole: bool, refused: bool) -> None:
            self._stream, self._whole, self._refused = stream, whole, refused

        def __aiter__(self) -> AsyncIterator[bytes]:
            if not self._whole:
                return _beginning(self._stream)
            return _refused() if self._refused else aiter(self._stream)

        async def aclose(self) -> None:
            await self._stream.aclose()

    class Transport(httpx2.AsyncHTTPTransport):
        # Here and not in a hook: SDKs look at their own headers after hooks have run.
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            sent = httpx2.Request(
                request.method,
                request.url,
                headers=kept(request.headers.multi_items(), keyless=keyless),
                stream=request.stream,
                extensions=request.extensions,
            )
            response = await super().handle_async_request(sent)
            headers = response.headers
            is_encoded = headers.pop("content-encoding", "identity").strip().lower() != "identity"
            return httpx2.Response(
                response.status_code,
                headers=headers,
                stream=Body(response.stream, whole=response.is_success, refused=is_encoded),
                extensions=response.extensions,
            )

    return Transport


async def _beginning(stream: Any) -> AsyncIterator[bytes]:
    """As much of an error as anybody reads."""
    left = LARGEST_ERROR_BYTES
    async with aclosing(aiter(stream)) as pieces:
        async for piece in pieces:
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                return


async def _refused() -> AsyncIterator[bytes]:
    problem = "the endpoint compressed its answer, and the request forbids that"
    raise CallFailedError("garbage", problem, hostile=True)
    yield b""


class Frames:
    """Collects bytes and gives the data of each event once it is whole.

    Lines end where a line feed is, and nowhere else: JSON may hold other characters that split text
    into lines.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0  # bytes of data, and one a line, as empty ones take room too
        self.count = 0  # events so far

    def feed(self, received: bytes) -> list[bytes]:
        """The data of the events that *received* completes.

        Raises:
            CallFailedError: One is larger than any answer may be.
        """
        lines = (self._rest + received).split(b"\n")
        self._rest = lines.pop()
        found: list[bytes] = []
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
                self._size += len(line) - 4
            elif not line and self._data:
                found.append(b"\n".join(self._data))
                self._data.clear()
                self._size = 0
        self.count += len(found)
        if len(self._rest) + self._size > LARGEST_FRAME_BYTES:
            raise CallFailedError("garbage", "the endpoint sends lines without an end")
        return found
