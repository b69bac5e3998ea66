"""What the providers are that ask a model over HTTP: a caller, and the models of the home."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import ClassVar

from cortex.bus import Event
from cortex.bus.events import ModelInvoke
from cortex.runtime.kernel import AsyncComponent, Config, Serves
from cortex.runtime.log import Blobs
from cortex.runtime.models import endpoints

from .caller import Caller, Dialect
from .said import announced


class HttpProvider(AsyncComponent):
    """Base of a provider; a subclass names itself and its dialect, and takes `model.invoke`."""

    rests = True
    provider: ClassVar[str]
    dialect: ClassVar[type[Dialect]]

    @classmethod
    def announces(cls, config: Config) -> tuple[Serves, ...]:
        """The models that the home configures for it."""
        return announced(config, cls.provider)

    def __init__(self, blobs: Blobs, config: Config) -> None:
        self._blobs, self._config = blobs, config

    async def opened(self) -> None:
        """Make room for calls; nothing is imported before the first."""
        known = endpoints(self._config.models, self.provider)
        self._caller = Caller(self.dialect(), self._blobs, known)

    async def closed(self) -> None:
        """Close all connections."""
        await self._caller.close()

    async def call(self, asked: ModelInvoke) -> AsyncIterator[Event]:
        """Send the prompt and hand on what comes."""
        async with aclosing(self._caller.call(asked)) as outputs:
            async for output in outputs:
                yield output
