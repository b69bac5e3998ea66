"""What components say they serve, told to the log when it has changed."""

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from cortex.bus import Client, Effect, Event
from cortex.bus.events import ComponentAnnounced, ComponentWithdrawn

from .component import NONE_DECLARED, Component, Serves, effect_declared
from .config import Config
from .manifest import Entry

PLUGIN = "plugin."  # with which the source of what a plugin says begins


def announce(
    client: Client,
    components: Iterable[tuple[type[Component], Entry]],
    config: Config,
    *,
    alone: bool = False,
) -> None:
    """Announce what *components* serve with this *config*, unless the log says so already.

    What one of them announced before and does not any more is withdrawn. With *alone* there are no
    others: all that is left from an earlier start is, so that nothing is linked to a component that
    nobody starts any more. What a plugin announced is not touched then: it starts once all else
    has, and whoever keeps plugins withdraws it where that one does not come back.
    """
    standing = _standing(client)
    kept = _said_by_plugins(client) if alone else set()
    events: list[Event] = []
    names: set[str] = set()
    for component, entry in components:
        names.add(component.component_name())
        for serves in component.announces(config):
            said = announcement_of(component, serves, entry.effects)
            if standing.pop((said.kind, said.name), None) != said:
                events.append(said)
    events += [
        ComponentWithdrawn(component=left.component, kind=left.kind, name=left.name)
        for left in standing.values()
        if left.component in names or (alone and (left.kind, left.name) not in kept)
    ]
    if events:
        client.publish(*events)


def withdraw(client: Client, component: type[Component]) -> None:
    """Take back what *component* announced; what depends on it is unlinked."""
    name = component.component_name()
    events = [
        ComponentWithdrawn(component=name, kind=said.kind, name=said.name)
        for said in _standing(client).values()
        if said.component == name
    ]
    if events:
        client.publish(*events)


def _said_by_plugins(client: Client) -> set[tuple[str, str]]:
    """Kind and name of what plugins announced and have not withdrawn."""
    kept: set[tuple[str, str]] = set()
    for record in client.read_stream("registry"):
        # Not of others: every start would decode all of them twice.
        if record.source.startswith(PLUGIN) and record.topic in client.vocabulary:
            event = client.vocabulary.read(record)
            if isinstance(event, ComponentAnnounced):
                kept.add((event.kind, event.name))
            elif isinstance(event, ComponentWithdrawn):
                kept.discard((event.kind, event.name))
    return kept


def _standing(client: Client) -> dict[tuple[str, str], ComponentAnnounced]:
    """What is announced, by kind and name."""
    standing: dict[tuple[str, str], ComponentAnnounced] = {}
    for record in client.read_stream("registry"):
        if record.topic not in client.vocabulary:
            continue  # of no meaning here, whoever said it
        event = client.vocabulary.read(record)
        if isinstance(event, ComponentAnnounced):
            standing[event.kind, event.name] = event
        elif isinstance(event, ComponentWithdrawn):
            standing.pop((event.kind, event.name), None)
    return standing


def announcement_of(
    component: type[Component], serves: Serves, effects: Mapping[str, Effect] = NONE_DECLARED
) -> ComponentAnnounced:
    """What *component* says about one thing that it serves.

    Args:
        component: Whose it is.
        serves: The thing.
        effects: What is declared beside its code, by name of an action, a tool or a component.
    """
    effect = effect_declared(component, serves, effects)
    traits = serves.traits if effect is None else {**serves.traits, "effect": effect}
    announced = ComponentAnnounced(
        component=component.component_name(),
        kind=serves.kind,
        name=serves.name,
        parameters=_schema(serves.parameters),
        result=_schema(serves.result),
        answer=_schema(serves.answer),
        traits=traits,
    )
    # As the log gives it back: a tuple among the defaults would differ from the list it becomes.
    return msgspec.msgpack.decode(msgspec.msgpack.encode(announced), type=ComponentAnnounced)


def _schema(struct: type[msgspec.Struct] | None) -> dict[str, Any]:
    return {} if struct is None else msgspec.json.schema(struct, schema_hook=_of_path)


def _of_path(kind: type) -> dict[str, Any]:
    """A path of the workspace is a text in events, and in the `with:` of a step."""
    if issubclass(kind, PurePath):
        return {"type": "string"}
    raise NotImplementedError
