"""The asyncio face of everything here: one adapter, which runs any blocking call in a thread."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import ParamSpec, Self, TypeVar

THREADS = 32  # calls that may wait at the same time

Params = ParamSpec("Params")
Result = TypeVar("Result")
_END = object()


class Aio:
    """Awaits calls that block: ``await aio(client.publish, event)``.

    A call that is cancelled continues in its thread; only its result is dropped, as with a publish
    whose answer is lost.
    """

    def __init__(self, threads: int = THREADS) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="cortex-aio")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __call__(
        self, call: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        """Return what *call* returns, and raise what it raises."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, lambda: call(*args, **kwargs))

    async def each(self, items: Iterable[Result]) -> AsyncIterator[Result]:
        """Every item of an iterable whose steps block."""
        loop, iterator = asyncio.get_running_loop(), iter(items)
        while True:
            item = await loop.run_in_executor(self._threads, next, iterator, _END)
            if item is _END:
                return
            yield item  # type: ignore[misc]  # the end was looked for

    def close(self) -> None:
        """Accept no more calls; the running ones finish."""
        self._threads.shutdown(wait=False)
