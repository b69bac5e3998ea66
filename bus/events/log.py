"""What happened to the log itself."""

from typing import ClassVar

from ..event import Event

CLOCK_STREAM = "log/clock"  # a stream of its own: its newest event is looked up at every start


class LogClockJumped(Event, frozen=True, kw_only=True, tag="log.clock_jumped"):
    """The machine's clock was set, or is behind the log's newest event.

    The log's time never goes back: where the clock does, it goes on ahead of it. Its difference
    from the clock stays `ahead_ns` until the next of these events.
    """

    belongs: ClassVar[tuple[str, str]] = (CLOCK_STREAM, "")

    by_ns: int  # how far the clock was set; less than 0 for back
    clock_ns: int  # what it said after that, UTC nanoseconds
    ahead_ns: int = 0  # how far the log's time is ahead of the clock from here on
    skipped_ns: int = 0  # of the log's time before this event, how much did not pass
