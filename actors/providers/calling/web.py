"""The HTTP client under an SDK: it goes where it is told, and says no more than it must."""

from collections.abc import Iterable
from typing import Any, NamedTuple

CONNECT_S = 10.0
KEPT = frozenset(
    (
        "host",
        "accept",
        "accept-encoding",
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


class Connection(NamedTuple):
    """One SDK client and what must be closed with it."""

    sdk: Any  # the module, for its errors
    client: Any
    http: Any


def kept(headers: Iterable[tuple[str, str]], *, keyless: bool) -> list[tuple[str, str]]:
    """*headers* without what an SDK or the environment adds: system, organisation, traces."""
    allowed = KEPT - SECRET if keyless else KEPT
    found = [(name, value) for name, value in headers if name.lower() in allowed]
    return [*found, ("user-agent", "cortex")]


def http_client(socket: str, *, keyless: bool, parallel: int) -> Any:
    """A client without proxies, redirects, environment or a timeout of its own.

    Args:
        socket: Path of the unix socket that everything goes through; "" for none.
        keyless: No key is sent.
        parallel: Connections at a time.
    """
    import httpx2  # comes with the SDKs, and they are extras

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
            return await super().handle_async_request(sent)

    limits = httpx2.Limits(max_connections=parallel, max_keepalive_connections=parallel)
    return httpx2.AsyncClient(
        transport=Transport(uds=socket or None, limits=limits, trust_env=False),
        trust_env=False,
        follow_redirects=False,
        # The caller bounds the whole and the silence; here a slow first token is no failure.
        timeout=httpx2.Timeout(None, connect=CONNECT_S),
    )
