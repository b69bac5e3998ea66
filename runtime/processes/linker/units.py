"""One definition on its way through the compiler, and what it depends on."""

from collections.abc import Iterable

from cortex.runtime.registry import TOOLS

from ..diagnostics.diagnostics import Diagnostic, SourceSpan, TextEdit
from ..executable.linked import LinkedInterface, LinkedProcess
from ..syntax.definitions import (
    Definition,
    Inherit,
    InterfaceDefinition,
    ProcessDefinition,
    ResolvedProcess,
)
from ..syntax.goal_uses import gates_of_goal
from ..syntax.nodes import Node, Reporter


class Unit:
    """A definition with all that is known about it; kept from one compilation to the next."""

    def __init__(self, key: tuple[str, int], definition: Definition) -> None:
        self.key = key  # file and place in it
        self.definition = definition
        self.standing: tuple[str, str] | None = None  # code and message against its version
        self.resolved: ResolvedProcess | None = None
        self.linked: LinkedProcess | LinkedInterface | None = None
        self.diagnostics: tuple[Diagnostic, ...] = ()
        self.raw: frozenset[tuple[str, str]] = frozenset()  # (code, message) before relocation
        self.uses: frozenset[str] = frozenset()  # what a change of would make it stale
        self.children: frozenset[str] = frozenset()  # names of processes and interfaces it runs
        self.failed = False

    @property
    def name(self) -> str:
        """Name of the process or interface."""
        return self.definition.name

    @property
    def is_interface(self) -> bool:
        """Whether it is an interface."""
        return isinstance(self.definition, InterfaceDefinition)

    @property
    def subject(self) -> str:
        """What others use it by."""
        return f"{'interface' if self.is_interface else 'process'}:{self.name}"


class UnitReporter(Reporter):
    """A reporter for one unit, which shows what is wrong with inherited items at ``extends:``."""

    def __init__(self, definition: Definition) -> None:
        super().__init__(definition.file)
        self._definition = definition
        self.known: frozenset[tuple[str, str]] = frozenset()  # reported by the parent itself
        self.raw: set[tuple[str, str]] = set()
        self.owner = definition.name  # of the item that is being looked at
        self.item = ""

    def report(
        self,
        code: str,
        message: str,
        place: Node | SourceSpan,
        *,
        remedy: str | None = None,
        fix: tuple[TextEdit, ...] | None = None,
    ) -> None:
        """Add a diagnostic, unless the parent has it already."""
        self.raw.add((code, message))
        if self.owner == self._definition.name:
            super().report(code, message, place, remedy=remedy, fix=fix)
        elif (code, message) not in self.known:
            message = f"{self.item} inherited from `{self.owner}`: {message}"
            place = self._definition.node.at("extends")
            super().report(code, message, place, remedy=remedy)


def uses_of(unit: Unit) -> frozenset[str]:
    """Return everything that *unit* would have to be compiled again for."""
    definition = unit.definition
    if isinstance(definition, InterfaceDefinition):
        return frozenset(
            [f"interface:{name}" for name in definition.extends]
            + [f"gate:{name}" for name in definition.required_gates]
            + [f"topic:{name}" for name in definition.required_knowledge]
        )
    resolved = unit.resolved
    if resolved is None:
        return frozenset()
    uses = {f"interface:{name}" for name in (*definition.implements, *resolved.implements)}
    if definition.extends:
        uses.add(f"process:{definition.extends}")
    uses.update(f"gate:{gate.use.name}" for gate in resolved.gates)
    uses.update(f"topic:{use.topic}" for use, _ in resolved.knowledge)
    for step in resolved.steps:
        if step.definition.action:
            uses.add(f"action:{step.definition.action}")
        uses.update(f"action:{each.action}" for each in step.definition.grants if each.action)
        uses.update(f"gate:{name}" for name in gates_of_goal(step.definition))
        if step.definition.tools:
            uses.add(TOOLS)
        uses.update(f"gate:{gate.use.name}" for gate in step.gates)
        topics = (use for use, _ in step.knowledge or ())
        uses.update(f"topic:{use.topic}" for use in topics if not isinstance(use, Inherit))
    for child in unit.children:
        uses |= {f"process:{child}", f"interface:{child}", f"implementers:{child}"}
    return frozenset(uses)


def children_of(resolved: ResolvedProcess) -> frozenset[str]:
    """Return the names of what *resolved* runs as child executions."""
    names: set[str] = set()
    for step in resolved.steps:
        if step.definition.process:
            names.add(step.definition.process)
        names.update(each.process for each in step.definition.grants if each.process)
        failure = step.definition.on_failure
        if failure and failure.policy == "process":
            names.add(failure.target)
    return frozenset(names)


def current_units(units: Iterable[Unit]) -> dict[str, Unit]:
    """Return the unit of each name: the highest version, the first of equals."""
    current: dict[str, Unit] = {}
    for unit in units:
        before = current.get(unit.name)
        if before is None or (
            unit.definition.version > before.definition.version
            and unit.is_interface == before.is_interface
        ):
            current[unit.name] = unit
    return current


def process_definition(unit: Unit) -> ProcessDefinition | None:
    """Return the definition of *unit* if it is a process."""
    return unit.definition if isinstance(unit.definition, ProcessDefinition) else None
