"""Where the runtime's own log lines go, unless the program has configured that."""

import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from cortex.bus import with_structlog
from cortex.runtime.secrets import Mask, Redactor

from .detail import LEVEL

# With "trace" as with "debug", and of each event what its handler gave.
LEVELS = {"trace": logging.DEBUG, "debug": logging.DEBUG, "info": logging.INFO}
LEVELS |= {"warning": logging.WARNING, "error": logging.ERROR}


def level_asked() -> int | None:
    """The level that `CORTEX_LOG` names, where it names one; what is none is said."""
    said = os.environ.get(LEVEL, "")
    level = LEVELS.get(said.lower())
    if said and level is None:
        sys.stderr.write(f"cortex: {LEVEL}={said[:20]!r} is not a level: {', '.join(LEVELS)}\n")
    return level


class Stderr:
    """Standard error as it is when a line is written; a program may have replaced it since."""

    def write(self, text: str) -> int:
        """Write *text*; how many characters that were."""
        return sys.stderr.write(text)

    def flush(self) -> None:
        """Let nothing wait in a buffer."""
        sys.stderr.flush()


def configure_unless_done() -> None:
    """Warnings and worse, or what `CORTEX_LOG` says, to standard error.

    Never to standard output, which is for results.
    """
    level = level_asked()

    def configure() -> None:
        import structlog  # once somebody uses it

        if not structlog.is_configured():
            log_to_stderr(level, [Redactor()])

    with_structlog(configure)


def log_to_stderr(level: int | None, first: Sequence[Callable[..., Any]]) -> None:
    """Have structlog write to standard error, what passed the processors *first*.

    Args:
        level: Of the least line that is written; None for warnings.
        first: Run before those that structlog has.
    """
    import structlog  # once somebody uses it

    structlog.configure(
        processors=[*first, *structlog.get_config()["processors"]],
        wrapper_class=structlog.make_filtering_bound_logger(level or logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(Stderr()),  # type: ignore[arg-type]  # write, flush
    )


def hide_in_logs(mask: Mask) -> None:
    """Have what *mask* knows, now and later, hidden in the log lines of this process, too."""

    def hide() -> None:
        import structlog  # once somebody uses it

        for processor in structlog.get_config()["processors"]:
            if isinstance(processor, Redactor):
                processor.follow(mask)

    with_structlog(hide)
