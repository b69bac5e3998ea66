"""How what a process lacks comes back: by who served it last, as the log says it."""

from collections.abc import Callable, Iterable

from cortex.bus import Event, Recorded
from cortex.bus.events import ComponentAnnounced
from cortex.runtime.registry import STREAM, Registration, Registry, evolve

from .. import absence

Read = Callable[[str], Iterable[Recorded]]  # the events of a stream


def ways_back(
    missing: Iterable[str], read: Read, typed: Callable[[Recorded], Event | None]
) -> list[str]:
    """What brings back each of *missing*, "action greet", in words of a command where there is one.

    Args:
        missing: As `execution.deferred` names it.
        read: The events of a stream.
        typed: The event in a record; None for one that only a plugin knows.
    """
    wanted = dict.fromkeys(missing)
    served: dict[str, Registration] = {}  # the last one of each
    registry = Registry()
    for record in read(STREAM):
        event = typed(record)
        registry = evolve(registry, event, record.source)
        if isinstance(event, ComponentAnnounced) and f"{event.kind} {event.name}" in wanted:
            served[f"{event.kind} {event.name}"] = registry.registrations[event.kind, event.name]
    return list(dict.fromkeys(_way(each, served.get(each)) for each in wanted))


def _way(missing: str, served: Registration | None) -> str:
    if served is None:
        kind = missing.partition(" ")[0]
        if kind in ("action", "gate", "tool"):
            return f"start the worker or load the plugin that serves {missing}"
        if absence(missing) == missing:  # no name, but what is wrong
            return "correct what `cortex process validate` finds"
        return f"put {missing} back"
    component = served.announced.component
    if served.plugin:
        return f"cortex plugin load {served.plugin}"
    return f"start the worker that hosts {component}: cortex worker MODULE:NAME"
