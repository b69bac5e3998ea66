"""The state of a home at a moment, by name, and what changed between two moments."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from cortex.bus import VERBS, Event, Recorded, as_map
from cortex.bus.events import (
    ComponentAnnounced,
    GrantGiven,
    GrantRevoked,
    KnowledgeIndexed,
    KnowledgeRemoved,
)
from cortex.runtime.access import folded
from cortex.runtime.executions import STATUS_OF_TOPIC
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import iso
from cortex.runtime.processes.catalog import Catalog
from cortex.runtime.projections import Selection
from cortex.runtime.registry import LEVELLED, MODEL, STREAM, registry_of

EXECUTIONS: Final = Selection(topics=tuple(sorted(STATUS_OF_TOPIC)))
GRANTS: Final = Selection(topics=(GrantGiven.topic_name(), GrantRevoked.topic_name()))
KNOWLEDGE: Final = Selection(topics=(KnowledgeIndexed.topic_name(), KnowledgeRemoved.topic_name()))

Named = dict[str, str]  # what is to be said of each, by name


class StateChange(msgspec.Struct, frozen=True):
    """One thing that is there at both moments, and changed."""

    name: str
    was: str
    now: str


class Changed(msgspec.Struct, frozen=True):
    """What changed of one kind."""

    appeared: dict[str, str]  # what it is, by name
    gone: dict[str, str]  # what it was, by name
    changed: tuple[StateChange, ...]

    @property
    def nothing(self) -> bool:
        """Whether nothing changed."""
        return not (self.appeared or self.gone or self.changed)


class PastState(msgspec.Struct, frozen=True, kw_only=True):
    """What a home has at one moment."""

    executions: Named  # "triage 2, completed", by id
    models: Named  # who serves it
    processes: Named  # "3, compiled"; by name
    clients: Named  # what it may do
    knowledge: Named  # the digest of each indexed file, by path


def state_of(history: History) -> PastState:
    """The state that the log in *history* tells, up to its end.

    Raises:
        CortexError: The log cannot be read.
    """
    return PastState(
        executions=_executions(history.select(EXECUTIONS)),
        models=_models(history),
        processes=_processes(Catalog(history)),
        clients=_clients(map(history.event, history.select(GRANTS))),
        knowledge=_knowledge(map(history.event, history.select(KNOWLEDGE))),
    )


def changes_of(before: PastState, after: PastState) -> dict[str, Changed]:
    """What appeared, went and changed between two moments, by kind."""
    return {
        kind: changed_between(getattr(before, kind), getattr(after, kind))
        for kind in PastState.__struct_fields__
    }


def changed_between(before: Mapping[str, str], after: Mapping[str, str]) -> Changed:
    """What changed of one kind."""
    return Changed(
        appeared={name: said for name, said in after.items() if name not in before},
        gone={name: said for name, said in before.items() if name not in after},
        changed=tuple(
            StateChange(name, before[name], said)
            for name, said in after.items()
            if name in before and before[name] != said
        ),
    )


def _executions(records: Iterator[Recorded]) -> Named:
    found: dict[str, tuple[str, str]] = {}
    for record in records:
        body = as_map(record)
        execution_id = str(body["execution_id"])
        process = found.get(execution_id, ("", ""))[0]
        if record.topic in ("execution.request", "execution.started"):
            version = body.get("process_version") or ""
            process = f"{body.get('process') or 'without a process'} {version}".strip()
        found[execution_id] = process, STATUS_OF_TOPIC[record.topic]
    return {each: f"{process}, {status}" for each, (process, status) in found.items()}


def _models(history: History) -> Named:
    registry = registry_of(history.stream(STREAM), history.event)
    return {each.name: _served(each) for each in registry.of_kind(MODEL)}


def _served(model: ComponentAnnounced) -> str:
    said = (f"{name} {model.traits[name]}" for name in LEVELLED if model.traits.get(name))
    return ", ".join((model.component, *said))


def _processes(catalog: Catalog) -> Named:
    found: Named = {}
    for name in sorted({name for name, _ in catalog.compiled}):
        event = catalog.get(name).event
        status = "compiled"
        if name in catalog.retired:
            status = "retired"
        elif name in catalog.missing:
            status = f"unlinked: {', '.join(catalog.missing[name])}"
        found[name] = f"version {event.process_version} ({event.digest[:12]}), {status}"
    return found


def _clients(events: Iterator[Event | None]) -> Named:
    grants = folded(event for event in events if event is not None)
    return {grant.given.client: _granted(grant.given) for grant in grants.clients()}


def _granted(given: GrantGiven) -> str:
    said = [f"{verb} {' '.join(getattr(given, verb))}" for verb in VERBS if getattr(given, verb)]
    if given.expires_ns:
        said.append(f"until {iso(given.expires_ns)}")
    said += (f"{name} {value}" for name, value in sorted(given.limits.items()))
    said += (f"in {folder}" for folder in given.workspaces)
    return ", ".join(said) or "nothing"


def _knowledge(events: Iterator[Event | None]) -> Named:
    files: Named = {}
    for event in events:
        if isinstance(event, KnowledgeIndexed):
            files |= {str(each["path"]): str(each["digest"])[:12] for each in event.files}
        elif isinstance(event, KnowledgeRemoved):
            for path in event.paths:
                files.pop(path, None)
    return files
