"""Measures how much one client uses of a hub's server, over all its connections, and limits it."""

import threading
from collections.abc import Callable, Sequence

from ...errors import LimitError
from ...limits import Allowance, Rate
from ...requests import Commit, Finish, Publish, Request

PATIENCE_NS = 1_000_000_000  # a client over its rates waits at most this long, and is then refused


class Usage:
    """The usage of one limited client; thread-safe.

    The cost of a frame is known after the answer. So it is counted then, and the next frame waits
    until the client is within its rates again. A refused client was held back
    first, so that refused requests are no faster than others.
    """

    def __init__(self, allowance: Allowance, steady_ns: Callable[[], int]) -> None:
        self.allowance = allowance
        self._steady_ns = steady_ns
        self._lock = threading.Lock()
        self._requests = Rate(allowance.limits.requests_per_s)
        self._bytes = Rate(allowance.limits.bytes_per_s)
        self._watched = 0

    def change(self, allowance: Allowance) -> None:
        """Use other limits from now on."""
        with self._lock:
            self.allowance = allowance
            self._requests.per_s = allowance.limits.requests_per_s
            self._bytes.per_s = allowance.limits.bytes_per_s

    def hold_back(self) -> tuple[int, LimitError | None]:
        """How long the client must wait, in ns, and the refusal after that, if any.

        A client that is over its rates by more than a second waits for one, and is refused.
        """
        wait_ns, what = self._wait_ns()
        if wait_ns <= PATIENCE_NS:
            return wait_ns, None
        limits = self.allowance.limits
        return PATIENCE_NS, LimitError(self.allowance.client, what, getattr(limits, what))

    def count(self, asked: Sequence[tuple[str, Request]], size_bytes: int) -> None:
        """Count a frame that was answered: its requests, their events, and bytes both ways."""
        events = 0
        for _, request in asked:
            if isinstance(request, Publish | Commit | Finish):
                events += len(request.events) + len(request.due) + len(request.forget)
        with self._lock:
            self._requests.use(len(asked) + events)
            self._bytes.use(size_bytes)

    def watch(self, more: int) -> None:
        """Count *more* watched or answered names; negative for fewer.

        Raises:
            LimitError: The client would be over its limit; nothing was counted.
        """
        with self._lock:
            limit = self.allowance.limits.watched
            if limit and 0 < more > limit - self._watched:
                raise LimitError(self.allowance.client, "watched", limit)
            self._watched += more

    def _wait_ns(self) -> tuple[int, str]:
        with self._lock:
            now_ns = self._steady_ns()
            requests_ns, bytes_ns = self._requests.wait_ns(now_ns), self._bytes.wait_ns(now_ns)
        if bytes_ns > requests_ns:
            return bytes_ns, "bytes_per_s"
        return requests_ns, "requests_per_s"
