"""Components that wait for others most of the time: models, servers, people."""

from typing import ClassVar

from .component import Component


class AsyncComponent(Component):
    """A component whose handlers are `async def` generators, many of them under way at once.

    They run on one event loop of the component's own, fed from one queue, so that no two of them
    run at the same moment and none needs a lock. What must not happen in one is a wait that is not
    awaited: it would hold up all the others.

    When the execution that an event belongs to ends, or the step's attempt fails, the handler is
    cancelled: `asyncio.CancelledError` is raised where it waits, and what it yielded is dropped. An
    event with a `timeout_s` is cancelled a little after that time, and counts as failed.
    """

    workers = 1
    # Events that are handled at the same time. The end of an execution has to find room among them,
    # so what may be done at once in the world is better bounded by a semaphore of the component.
    concurrent: ClassVar[int] = 1_024

    async def opened(self) -> None:
        """Open what belongs to the event loop, on it."""

    async def closed(self) -> None:
        """Close what `opened` opened."""
