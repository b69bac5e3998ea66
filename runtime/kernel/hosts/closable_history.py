"""Reads the streams of the log for one component, but not while the hub waits for its answer."""

from collections.abc import Callable, Iterator

from cortex.bus import Recorded


class NotNowError(Exception):
    """The log cannot be read now: the hub holds a transaction for the answer."""


class ClosableHistory:
    """A component's port `history`, which can be closed for a moment."""

    def __init__(self, history: Callable[[str], Iterator[Recorded]]) -> None:
        self._history = history
        self.closed = False

    def __call__(self, stream: str) -> Iterator[Recorded]:
        """The events of *stream*.

        Raises:
            NotNowError: It is closed.
        """
        if self.closed:
            raise NotNowError
        return self._history(stream)
