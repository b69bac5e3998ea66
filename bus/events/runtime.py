"""Runtimes coming and going."""

from ..event import Ephemeral, Event


class RuntimeStarted(Event, frozen=True, kw_only=True, tag="runtime.started"):
    """A runtime began to serve this log."""

    belongs = ("runtime", "runtime")

    runtime: str
    cortex_version: str
    components: tuple[str, ...] = ()
    clock_behind_s: float = 0.0  # how far the machine's clock is behind the log's newest event


class RuntimeStopped(Event, frozen=True, kw_only=True, tag="runtime.stopped"):
    """A runtime ended in good order; after a crash, this event is missing."""

    belongs = ("runtime", "runtime")

    runtime: str


class TraceSpan(Ephemeral, frozen=True, kw_only=True, tag="trace.span"):
    """One handled event with the time it took; not in the log, spans are rebuilt from there."""

    belongs = ("component", "component")

    component: str
    position: int
    about: str  # topic of the event it handled
    duration_s: float
