"""What the compiler binds to, without a runtime: what components serve, and knowledge topics."""

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from cortex.runtime.kernel import Config, Home, Serves, built_in, load
from cortex.runtime.knowledge import Ambiguous, KnowledgeError, Root, TopicIndex, roots_of_home
from cortex.runtime.processes import ActionSpec, GateSpec, Registry, Resolved
from cortex.runtime.processes import Ambiguous as AmbiguousTopic

from .sources import LIBRARY


def registry_of(home: Home) -> Registry:
    """What the components that a runtime on *home* would start serve.

    Raises:
        ConfigError: The home's config.toml is wrong.
        ManifestError: It names a component that cannot be loaded.
    """
    names = [entry.component for entry in built_in()]
    names += [component.use for component in Config.load(home).components]
    actions: list[ActionSpec] = []
    gates: list[GateSpec] = []
    for component in map(load, names):
        for serves in component.serves:
            if serves.kind == "action":
                actions.append(_action(component.component_name(), serves))
            elif serves.kind == "gate":
                gates.append(_gate(component.component_name(), serves))
    return Registry(actions, gates)


class Topics:
    """The knowledge topics of a home and of the library."""

    def __init__(self, home: Home) -> None:
        library = Root(str(Path(str(files(LIBRARY))) / "knowledge"), "library")
        self._index = TopicIndex([*roots_of_home(home.path), library])

    def resolve(self, topic: str) -> Resolved | AmbiguousTopic | None:
        """What *topic* stands for; None where nothing usable is under that name."""
        try:
            found = self._index.resolve(topic)
        except KnowledgeError:
            return None
        if found is None:
            return None
        if isinstance(found, Ambiguous):
            return AmbiguousTopic(paths=found.candidates)
        return Resolved(path=found.path, digest=found.digest, root=found.scope)

    def names(self) -> Iterable[str]:
        """Every topic there is."""
        return self._index.topics()


def _action(component: str, serves: Serves) -> ActionSpec:
    return ActionSpec(
        name=serves.name,
        component=component,
        parameters=_schema(serves.parameters),
        result=_schema(serves.result),
        effect=serves.traits.get("effect", "write"),
        asks_model=bool(serves.traits.get("asks_model")),
    )


def _gate(component: str, serves: Serves) -> GateSpec:
    return GateSpec(
        name=serves.name,
        component=component,
        parameters=_schema(serves.parameters),
        read_only=bool(serves.traits.get("read_only")),
    )


def _schema(struct: type[msgspec.Struct] | None) -> dict[str, Any]:
    return {} if struct is None else msgspec.json.schema(struct)
