"""Asking a provider as its host would, on an event loop of the test's own."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from cortex.actors.providers import AnthropicProvider, OpenAIProvider
from cortex.bus import Event
from cortex.bus.events import ModelInvoke
from cortex.runtime.context import TokenCounter, framing_tokens, read_text
from cortex.runtime.kernel import Config, Delivery
from cortex.runtime.log import MemoryBlobs

Provider = AnthropicProvider | OpenAIProvider
Given = TypeVar("Given")

PROMPT = (
    "=== persona ===\nYou are careful.\n"
    "=== instructions ===\nDo what the step says.\n"
    "=== step ===\nstep: mend\nSay what is broken.\n"
)
# Counted where an endpoint does not tell: all that is sent, and about what frames it.
PROMPT_TOKENS = TokenCounter().count(PROMPT) + framing_tokens(read_text(PROMPT))


def config_for(provider: str, base_url: str, **keys: Any) -> Config:
    """A configuration with one model, `m`."""
    model = {"name": "m", "provider": provider, "base_url": base_url, **keys}
    return msgspec.convert({"models": {"use": [model]}}, Config)


class Asking:
    """One provider and its blobs."""

    def __init__(self, kind: type[Provider], config: Config) -> None:
        self.blobs = MemoryBlobs()
        self.provider = kind(self.blobs, config)
        self._name = config.models.use[0].provider

    def invoke(self, prompt: str = PROMPT, **fields: Any) -> ModelInvoke:
        """A request for the model `m`."""
        fields = {"model": "m", "provider": self._name, "timeout_s": 30.0, **fields}
        return ModelInvoke(
            execution_id="e7f3", step_id="mend-9", prompt=self.blobs.put(prompt.encode()), **fields
        )

    async def said(self, event: ModelInvoke) -> list[Event]:
        """All that the provider says of one request."""
        delivery = Delivery(position=1, time_ns=1, component="tested")
        return [output async for output in self.provider.invoke(event, delivery)]

    def run(self, work: Callable[[], Awaitable[Given]]) -> Given:
        """Do *work* between the provider's start and its end."""

        async def whole() -> Given:
            await self.provider.opened()
            try:
                return await work()
            finally:
                await self.provider.closed()

        return asyncio.run(whole())

    def ask(self, *events: ModelInvoke) -> list[Event]:
        """All that is said of *events*, one after the other."""

        async def each() -> list[Event]:
            return [output for event in events for output in await self.said(event)]

        return self.run(each)
