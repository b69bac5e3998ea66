"""The component that uses the tools of MCP servers."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from cortex.bus import OWNER, Event, Recorded, Vocabulary, effect_of
from cortex.bus.events import ToolCall, ToolListed, ToolUnclaimed
from cortex.runtime.kernel import AsyncComponent, Config, Delivery, Home, on
from cortex.runtime.log import Blobs
from cortex.runtime.registry import registry_of

from ..answers import failed, late, returned, unknown
from .environments import Environments, masked, servers_of
from .errors import CallLostError, ServerError
from .offered import COMPONENT, NEWS_S, PROVIDER, Offered
from .results import text_of

History = Callable[[str], Iterator[Recorded]]
Publish = Callable[..., int]


class McpTools(AsyncComponent):
    """Connects to servers on demand, records their tools, and calls them."""

    concurrent = 64

    @classmethod
    def may_rest(cls, config: Config, settings: Mapping[str, Any]) -> bool:
        """Whether no servers are configured."""
        return not servers_of(config, settings)

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
        self._home = home.path if home else None
        self._asks = home is None or home.stands_for is None  # a dry run starts no program
        self._environments = Environments(home.path if home else None)
        self._offered: dict[str, Offered] = {}
        self._publishing: set[asyncio.Task[None]] = set()
        self._telling = asyncio.Lock()

    async def opened(self) -> None:
        """Read the configured servers; ask only those whose tools are not recorded."""
        for settings in self._servers:
            log = self._home / settings.log if self._home else None
            offered = Offered(settings, log, self._environments)
            offered.heard = self._hearing(offered)
            offered.standing = await asyncio.to_thread(self._recorded, settings.name)
            self._offered[settings.name] = offered
            if offered.is_unknown and self._asks:
                offered.await_first()
        if self._publishing:  # a step that begins now must see that they are pending
            await asyncio.wait(self._publishing, timeout=NEWS_S)

    async def closed(self) -> None:
        """End all connections, and the programs that were started."""
        await asyncio.gather(*(offered.close() for offered in self._offered.values()))
        if self._publishing:
            await asyncio.wait(self._publishing, timeout=NEWS_S)

    @on(ToolUnclaimed)
    async def unclaimed(self, event: ToolUnclaimed, delivery: Delivery) -> AsyncIterator[Event]:
        """Ask servers again for tools that a step waits for, as long as it waits."""
        for entry in event.tools:
            offered = self._offered.get(entry.partition(".")[0])
            if offered is not None:
                offered.ask_again(event.wait_s)
                for news in offered.taken():
                    yield news

    @on(ToolCall, where={"provider": PROVIDER})
    async def call(self, event: ToolCall, delivery: Delivery) -> AsyncIterator[Event]:
        """Call a tool; if its server's tools have changed, record that with the result."""
        name, _, tool = event.tool.partition(".")
        offered = self._offered.get(name)
        if offered is None:
            yield failed(event, f"no server is called {name!r} in config.toml", "missing")
            gone = "it is not in config.toml"
            yield ToolListed(server=name, provider=PROVIDER, component=COMPONENT, reason=gone)
            return
        if not offered.server.settings.offers(tool):
            yield failed(event, f"config.toml does not allow {tool!r} of {name}", "denied")
            return
        offered.calls += 1
        try:
            yield await self._called(event, delivery, offered, tool)
            await offered.settle()
        finally:
            offered.calls -= 1
        for news in offered.taken():
            yield news

    async def _called(
        self, event: ToolCall, delivery: Delivery, offered: Offered, tool: str
    ) -> Event:
        server, once = offered.server, effect_of(event.effect) == "once"
        limit_s = min(event.timeout_s, server.settings.timeout_s)
        try:
            async with asyncio.timeout(event.timeout_s):
                result = await server.call(tool, event.arguments, limit_s)
        except TimeoutError:
            within = f"it returned nothing within {event.timeout_s:g} s"
            return unknown(event, delivery, within) if once else late(event)
        except CallLostError as error:
            if once:
                return unknown(event, delivery, str(error))
            return failed(event, str(error), error.kind)
        except ServerError as error:
            return failed(event, str(error), error.kind)
        text = await asyncio.to_thread(text_of, result, self._blobs)
        text = masked(server.settings, text)
        if result.is_error:
            return failed(event, text or "the tool failed and does not say why")
        first = next(iter(text.splitlines()), "nothing")
        return await asyncio.to_thread(returned, event, text, self._blobs, first)

    def _hearing(self, offered: Offered) -> Callable[[], None]:
        """Record new lists at once, unless a call does."""

        def heard() -> None:
            if self._publish is not None and not offered.calls:
                task = asyncio.create_task(self._tell(offered, self._publish))
                self._publishing.add(task)
                task.add_done_callback(self._publishing.discard)

        return heard

    async def _tell(self, offered: Offered, publish: Publish) -> None:
        async with self._telling:  # one after another, so that the newest is last
            if news := offered.taken():
                await asyncio.to_thread(publish, *news)

    def _recorded(self, name: str) -> ToolListed | None:
        """The last list of a server from this component or the owner; others are ignored."""
        records = self._history(ToolListed(server=name).stream()) if self._history else ()
        listing = registry_of(records, self._vocabulary.read).listings.get(name)
        return listing.newest if listing is not None and listing.by == OWNER else None
