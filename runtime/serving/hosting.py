"""Hosts components of this process on the hub of another."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from cortex.runtime.kernel import Component, Entry, Worker

from .connecting import Hub

PATIENCE_S = 5.0  # time for a handler to finish


@contextmanager
def hosted(
    components: Iterable[str | Entry | type[Component]],
    hub: Hub,
    *,
    name: str = "",
    patience_s: float = PATIENCE_S,
) -> Iterator[Worker]:
    """Host *components* on *hub* until the block is left.

    Raises:
        ManifestError: One of them cannot be loaded.
        HubAwayError: The hub cannot be reached.
        ClientDeniedError: The hub does not admit this client.
        NotReadyError: A component did not start.
    """
    with hub.dial(name) as client:
        worker = Worker(
            components,
            hub=client.hub,
            log=client.log,
            blobs=client.blobs,
            home=hub.home,
            name=client.name,
        )
        try:
            worker.start()
            yield worker
        finally:
            worker.stop(patience_s)
