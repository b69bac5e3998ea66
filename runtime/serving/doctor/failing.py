"""Which components could not handle an event since they started, as the log has it."""

from collections.abc import Iterator, Sequence

import msgspec

from cortex.bus.events import (
    ComponentFailed,
    EffectUnknown,
    PluginLoaded,
    RuntimeStarted,
)
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import many
from cortex.runtime.projections import Selection


class Failing(msgspec.Struct):
    """A component, and what it could not handle since it, or the runtime, was started."""

    component: str
    failures: int
    reason: str  # of the newest
    about: str  # topic of the event that it was about; empty where none is to blame
    position: int  # of the event that says so
    trace: str  # digest of the blob that holds its traceback; empty where there is none


def failing_of(history: History) -> list[Failing]:
    """All of them by name; what failed before the newest start of a runtime counts no more."""
    newest = next(history.newest(Selection(topics=(RuntimeStarted.topic_name(),))), None)
    started = newest.position if newest else 0
    since: dict[str, int] = {}  # of components whose plugin was loaded later
    for record in history.select(Selection(topics=(PluginLoaded.topic_name(),)), started):
        event = history.event(record)
        if isinstance(event, PluginLoaded):
            since.update(dict.fromkeys(event.components, record.position))
    found: dict[str, Failing] = {}
    for position, event in sorted(_failures(history, started), key=lambda each: each[0]):
        if position > since.get(event.component, 0):
            before = found.get(event.component)
            about = event.about if isinstance(event, ComponentFailed) else _asked(event)
            found[event.component] = Failing(
                event.component,
                before.failures + 1 if before else 1,
                event.reason,
                about,
                position,
                event.trace,
            )
    return [found[name] for name in sorted(found)]


def failing_lines(found: Sequence[Failing]) -> Iterator[str]:
    """A line for each of them, and one that says how to see where it came from."""
    for each in found:
        yield f"failing    {each.component}: {each.reason} ({times(each.failures)})"
    if found:
        yield "-> cortex events query --topic component.failed --traceback"


def times(failures: int) -> str:
    """How many, in words."""
    return many(failures, "failure")


def _asked(event: EffectUnknown) -> str:
    return f"{event.kind} {event.name}"


def _failures(
    history: History, after: int
) -> Iterator[tuple[int, ComponentFailed | EffectUnknown]]:
    for kind in (ComponentFailed, EffectUnknown):
        for record in history.select(Selection(topics=(kind.topic_name(),)), after):
            event = history.event(record)
            # An effect that was cut off is nobody's fault; one whose handler raised has a trace.
            if isinstance(event, ComponentFailed) or (
                isinstance(event, EffectUnknown) and event.trace
            ):
                yield record.position, event
