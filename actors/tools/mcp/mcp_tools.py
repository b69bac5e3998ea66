"""The component that uses the tools of MCP servers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cortex.bus import Event, Recorded, Vocabulary
from cortex.bus.events import RuntimeStarted, ToolCall, ToolListed
from cortex.runtime.kernel import AsyncComponent, Config, Delivery, Home, on
from cortex.runtime.log import Blobs
from cortex.runtime.tools import McpServer

from ..answers import failed, late, one_line, returned
from .errors import ServerError
from .results import text_of
from .server import Server
from .settings import masked, servers_of

PROVIDER = "mcp"
LOGS = "logs"  # folder of a home
NEWS_S = 5.0  # that a call waits for the new list of tools which it brought about

History = Callable[[str], Iterator[Recorded]]
Publish = Callable[..., int]


class Offered:
    """A server, and what the log says that it offers."""

    def __init__(self, settings: McpServer, log: Path | None) -> None:
        self.server = Server(settings, log, self.renew)
        self.standing: ToolListed | None = None
        self.news: list[ToolListed] = []  # not recorded yet
        self.calls = 0  # under way: they record the news
        self.heard: Callable[[], None] = lambda: None
        self._looked_at = 0  # the connection whose tools were listed last
        self._again = False
        self._renewing: asyncio.Task[None] | None = None

    def renew(self) -> None:
        """List its tools anew; while that is done, once more after it."""
        self._again = True
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew())

    async def settle(self) -> None:
        """Wait until its list is that of the connection there is."""
        if self._looked_at != self.server.connections:
            self.renew()
        if self._renewing is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(NEWS_S):
                    await asyncio.shield(self._renewing)

    async def look(self) -> None:
        """List its tools; what is new goes to the news, and so does why there are none."""
        name = self.server.settings.name
        try:
            tools, reason = await self.server.tools()
        except ServerError as error:
            tools, reason = (), one_line(str(error), 300)
            if self.standing is not None and self.standing.tools:
                return  # it may be back for the next call
        self._looked_at = self.server.connections
        listed = ToolListed(server=name, provider=PROVIDER, tools=tools, reason=reason)
        if listed != self.standing:
            self.standing = listed
            self.news.append(listed)
            self.heard()

    async def close(self) -> None:
        """End the connection."""
        if self._renewing is not None:
            self._renewing.cancel()
        await self.server.close()

    async def _renew(self) -> None:
        while self._again:
            self._again = False
            await self.look()


class McpTools(AsyncComponent):
    """Connects to servers when they are needed, records what they offer, and calls their tools."""

    concurrent = 64

    def __init__(
        self,
        config: Config,
        blobs: Blobs,
        vocabulary: Vocabulary,
        home: Home | None = None,
        settings: Mapping[str, Any] | None = None,
        history: History | None = None,
        publish: Publish | None = None,
    ) -> None:
        self._servers = servers_of(config, settings or {})
        self._blobs, self._vocabulary = blobs, vocabulary
        self._history, self._publish = history, publish
        self._logs = home.path / LOGS if home else None
        self._offered: dict[str, Offered] = {}
        self._publishing: set[asyncio.Task[None]] = set()

    async def opened(self) -> None:
        """Take note of the servers; none is connected to yet."""
        for settings in self._servers:
            log = self._logs / f"mcp-{settings.name}.log" if self._logs else None
            offered = Offered(settings, log)
            offered.heard = self._hearing(offered)
            offered.standing = await asyncio.to_thread(self._recorded, settings.name)
            self._offered[settings.name] = offered

    async def closed(self) -> None:
        """End every connection, and with it the programs that were started."""
        await asyncio.gather(*(offered.close() for offered in self._offered.values()))
        if self._publishing:
            await asyncio.wait(self._publishing, timeout=NEWS_S)

    @on(RuntimeStarted)
    async def started(self, event: RuntimeStarted, delivery: Delivery) -> AsyncIterator[Event]:
        """Ask the servers whose tools are not recorded; the others are asked when needed."""
        unknown = [offered for offered in self._offered.values() if _is_unknown(offered)]
        await asyncio.gather(*(offered.look() for offered in unknown))
        for offered in unknown:
            for news in _taken(offered):
                yield news

    @on(ToolCall, where={"provider": PROVIDER})
    async def call(self, event: ToolCall, delivery: Delivery) -> AsyncIterator[Event]:
        """Call a tool; where its server's tools have changed by then, that is recorded with it."""
        name, _, tool = event.tool.partition(".")
        offered = self._offered.get(name)
        if offered is None:
            yield failed(event, f"no server is called {name!r} in config.toml", "missing")
            yield ToolListed(server=name, provider=PROVIDER, reason="it is not in config.toml")
            return
        if not offered.server.settings.offers(tool):
            yield failed(event, f"config.toml does not allow {tool!r} of {name}", "denied")
            return
        offered.calls += 1
        try:
            yield await self._called(event, offered, tool)
            await offered.settle()
        finally:
            offered.calls -= 1
        for news in _taken(offered):
            yield news

    async def _called(self, event: ToolCall, offered: Offered, tool: str) -> Event:
        server = offered.server
        limit_s = min(event.timeout_s, server.settings.timeout_s)
        try:
            async with asyncio.timeout(event.timeout_s):
                result = await server.call(tool, event.arguments, limit_s)
        except TimeoutError:
            return late(event)
        except ServerError as error:
            return failed(event, str(error), error.kind)
        text = await asyncio.to_thread(text_of, result, self._blobs)
        text = masked(server.settings, text)
        if result.is_error:
            return failed(event, text or "the tool failed and does not say why")
        first = next(iter(text.splitlines()), "nothing")
        return await asyncio.to_thread(returned, event, text, self._blobs, first)

    def _hearing(self, offered: Offered) -> Callable[[], None]:
        """Record the news at once where no call does."""

        def heard() -> None:
            if self._publish is None or offered.calls:
                return
            news = _taken(offered)
            task = asyncio.create_task(asyncio.to_thread(_record, self._publish, news))
            self._publishing.add(task)
            task.add_done_callback(self._publishing.discard)

        return heard

    def _recorded(self, name: str) -> ToolListed | None:
        """What was recorded last of a server."""
        stream = ToolListed(server=name).stream()
        found: ToolListed | None = None
        for record in self._history(stream) if self._history else ():
            event = self._vocabulary.read(record)
            found = event if isinstance(event, ToolListed) else found
        return found


def _is_unknown(offered: Offered) -> bool:
    """Whether what is recorded of a server cannot be what it offers now."""
    standing, allow = offered.standing, offered.server.settings.allow
    if standing is None or not standing.tools:
        return True
    names = {tool.get("name") for tool in standing.tools}
    return bool(allow) and names != set(allow)


def _taken(offered: Offered) -> list[ToolListed]:
    news, offered.news = offered.news[-1:], []
    return news


def _record(publish: Publish, news: list[ToolListed]) -> None:
    if news:
        publish(*news)
