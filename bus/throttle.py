"""Limits how often repeated things are reported: pure, on a clock that is passed in."""


class Throttle:
    """Lets a thing be reported at most once a second, with how often it came."""

    KEPT = 1_000  # different things; beyond, the oldest are forgotten

    def __init__(self, every_ns: int = 1_000_000_000) -> None:
        self._every_ns = every_ns
        self._seen: dict[str, tuple[int, int]] = {}  # when it was reported, how often it came since

    def take(self, what: str, now_ns: int) -> int:
        """How often *what* came since it was last reported; 0 where it is not to be now."""
        last_ns, since = self._seen.pop(what, (now_ns - self._every_ns, 0))
        if now_ns - last_ns < self._every_ns:
            self._seen[what] = (last_ns, since + 1)
            return 0
        self._seen[what] = (now_ns, 0)
        while len(self._seen) > self.KEPT:
            self._seen.pop(next(iter(self._seen)))
        return since + 1
