"""Fields of log lines about the event being handled, and the lines about its handling.

structlog keeps the fields of every line in the context of a thread or a task. Most processes
never log and never import it, so that nothing is bound there: an event is only noted, and bound
when structlog is imported while it is handled.
"""

import sys
import time
from collections.abc import Collection, Generator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from functools import cache
from typing import Any, Final

import msgspec

from cortex.bus import Draft, Event, Recorded, serving, with_structlog

from ..log_levels import LEVEL_OF, LEVELS, Level, fields_of, handled, level_of, wanted_logs

FIELDS: Final = ("component", "execution", "step", "event_id")


class Handling:
    """While this is entered, every log line of this thread or task has the fields of the event.

    The blobs that it puts are for the event's subject.
    """

    __slots__ = ("_bound", "_component", "_event", "_noted", "_record", "_serving")

    def __init__(self, component: str, record: Recorded, event: Event) -> None:
        self._component, self._record, self._event = component, record, event
        self._bound: list[Token[Any]] | None = None
        self._serving = serving(record.subject) if record.subject is not None else None

    def __enter__(self) -> None:
        self._noted = handled.set(self)
        if self._serving is not None:
            self._serving.__enter__()
        if "structlog" in sys.modules:
            self.bind()

    def __exit__(self, *_: object) -> None:
        handled.reset(self._noted)
        if self._serving is not None:
            self._serving.__exit__(None, None, None)
        if self._bound is not None:
            try:
                for token in self._bound:
                    token.var.reset(token)
            except ValueError:
                pass  # bound in an inner context, which has ended

    def bind(self) -> None:
        """Make structlog add component, execution, step and the event's id to each line."""
        variables = _variables()
        self._bound = [variables[name].set(value) for name, value in self.fields().items()]

    def fields(self) -> dict[str, str]:
        """The fields, without those that are empty."""
        execution = getattr(self._event, "execution_id", "") or self._record.correlation
        step = getattr(self._event, "step_id", "")
        said = (self._component, execution, step, self._record.id.hex())
        return {name: value for name, value in zip(FIELDS, said, strict=True) if value}


@cache
def _variables() -> dict[str, ContextVar[Any]]:
    """The variables of structlog: setting them is four times as fast as `bind_contextvars`."""
    # The package, not its module: while another thread imports it, this waits for all of it.
    import structlog

    named = structlog.contextvars
    tokens = named.bind_contextvars(**dict.fromkeys(FIELDS, ""))
    named.reset_contextvars(**tokens)
    return {name: token.var for name, token in tokens.items()}


@cache  # once for a process
def bind_when_imported() -> None:
    """Bind the fields for the first line written while an event is handled, too."""
    with_structlog(_bind_what_is_handled)


def _bind_what_is_handled() -> None:
    handling = handled.get()
    if isinstance(handling, Handling):
        handling.bind()


class Detail:
    """Log lines about the handlers of one component, as far as their *level* is asked for."""

    def __init__(self, level: Level) -> None:
        self._least = LEVELS.index(level)

    @classmethod
    def asked(cls) -> "Detail | None":
        """The details, if somebody asked for a level of log lines; else None."""
        level = wanted_logs().level
        return cls(level) if level is not None else None

    @contextmanager
    def of(self, record: Recorded, attempt: int) -> "Generator[Results, None, None]":
        """Log the handling of an event; inside `Handling`."""
        about = {"topic": record.topic, "position": record.position, "attempt": attempt}
        self._say("trace", "event_taken", source=record.source, **about)
        results, began = Results(), time.perf_counter()
        try:
            yield results
        finally:
            took_ms = round((time.perf_counter() - began) * 1e3, 1)
            drafts = results.drafts
            for draft in drafts or ():
                self._given(draft)
            given = "failed" if drafts is None else len(drafts)
            # Most components get many events that they only note.
            level: Level = "debug" if given else "trace"
            self._say(level, "event_handled", given=given, took_ms=took_ms, **about)

    def _given(self, draft: Draft) -> None:
        body: dict[str, Any] = {}
        if LEVEL_OF.get(draft.topic, "trace") not in ("trace", "debug"):
            body = msgspec.msgpack.decode(draft.body)
        level = level_of(draft, body)
        self._say(level, "event_given", topic=draft.topic, stream=draft.stream, **fields_of(body))

    def _say(self, level: Level, event: str, **fields: Any) -> None:
        if LEVELS.index(level) < self._least:
            return
        # Not above: a spawned component that logs nothing would start 0.1 s later.
        import structlog

        log = structlog.get_logger("cortex.events")
        if level == "trace":
            log.debug(event, level=level, **fields)  # structlog knows no such level
        else:
            getattr(log, level)(event, **fields)


class Results:
    """The resulting events; None until they are known, and if the handler failed."""

    def __init__(self) -> None:
        self.drafts: Collection[Draft] | None = None
