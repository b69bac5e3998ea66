"""How often a server is asked for its tools: seldom, where they change all the time."""

from cortex.bus import Backoff

BACKOFF = Backoff(first_s=1.0, longest_s=60.0)  # between two listings


class Pace:
    """When the next listing is due; the pause doubles while changes come as fast as it allows."""

    def __init__(self) -> None:
        self._soon = 0  # listings in a row that came as fast as they might
        self._last_s: float | None = None  # when the last listing ended

    def wait_s(self, now_s: float) -> float:
        """Seconds until the next listing may begin."""
        if self._last_s is None:
            return 0.0
        return max(0.0, self._last_s + BACKOFF.after_s(self._soon) - now_s)

    def listed(self, now_s: float) -> None:
        """A listing has just ended."""
        pause_s = BACKOFF.after_s(self._soon)
        soon = self._last_s is not None and now_s - self._last_s < 2 * pause_s
        self._soon = self._soon + 1 if soon else 1
        self._last_s = now_s
