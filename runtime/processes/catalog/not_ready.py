"""The processes of a home that cannot run, from its log, and how to repair them."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from cortex.bus import Event, Recorded
from cortex.bus.events import ComponentAnnounced
from cortex.runtime.projections import HomeLog
from cortex.runtime.registry import STREAM, Registration, Registry, evolve

from .. import absence
from .catalog import Catalog

VALIDATE = "cortex process validate"
Read = Callable[[str], Iterable[Recorded]]  # the events of a stream


class NotReady(msgspec.Struct):
    """A source that does not compile, or a process that lacks what it was compiled with."""

    kind: str  # "rejected" or "unlinked"
    name: str  # of the file, or of the process
    problem: str  # the first of them
    problems: int
    remedy: str = ""  # what to do; a command if there is one


def not_ready_of(history: HomeLog) -> list[NotReady]:
    """All of them, sources first."""
    catalog = Catalog(history)
    found = [
        NotReady("rejected", file, _first(event.diagnostics), len(event.diagnostics), VALIDATE)
        for file, event in sorted(catalog.rejected.items())
    ]
    offered = set(catalog.names())
    for name, missing in sorted(catalog.missing.items()):
        if name in offered:
            ways = "; ".join(ways_back(missing, history.stream, history.event))
            found.append(NotReady("unlinked", name, absence(missing[0]), len(missing), ways))
    return found


def not_ready_lines(found: Sequence[NotReady]) -> Iterator[str]:
    """A line for each of them, and then what to do."""
    for each in found:
        more = f" (and {each.problems - 1} more)" if each.problems > 1 else ""
        yield f"{each.kind}   {each.name}: {each.problem}{more}"
    yield from dict.fromkeys(f"-> {each.remedy}" for each in found if each.remedy)


def _first(diagnostics: tuple[dict[str, object], ...]) -> str:
    """The first diagnostic as `process validate` begins its line, without the file."""
    if not diagnostics:
        return "it does not compile"
    first = diagnostics[0]
    return f"{first.get('code')}: {first.get('message')}"


def ways_back(
    missing: Iterable[str], read: Read, typed: Callable[[Recorded], Event | None]
) -> list[str]:
    """How to restore each of *missing*, such as "action greet"; a command if there is one.

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
