"""One connection to a server.

The SDK requires that the same task enters and leaves a client, so that each connection has a
task of its own; other tasks call through it. Servers report changed tools in two ways:
newer ones in answer to `listen`, older ones by a notification.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex.runtime.isolation import ChildLog, keep
from cortex.runtime.kernel import VERSION
from cortex.runtime.log import private
from cortex.runtime.registry import NO_SDK
from cortex.runtime.secrets import redacted
from cortex.runtime.tools import McpServer

from .environments import Environments, bearer, environment, masked, program_of
from .errors import ServerError, lost, problem_of
from .sifted import sifted
from .stdio import over_stdio

if TYPE_CHECKING:
    from mcp import Client

LISTENING = "2026-07-28"  # first protocol version with `listen`
CLOSE_S = 8.0  # the SDK gives a program 4 s to end


class ServerConnection:
    """A connection; it is `lost` when it is no longer usable."""

    def __init__(
        self,
        server: McpServer,
        log: Path | None,
        changed: Callable[["ServerConnection"], None],
        environments: Environments,
    ) -> None:
        self._server, self._log, self._changed = server, log, changed
        self._environments = environments
        self._known: dict[str, str] = {}  # variables of its program
        self._ready: asyncio.Future[Client | ServerError] = (
            asyncio.get_running_loop().create_future()
        )
        self.problem = ""  # why its program was ended, if it was
        self.unread: list[str] = []  # names of unreadable tools in the last list
        self._stop = asyncio.Event()
        self._calls = 0
        self._quiet = asyncio.Event()  # no call is running
        self._quiet.set()
        self._task = asyncio.create_task(self._live(), name=f"mcp-{server.name}")

    @property
    def lost(self) -> bool:
        """Whether a new connection is needed."""
        return self._stop.is_set() or self._task.done()

    async def __aenter__(self) -> "Client":
        """The client, when connected; the connection stays open until the block is left.

        Raises:
            ServerError: There is no connection.
        """
        client = await asyncio.shield(self._ready)
        if isinstance(client, ServerError):
            raise client
        self._calls += 1
        self._quiet.clear()
        return client

    async def __aexit__(self, *_: object) -> None:
        self._calls -= 1
        if not self._calls:
            self._quiet.set()

    def end(self) -> None:
        """Close it when no call is running."""
        self._stop.set()

    async def close(self) -> None:
        """Close it now."""
        self._stop.set()
        self._quiet.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=CLOSE_S)

    async def _live(self) -> None:
        loop = asyncio.get_running_loop()
        late: asyncio.TimerHandle | None = None
        try:
            await self._prepare()  # this may take longer than the connection
            late = loop.call_later(self._server.timeout_s, self._give_up)
            async with AsyncExitStack() as stack:
                client = await self._entered(stack)
                late.cancel()
                self._ready.set_result(client)
                await self._watch(client)
                self._stop.set()
                await self._quiet.wait()
        except asyncio.CancelledError:
            problem = f"it did not answer within {self._server.timeout_s:g} s"
            self._fail(ServerError(f"{self._server.name}: {problem}", "timeout"))
        except ServerError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001  # whatever ends it is told to who waits
            self._fail(ServerError(f"{self._server.name}: {self.problem or problem_of(error)}"))
        finally:
            if late is not None:
                late.cancel()
            self._stop.set()

    async def _prepare(self) -> None:
        """Create its program's environment, if it has one of its own."""
        await asyncio.to_thread(load)
        from mcp.client.stdio import get_default_environment

        server = self._server
        self._known = get_default_environment() | environment(server)
        if server.packages:
            self._known = await self._environments.make(server, self._known)

    def _give_up(self) -> None:
        if not self._ready.done():
            self._task.cancel()

    def _fail(self, error: ServerError) -> None:
        if not self._ready.done():
            self._ready.set_result(error)

    async def _entered(self, stack: AsyncExitStack) -> "Client":
        from mcp import Client, Implementation

        return await stack.enter_async_context(
            Client(
                sifted(await self._transport(stack), self.unread.append),
                client_info=Implementation(name="cortex", version=VERSION),
                read_timeout_seconds=self._server.timeout_s,
                message_handler=self._heard,
                cache=None,
            )
        )

    async def _transport(self, stack: AsyncExitStack) -> Any:
        server = self._server
        if server.url:
            return await self._over_http(stack)
        errors = self._errors()
        stack.callback(os.close, errors)
        command = server.command
        if server.packages:
            command = program_of(server, self._environments.folder(server))
        return over_stdio(command, self._known, errors, self._ended)

    async def _over_http(self, stack: AsyncExitStack) -> Any:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        server = self._server
        http = httpx2.AsyncClient(
            headers=bearer(server),
            timeout=httpx2.Timeout(server.timeout_s, read=None),
            trust_env=False,
        )
        return streamable_http_client(server.url, http_client=await stack.enter_async_context(http))

    def _errors(self) -> int:
        """The descriptor for its program's standard error."""
        if self._log is None:
            return os.open(os.devnull, os.O_WRONLY)
        server = self._server
        return keep(ChildLog(self._log, lambda line: redacted(masked(server, line)), private))

    def _ended(self, problem: str) -> None:
        """Note that its program was ended because of its output."""
        self.problem = problem

    async def _watch(self, client: "Client") -> None:
        """Listen for changes until the connection must end, or has ended."""
        stopped = asyncio.create_task(self._stop.wait())
        listening = asyncio.create_task(self._listen(client))
        try:
            await asyncio.wait({stopped, listening}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (stopped, listening):
                task.cancel()
            await asyncio.wait({stopped, listening}, timeout=CLOSE_S)
            with contextlib.suppress(asyncio.CancelledError, Exception):
                listening.result()

    async def _listen(self, client: "Client") -> None:
        if client.protocol_version < LISTENING:
            await self._stop.wait()
            return
        from mcp import MCPError
        from mcp.client.subscriptions import ListenNotSupportedError

        try:
            async with client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self._changed(self)
        except (ListenNotSupportedError, MCPError) as error:
            if isinstance(error, MCPError) and lost(error):
                raise
            await self._stop.wait()  # its tools do not change

    async def _heard(self, message: Any) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            self._changed(self)


def load() -> None:
    """Import the SDK.

    Raises:
        ServerError: It is not installed.
    """
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise ServerError(NO_SDK, "missing") from None
    # Its warnings would appear in the terminal if the program has not configured logging.
    for name in ("mcp", "httpx2"):
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
