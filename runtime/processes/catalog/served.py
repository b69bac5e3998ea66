"""How what a process lacks comes back: by who served it last, as the log says it."""

from collections.abc import Callable, Iterable

from cortex.bus import Event, Recorded
from cortex.bus.events import ComponentAnnounced

from .. import absence

REGISTRY = "registry"
PLUGIN = "plugin."  # before the name of a plugin, in that of its client
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
    served: dict[str, tuple[str, str]] = {}  # component and source, by what it serves
    for record in read(REGISTRY):
        event = typed(record)
        if isinstance(event, ComponentAnnounced) and f"{event.kind} {event.name}" in wanted:
            served[f"{event.kind} {event.name}"] = event.component, record.source
    return list(dict.fromkeys(_way(each, served.get(each)) for each in wanted))


def _way(missing: str, served: tuple[str, str] | None) -> str:
    if served is None:
        kind = missing.partition(" ")[0]
        if kind in ("action", "gate", "tool"):
            return f"start the worker or load the plugin that serves {missing}"
        if absence(missing) == missing:  # no name, but what is wrong
            return "correct what `cortex process validate` finds"
        return f"put {missing} back"
    component, source = served
    if source.startswith(PLUGIN):
        return f"cortex plugin load {source.removeprefix(PLUGIN)}"
    return f"start the worker that hosts {component}: cortex worker MODULE:{component}"
