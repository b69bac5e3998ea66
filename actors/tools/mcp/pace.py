"""How often a server is asked for its tools: seldom, where they change all the time."""

SHORTEST_S = 1.0  # between two listings
LONGEST_S = 60.0


class Pace:
    """When the next listing is due; the pause doubles while changes come as fast as it allows."""

    def __init__(self) -> None:
        self._pause_s = 0.0
        self._last_s: float | None = None  # when the last listing ended

    def wait_s(self, now_s: float) -> float:
        """Seconds until the next listing may begin."""
        if self._last_s is None:
            return 0.0
        return max(0.0, self._last_s + self._pause_s - now_s)

    def listed(self, now_s: float) -> None:
        """A listing has just ended."""
        soon = self._last_s is not None and now_s - self._last_s < 2 * self._pause_s
        self._pause_s = min(2 * self._pause_s, LONGEST_S) if soon else SHORTEST_S
        self._last_s = now_s
