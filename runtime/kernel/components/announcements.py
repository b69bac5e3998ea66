"""Publishes what components serve, if it changed."""

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from cortex.bus import Client, Effect, Event
from cortex.bus.events import ComponentAnnounced
from cortex.runtime.registry import STREAM, registry_of

from ..errors import ComponentInvalidError
from ..home.config import Config
from .component import NONE_DECLARED, Component, Serves, effect_declared
from .manifest import Entry


def announce(
    client: Client,
    components: Iterable[tuple[type[Component], Entry]],
    config: Config,
    *,
    alone: bool = False,
) -> None:
    """Announce what *components* serve with this *config*, unless the log has it already.

    Earlier announcements that no longer hold are withdrawn. With *alone* there are no
    other components: all announcements of an earlier start are withdrawn, so that no process is
    linked to a component that no longer starts. Announcements of plugins stay: plugins start
    last, and the plugin manager withdraws those of a plugin that does not come back.
    """
    registry = registry_of(client.read_stream(STREAM), client.vocabulary.read)
    standing = dict(registry.registrations)
    events: list[Event] = []
    names: set[str] = set()
    for component, entry in components:
        names.add(component.component_name())
        for serves in component.announces(config):
            said = announcement_of(component, serves, entry.effects)
            found = standing.pop((said.kind, said.name), None)
            if found is None or found.announced != said:
                events.append(said)
    events += [
        left.withdrawal()
        for left in standing.values()
        if left.announced.component in names or (alone and not left.plugin)
    ]
    if events:
        client.publish(*events)


def withdraw(client: Client, component: type[Component]) -> None:
    """Withdraw what *component* announced; processes that depend on it are unlinked."""
    name = component.component_name()
    registry = registry_of(client.read_stream(STREAM), client.vocabulary.read)
    registered = registry.registrations.values()
    events = [each.withdrawal() for each in registered if each.announced.component == name]
    if events:
        client.publish(*events)


def announcement_of(
    component: type[Component], serves: Serves, effects: Mapping[str, Effect] = NONE_DECLARED
) -> ComponentAnnounced:
    """The announcement of one thing that *component* serves.

    Args:
        component: The component.
        serves: The served action, gate, model or tool.
        effects: Effects declared outside the code, by name of an action, a tool or a component.

    Raises:
        ComponentInvalidError: A parameter or result type has no JSON Schema.
    """
    effect = effect_declared(component, serves, effects)
    traits = serves.traits if effect is None else {**serves.traits, "effect": effect}
    announced = ComponentAnnounced(
        component=component.component_name(),
        kind=serves.kind,
        name=serves.name,
        parameters=_schema(serves, serves.parameters),
        result=_schema(serves, serves.result),
        answer=_schema(serves, serves.answer),
        traits=traits,
    )
    # In the log's form: a tuple among the defaults becomes a list there.
    return msgspec.msgpack.decode(msgspec.msgpack.encode(announced), type=ComponentAnnounced)


def _schema(serves: Serves, struct: type[msgspec.Struct] | None) -> dict[str, Any]:
    if struct is None:
        return {}
    try:
        return msgspec.json.schema(struct, schema_hook=_of_path)
    except TypeError as error:
        which = str(error).splitlines()[-1]
        problem = f"has a type in {struct.__name__} that JSON Schema cannot describe: {which}"
        raise ComponentInvalidError(serves.name, problem) from None


def _of_path(kind: type) -> dict[str, Any]:
    """In events, and in the `with:` of a step, a path of the workspace is a string."""
    if issubclass(kind, PurePath):
        return {"type": "string"}
    raise NotImplementedError
