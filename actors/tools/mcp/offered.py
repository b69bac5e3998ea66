"""One server, and its tools according to the log."""

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cortex.bus import Backoff
from cortex.bus.events import ToolListed
from cortex.runtime.registry import LISTER, NO_SDK, NOT_YET
from cortex.runtime.tools import McpServer

from ..answers import one_line
from .environments import Environments
from .errors import ServerError, problem_of
from .server import Server

PROVIDER = "mcp"
COMPONENT = LISTER  # takes the calls, independent of who records the list
LONGEST_ASKING_S = 3_600.0  # how long to ask a server again for a waiting step
NEWS_S = 5.0  # how long a call waits for the new tool list that it caused
BACKOFF = Backoff(first_s=1.0, longest_s=60.0)  # between two listings


class Offered:
    """A server, with the recorded and unrecorded lists of its tools."""

    def __init__(self, settings: McpServer, log: Path | None, environments: Environments) -> None:
        self.server = Server(settings, log, self.renew, environments)
        self.standing: ToolListed | None = None
        self.news: list[ToolListed] = []  # not recorded yet
        self.calls = 0  # running calls, which record new lists
        self.heard: Callable[[], None] = lambda: None
        self._pace = Pace()
        self._looked_at = 0  # number of the connection of the last list
        self._again = False
        self._renewing: asyncio.Task[None] | None = None
        self._asking: asyncio.Task[None] | None = None  # repeats while a step waits
        self._until_s = 0.0

    @property
    def is_unknown(self) -> bool:
        """Whether the recorded list must be outdated."""
        standing, allow = self.standing, self.server.settings.allow
        if standing is None or not standing.tools:
            return True
        if not all(self._fits(tool) for tool in standing.tools):
            return True
        names = {tool.get("name") for tool in standing.tools}
        return bool(allow) and names != set(allow)

    def _fits(self, tool: dict[str, Any]) -> bool:
        """Whether the recorded effects were determined as they would be now."""
        settings = self.server.settings
        declared = settings.effects.get(str(tool.get("name")))
        if declared is not None:
            return bool(tool.get("effect") == declared)
        return tool.get("annotations") == settings.trust_annotations

    def renew(self) -> None:
        """List its tools again as soon as allowed; during a listing, once more after it."""
        self._again = True
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())

    def ask_again(self, for_s: float) -> None:
        """List its tools until there are some, at the allowed rate, for at most *for_s*."""
        until_s = asyncio.get_running_loop().time() + min(for_s, LONGEST_ASKING_S)
        self._until_s = max(self._until_s, until_s)
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_until())

    def await_first(self) -> None:
        """Begin to list its tools; reports that if a recorded reason may no longer hold.

        The SDK may have been installed since the last start.
        """
        self.renew()
        if self.standing is None or self.standing.reason == NO_SDK:
            self._say((), NOT_YET)

    async def first(self) -> None:
        """Wait until its list is known, or the reason why there is none."""
        if self._renewing is not None:
            await asyncio.shield(self._renewing)

    async def settle(self) -> None:
        """Wait until its list is from the current connection, within a limit."""
        if self._looked_at != self.server.connections:
            self.renew()
        soon = self._pace.wait_s(asyncio.get_running_loop().time()) <= BACKOFF.first_s
        if soon and self._renewing is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(NEWS_S):
                    await asyncio.shield(self._renewing)

    async def look(self) -> None:
        """List its tools; adds a new list, or the reason why there is none, to the news."""
        try:
            tools, reason = await self.server.tools()
        except Exception as error:  # noqa: BLE001  # whatever it says, its absence has a reason
            said = str(error) if isinstance(error, ServerError) else problem_of(error)
            tools, reason = (), one_line(said, 300)
        finally:
            self._pace.listed(asyncio.get_running_loop().time())
        self._looked_at = self.server.connections
        self._say(tools, reason)

    def taken(self) -> list[ToolListed]:
        """Take the news; the caller must record them."""
        news, self.news = self.news[-1:], []
        return news

    async def close(self) -> None:
        """End the connection."""
        for task in (self._asking, self._renewing):
            if task is not None:
                task.cancel()
        await self.server.close()

    def _say(self, tools: tuple[dict[str, Any], ...], reason: str) -> None:
        name = self.server.settings.name
        listed = ToolListed(
            server=name, provider=PROVIDER, tools=tools, reason=reason, component=COMPONENT
        )
        if listed != self.standing:
            self.standing = listed
            self.news.append(listed)
            self.heard()

    async def _ask_until(self) -> None:
        loop = asyncio.get_running_loop()
        while self.standing is None or not self.standing.tools:
            self.renew()
            await self.first()
            if loop.time() >= self._until_s:
                return

    async def _renew(self) -> None:
        loop = asyncio.get_running_loop()
        while self._again:
            await asyncio.sleep(self._pace.wait_s(loop.time()))
            self._again = False
            await self.look()


class Pace:
    """When the next listing is due; the pause doubles while changes come at the allowed rate."""

    def __init__(self) -> None:
        self._soon = 0  # listings in a row at the allowed rate
        self._last_s: float | None = None  # when the last listing ended

    def wait_s(self, now_s: float) -> float:
        """Seconds until the next listing may begin."""
        if self._last_s is None:
            return 0.0
        return max(0.0, self._last_s + BACKOFF.after_s(self._soon) - now_s)

    def listed(self, now_s: float) -> None:
        """Note that a listing has just ended."""
        pause_s = BACKOFF.after_s(self._soon)
        soon = self._last_s is not None and now_s - self._last_s < 2 * pause_s
        self._soon = self._soon + 1 if soon else 1
        self._last_s = now_s
