"""Runtimes: start and stop."""

from ..event import Event


class RuntimeStarted(Event, frozen=True, kw_only=True, tag="runtime.started"):
    """A runtime began to serve this log."""

    belongs = ("runtime", "runtime")

    runtime: str
    cortex_version: str
    components: tuple[str, ...] = ()
    clock_behind_s: float = 0.0  # how far the machine's clock is behind the log's newest event


class RuntimeStopped(Event, frozen=True, kw_only=True, tag="runtime.stopped"):
    """A runtime shut down cleanly; after a crash, this event is missing."""

    belongs = ("runtime", "runtime")

    runtime: str
