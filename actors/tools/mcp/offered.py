"""One server, and what the log says that it offers."""

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
COMPONENT = LISTER  # which takes calls, whoever records what there is
LONGEST_ASKING_S = 3_600.0  # that a server is asked again for a step which waits
NEWS_S = 5.0  # that a call waits for the new list of tools which it brought about
BACKOFF = Backoff(first_s=1.0, longest_s=60.0)  # between two listings


class Offered:
    """A server, and what is recorded, or to be recorded, of its tools."""

    def __init__(self, settings: McpServer, log: Path | None, environments: Environments) -> None:
        self.server = Server(settings, log, self.renew, environments)
        self.standing: ToolListed | None = None
        self.news: list[ToolListed] = []  # not recorded yet
        self.calls = 0  # under way: they record the news
        self.heard: Callable[[], None] = lambda: None
        self._pace = Pace()
        self._looked_at = 0  # the connection whose tools were listed last
        self._again = False
        self._renewing: asyncio.Task[None] | None = None
        self._asking: asyncio.Task[None] | None = None  # again and again, while a step waits
        self._until_s = 0.0

    @property
    def is_unknown(self) -> bool:
        """Whether what is recorded of it cannot be what it offers now."""
        standing, allow = self.standing, self.server.settings.allow
        if standing is None or not standing.tools:
            return True
        if not all(self._fits(tool) for tool in standing.tools):
            return True
        names = {tool.get("name") for tool in standing.tools}
        return bool(allow) and names != set(allow)

    def _fits(self, tool: dict[str, Any]) -> bool:
        """Whether what is recorded of a tool's effect was found as it would be now."""
        settings = self.server.settings
        declared = settings.effects.get(str(tool.get("name")))
        if declared is not None:
            return bool(tool.get("effect") == declared)
        return tool.get("annotations") == settings.trust_annotations

    def renew(self) -> None:
        """List its tools anew as soon as it may be; while that is done, once more after it."""
        self._again = True
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())

    def ask_again(self, for_s: float) -> None:
        """List its tools until there are some, at the pace it may be asked, for *for_s* at most."""
        until_s = asyncio.get_running_loop().time() + min(for_s, LONGEST_ASKING_S)
        self._until_s = max(self._until_s, until_s)
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_until())

    def await_first(self) -> None:
        """Begin to list its tools; that is said meanwhile where no reason recorded of it may hold.

        The SDK may have been installed since the last start.
        """
        self.renew()
        if self.standing is None or self.standing.reason == NO_SDK:
            self._say((), NOT_YET)

    async def first(self) -> None:
        """Wait until its list is known, or why there is none."""
        if self._renewing is not None:
            await asyncio.shield(self._renewing)

    async def settle(self) -> None:
        """Wait until its list is that of the connection there is, unless that takes long."""
        if self._looked_at != self.server.connections:
            self.renew()
        soon = self._pace.wait_s(asyncio.get_running_loop().time()) <= BACKOFF.first_s
        if soon and self._renewing is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(NEWS_S):
                    await asyncio.shield(self._renewing)

    async def look(self) -> None:
        """List its tools; what is new goes to the news, and so does why there are none."""
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
        """The news, which whoever takes them records."""
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
    """When the next listing is due; the pause doubles while changes come as fast as it allows."""

    def __init__(self) -> None:
        self._soon = 0  # listings in a row that came as fast as they might
        self._last_s: float | None = None  # when the last listing ended

    def wait_s(self, now_s: float) -> float:
        """Seconds until the next listing may begin."""
        if self._last_s is None:
            return 0.0
        return max(0.0, self._last_s + BACKOFF.after_s(self._soon) - now_s)

    def listed(self, now_s: float) -> None:
        """A listing has just ended."""
        pause_s = BACKOFF.after_s(self._soon)
        soon = self._last_s is not None and now_s - self._last_s < 2 * pause_s
        self._soon = self._soon + 1 if soon else 1
        self._last_s = now_s
