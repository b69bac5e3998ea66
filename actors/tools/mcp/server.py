"""A tool server: connected on first use, and again after a lost connection."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cortex.runtime.tools import McpServer

from .environments import Environments, masked
from .errors import CallLostError, ServerError, late, lost, problem_of, unanswered
from .link import ServerConnection
from .listing import MOST_PAGES, MOST_TOOLS, listed

if TYPE_CHECKING:
    from mcp.types import CallToolResult, Tool


class Server:
    """One of the servers in config.toml; use it on one event loop only."""

    def __init__(
        self,
        settings: McpServer,
        log: Path | None,
        changed: Callable[[], None],
        environments: Environments,
    ) -> None:
        self.settings = settings
        self.connections = 0  # connections so far; each may have other tools
        self._log, self._changed, self._environments = log, changed, environments
        self._link: ServerConnection | None = None

    async def tools(self) -> tuple[tuple[dict[str, Any], ...], str]:
        """Its tools, by name, and the omitted ones.

        Raises:
            ServerError: The server cannot be asked.
        """
        link = self._current()
        async with link as client:
            link.unread.clear()
            found: list[Tool] = []
            cursor: str | None = None
            try:
                for _ in range(MOST_PAGES):
                    page = await client.list_tools(cursor=cursor)
                    found += page.tools
                    cursor = page.next_cursor
                    if cursor is None or len(found) > MOST_TOOLS:
                        break
            except Exception as error:  # noqa: BLE001  # the SDK raises what its transport does
                raise self._told(link, error) from None
        return listed(self.settings, found, link.unread)

    async def call(
        self, tool: str, arguments: dict[str, Any], timeout_s: float
    ) -> "CallToolResult":
        """The result of its *tool*.

        Raises:
            CallLostError: It did not answer in time, answered wrongly, or ended meanwhile.
            ServerError: It cannot be asked, or reports an error.
        """
        link = self._current()
        async with link as client:
            try:
                return await client.call_tool(tool, arguments, read_timeout_seconds=timeout_s)
            except Exception as error:  # noqa: BLE001  # as above
                told = self._told(link, error, timeout_s)
                if unanswered(error):
                    raise CallLostError(told.problem, told.kind) from None
                raise told from None

    async def close(self) -> None:
        """End the connection, and the program that was started for it."""
        if self._link is not None:
            await self._link.close()

    def _current(self) -> ServerConnection:
        if self._link is None or self._link.lost:
            self.connections += 1
            self._link = ServerConnection(
                self.settings, self._log, self._changed_in, self._environments
            )
        return self._link

    def _changed_in(self, link: ServerConnection) -> None:
        if link is self._link:
            self._changed()

    def _told(
        self, link: ServerConnection, error: Exception, timeout_s: float = 0.0
    ) -> ServerError:
        name = self.settings.name
        if late(error):
            within = f" within {timeout_s:g} s" if timeout_s else " in time"
            return ServerError(f"{name}: it returned nothing{within}", "timeout")
        said = masked(self.settings, f"{name}: {link.problem or problem_of(error)}")
        if lost(error):
            link.end()
            return ServerError(f"{said}; the next call starts it again", "interrupted")
        return ServerError(said)
