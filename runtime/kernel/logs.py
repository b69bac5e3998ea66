"""Where the runtime's own log lines go when the program around it has not said."""

import logging
import sys

import structlog

from cortex.runtime.secrets import Mask, Redactor


class Stderr:
    """Standard error as it is when a line is written; a program may have replaced it since."""

    def write(self, text: str) -> int:
        """Write *text*; how many characters that were."""
        return sys.stderr.write(text)

    def flush(self) -> None:
        """Let nothing wait in a buffer."""
        sys.stderr.flush()


def configure_unless_done() -> None:
    """Warnings and worse to standard error, never to standard output, which is for results."""
    if structlog.is_configured():
        return
    structlog.configure(
        processors=[Redactor(), *structlog.get_config()["processors"]],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(Stderr()),  # type: ignore[arg-type]  # write, flush
    )


def hide_in_logs(mask: Mask) -> None:
    """Have what *mask* knows, now and later, hidden in the log lines of this process, too."""
    for processor in structlog.get_config()["processors"]:
        if isinstance(processor, Redactor):
            processor.follow(mask)
