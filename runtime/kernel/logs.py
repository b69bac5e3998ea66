"""The default output of the runtime's log lines, unless the program configured its own."""

import logging
import os
import sys
from collections.abc import Callable, MutableMapping, Sequence
from contextlib import suppress
from typing import Any, Final

from cortex.bus import with_structlog
from cortex.runtime.secrets import Mask, Redactor

from .log_levels import Level, handled, wanted_logs

# As structlog filters; "trace" is a level of Cortex's own below its lowest.
_FILTERS: Final[dict[Level, int]] = {
    "trace": logging.NOTSET,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def level_asked() -> Level | None:
    """The level that is asked for, if one is; reports a variable that is wrong."""
    wanted = wanted_logs()
    if wanted.wrong:
        sys.stderr.write(f"cortex: {wanted.wrong}\n")
    return wanted.level


class Stderr:
    """Standard error at the time of writing, because a program may replace it.

    Where nobody reads it any more, lines are lost: a handler must not fail because of its log.
    """

    def write(self, text: str) -> int:
        """Write *text*; returns the number of characters."""
        with suppress(OSError, ValueError):  # the other end, or the stream itself, is closed
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush standard error."""
        with suppress(OSError, ValueError):
            sys.stderr.flush()


_STDERR: Final = Stderr()  # one, as structlog locks it for each line


def configure_unless_done() -> None:
    """Write warnings and errors, or the level that is asked for, to standard error.

    Never to standard output, which is for results.
    """
    level_asked()

    def configure() -> None:
        import structlog  # only when it is used

        if not structlog.is_configured():
            log_to_stderr([Redactor()])

    with_structlog(configure)


def log_to_stderr(last: Sequence[Callable[..., Any]]) -> None:
    """Make structlog write to standard error what is asked for, or warnings and errors.

    Args:
        last: Processors that see each line as a whole, before it is rendered.
    """
    import structlog  # only when it is used

    wanted = wanted_logs()
    least = _FILTERS[wanted.level or "warning"]
    as_json = wanted.format == "json"
    renderer: Any = structlog.processors.JSONRenderer()
    if not as_json:
        renderer = structlog.dev.ConsoleRenderer(colors=_coloured())
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _with_handled,
            _with_level,
            _with_logger,
            structlog.processors.StackInfoRenderer(),
            structlog.dev.set_exc_info,
            structlog.processors.TimeStamper(
                fmt="iso" if as_json else "%Y-%m-%d %H:%M:%S", utc=as_json
            ),
            *last,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(least),
        logger_factory=_named,
    )


def hide_in_logs(mask: Mask) -> None:
    """Hide the secrets of *mask*, current and future, in the log lines of this process, too."""

    def hide() -> None:
        import structlog  # only when it is used

        for processor in structlog.get_config()["processors"]:
            if isinstance(processor, Redactor):
                processor.follow(mask)

    with_structlog(hide)


def _named(*names: str) -> Any:
    """A logger that knows its name."""
    import structlog  # only when it is used

    # Each line in one write, so that those of several threads and processes are not mixed.
    logger = structlog.WriteLogger(_STDERR)  # type: ignore[arg-type]  # write, flush
    logger.name = names[0] if names else ""  # type: ignore[attr-defined]  # for `_with_logger`
    return logger


def _with_handled(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    # They are bound, too, but not while another thread imports structlog for the first time.
    handling = handled.get()
    for name, value in (handling.fields() if handling is not None else {}).items():
        event.setdefault(name, value)
    return event


def _with_level(
    _logger: Any, method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    event.setdefault("level", {"warn": "warning", "exception": "error"}.get(method, method))
    return event


def _with_logger(
    logger: Any, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    if name := getattr(logger, "name", ""):
        event.setdefault("logger", name)
    return event


def _coloured() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR")
