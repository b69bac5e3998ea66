"""The targets of links in a compilation: the registry, the topics, and the linked processes."""

from collections.abc import Iterable, Mapping

from msgspec import UNSET, UnsetType

from cortex.runtime.registry import ActionSpec, GateSpec, Symbols

from ..diagnostics.diagnostics import MAX_CANDIDATES, is_typo, listed, nearest
from ..executable.linked import LinkedInterface, LinkedProcess
from ..syntax.definitions import ResolvedProcess
from ..types.shapes import Shape, shape_of_fields
from .interfaces import field_of
from .topics import Ambiguous, Resolved, Topics

Resolution = Resolved | Ambiguous | None
BRING_TOOL = (
    "load the plugin that serves it, name its server under [[tools.mcp]] in config.toml, or say "
    "`{name: ..., optional: true}`"
)
BRING_IT = "start the worker or load the plugin that serves it"


class World:
    """Looks things up once each; asked for a name that is not there, it knows the nearest."""

    def __init__(self, symbols: Symbols, topics: Topics) -> None:
        self.symbols = symbols
        self.topics = topics
        self.resolutions: dict[str, Resolution] = {}
        self.processes: dict[str, LinkedProcess] = {}
        self.interfaces: dict[str, LinkedInterface] = {}
        self.defined: frozenset[str] = frozenset()  # processes that have a source, linked or not
        self.abstract: frozenset[str] = frozenset()
        self.implementers: Mapping[str, list[ResolvedProcess]] = {}
        self._shapes: dict[str, Shape] = {}
        self._unmet: dict[str, list[tuple[str, str]]] = {}

    def topic(self, name: str) -> Resolution:
        """Return the knowledge under the topic *name*."""
        found: Resolution | UnsetType = self.resolutions.get(name, UNSET)
        if found is UNSET:
            found = self.resolutions[name] = self.topics.resolve(name)
        assert not isinstance(found, UnsetType)  # noqa: S101 - for the type checker
        return found

    def topic_remedy(self, name: str) -> str:
        """Return what to do about the unknown topic *name*."""
        return _remedy(name, self.topics.names(), "add the knowledge")

    def action_remedy(self, name: str) -> str:
        """Return what to do about the unknown action *name*."""
        return _remedy(name, self.symbols.actions, BRING_IT)

    def gate_remedy(self, name: str) -> str:
        """Return what to do about the unknown gate *name*."""
        return _remedy(name, self.symbols.gates, BRING_IT)

    def tool_remedy(self, name: str) -> str:
        """Return what to do about the unknown tool *name*."""
        names = self.symbols.tools.names() if self.symbols.tools else ()
        return _remedy(name, names, BRING_TOOL)

    def parameters_of(self, spec: ActionSpec | GateSpec) -> Shape:
        """Return the shape of the parameters of *spec*."""
        kind = "action" if isinstance(spec, ActionSpec) else "gate"
        return self._shape(f"{kind}:{spec.name}", spec.parameters)

    def result_of(self, spec: ActionSpec) -> Shape:
        """Return the shape of the result of *spec*."""
        return self._shape(f"result:{spec.name}", spec.result)

    def unmet_inputs(self, interface: LinkedInterface) -> list[tuple[str, str]]:
        """Return (process, input) for what implementers require and *interface* does not have."""
        unmet = self._unmet.get(interface.name)
        if unmet is None:
            given = {field.name for field in interface.inputs}
            unmet = self._unmet[interface.name] = [
                (process.definition.name, field.name)
                for process in self.implementers.get(interface.name, [])
                for field, _ in process.inputs
                if field.name not in given and field_of(field).required
            ]
        return unmet

    def inputs_of(self, child: LinkedProcess | LinkedInterface) -> Shape:
        """Return the shape of the inputs of *child*."""
        key = f"inputs:{child.name}"
        if key not in self._shapes:
            self._shapes[key] = shape_of_fields(child.inputs, given=True)
        return self._shapes[key]

    def outputs_of(self, child: LinkedProcess | LinkedInterface) -> Shape:
        """Return the shape of the outputs of *child*."""
        key = f"outputs:{child.name}"
        if key not in self._shapes:
            self._shapes[key] = shape_of_fields(child.outputs, given=False)
        return self._shapes[key]

    def _shape(self, key: str, schema: dict[str, object]) -> Shape:
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = Shape(schema)
        return shape


def _remedy(name: str, known: Iterable[str], otherwise: str) -> str:
    names = list(known)
    found = nearest(name, names)
    if found:
        meant = f"did you mean `{found}`?"
        return meant if is_typo(name, found) else f"{meant} If not, {otherwise}"
    return (
        f"known are {listed(names)}; or {otherwise}" if len(names) <= MAX_CANDIDATES else otherwise
    )
