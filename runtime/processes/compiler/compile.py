"""Runs the five stages over many sources, and compiles only what changed.

A compilation remembers what each unit used: definitions, announcements, topics. Given to the next
one as *previous*, only units whose source changed, and units that used them, are compiled.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from cortex.runtime.registry import Symbols

from ..diagnostics.diagnostics import did_you_mean, errors_of
from ..executable.linked import LinkedInterface, LinkedProcess
from ..linker.bind import check_interface
from ..linker.interfaces import check_contract, link_interface
from ..linker.link import Linker
from ..linker.topics import Topics
from ..linker.units import (
    Unit,
    UnitReporter,
    children_of,
    current_units,
    process_definition,
    uses_of,
)
from ..linker.world import World
from ..syntax.definitions import MAX_CHAIN, InterfaceDefinition, ProcessDefinition, ResolvedProcess
from ..syntax.nodes import Node
from .compilation import Compilation, gathered
from .cycles import Lineage, link_order, path_from, runs_in_circles
from .parse import Parsed, parse
from .resolve import resolve
from .shipped import give_way
from .stale import (
    Key,
    changed_since,
    highest_versions,
    report_standing,
    stale_units,
    standings_of,
)
from .validate import validate

MAX_STEPS_OF_FILE = 50_000  # a long parent and many short children would otherwise take hours


def compile_sources(
    sources: Mapping[str, str],
    symbols: Symbols,
    topics: Topics,
    *,
    known: Mapping[tuple[str, int], str] | None = None,
    strict: bool = False,
    previous: Compilation | None = None,
) -> Compilation:
    """Compile *sources*, a text by file name; never raises for what is in them.

    *known* has the source digest of each (name, version) that was compiled before: the same version
    from another source is an error. *strict* makes errors of warnings. From *previous*, an earlier
    compilation, all that has not changed is taken over.
    """
    if previous is not None and previous.strict != strict:
        previous = None
    return _Compiler(sources, symbols, topics, known or {}, strict, previous).run()


class _Compiler:
    def __init__(
        self,
        sources: Mapping[str, str],
        symbols: Symbols,
        topics: Topics,
        known: Mapping[tuple[str, int], str],
        strict: bool,
        previous: Compilation | None,
    ) -> None:
        self._previous = previous
        self._known = known
        self._strict = strict
        self._world = World(symbols, topics)
        self._files = self._parse(sources)
        self._units = self._collect()
        self._current = current_units(self._units)
        self._definitions = {
            name: definition
            for name, unit in self._current.items()
            if (definition := process_definition(unit))
        }
        self._lineage = Lineage(self._current)
        self._highest = highest_versions(self._units, self._known)
        self._steps: Counter[str] = Counter()  # by file, inherited ones included
        self._stale: dict[Key, Unit] = {}
        self._reporters: dict[Key, UnitReporter] = {}
        self._circular: frozenset[str] = frozenset()  # what would run itself

    def run(self) -> Compilation:
        previous = self._previous
        changed = set[str]()
        if previous:
            changed = changed_since(previous, self._current.values(), self._world)
        self._refresh(changed)
        self._link_interfaces()
        self._resolve_all(self._stale.values())
        implementers = self._find_implementers()
        self._link_processes(implementers)
        return self._result(implementers)

    # Parse, and find out what has to be done.

    def _parse(self, sources: Mapping[str, str]) -> dict[str, Parsed]:
        before = self._previous.files if self._previous else {}
        files = {}
        for file in sorted(sources):
            parsed = before.get(file)
            unchanged = parsed is not None and parsed.text == sources[file]
            files[file] = parsed if parsed and unchanged else parse(sources[file], file)
        return give_way(files)

    def _collect(self) -> list[Unit]:
        before = self._previous.units if self._previous else {}
        units = []
        for file, parsed in self._files.items():
            for index, definition in enumerate(parsed.definitions):
                unit = before.get((file, index))
                if unit is None or unit.definition is not definition:
                    unit = Unit((file, index), definition)
                units.append(unit)
        return units

    def _refresh(self, changed: set[str]) -> None:
        """Start over with every unit that *changed* touches; none is ever changed in place."""
        standings = standings_of(self._units, self._current, self._known)
        keys = stale_units(self._units, changed, standings) - self._stale.keys()
        for index, unit in enumerate(self._units):
            if unit.key in keys:
                fresh = Unit(unit.key, unit.definition)
                fresh.standing = standings.get(unit.key)
                self._units[index] = self._stale[unit.key] = fresh
        self._current = current_units(self._units)
        self._lineage = Lineage(self._current)

    # Validate and resolve.

    def _start(self, unit: Unit) -> UnitReporter:
        reporter = UnitReporter(unit.definition)
        self._reporters[unit.key] = reporter
        report_standing(unit, self._highest, reporter)
        validate(unit.definition, reporter)
        return reporter

    def _link_interfaces(self) -> None:
        definitions = {
            unit.name: unit.definition
            for unit in self._current.values()
            if isinstance(unit.definition, InterfaceDefinition)
        }
        for unit in self._units:
            definition = unit.definition
            if not isinstance(definition, InterfaceDefinition):
                continue
            if unit.key in self._stale:
                reporter = self._start(unit)
                unit.linked = link_interface(definition, definitions, reporter)
                check_interface(definition, self._world, reporter)
                unit.uses = uses_of(unit)
                self._finish(unit)
            if unit is self._current[unit.name] and isinstance(unit.linked, LinkedInterface):
                self._world.interfaces[unit.name] = unit.linked

    def _resolve_all(self, units: Iterable[Unit]) -> None:
        """Resolve *units*, parents first; a loop, since chains may be longer than the stack."""
        for unit in list(units):
            chain: dict[Key, Unit] = {}
            each: Unit | None = unit
            while each is not None and not each.is_interface and each.key not in self._reporters:
                if each.key in chain or each.key not in self._stale:
                    break
                chain[each.key] = each
                each = self._lineage.parent_of(each)
            for each in reversed(chain.values()):
                self._resolve(each)

    def _resolve(self, unit: Unit) -> None:
        definition = process_definition(unit)
        assert definition is not None  # noqa: S101 - for the type checker
        parent = self._lineage.parent_of(unit)
        reporter = self._start(unit)
        place = definition.node.at("extends")
        self._lineage.check(definition, reporter)
        self._check_interfaces(definition, reporter)
        if parent and parent.resolved and len(parent.resolved.chain) > MAX_CHAIN:
            message = f"process `{definition.name}` has more than {MAX_CHAIN} parents"
            reporter.report("P316", message, place)
            parent = None
        unit.resolved = resolve(definition, parent.resolved if parent else None, reporter)
        self._steps[definition.file] += len(unit.resolved.steps)
        if self._steps[definition.file] > MAX_STEPS_OF_FILE:
            message = f"the file has more than {MAX_STEPS_OF_FILE:,} steps with all they inherit"
            reporter.report("P005", message, definition.node)
            unit.resolved = replace(unit.resolved, steps=())
        unit.children = children_of(unit.resolved)

    def _check_interfaces(self, definition: ProcessDefinition, reporter: UnitReporter) -> None:
        place, known = definition.node.at("implements"), self._world.interfaces
        for name in definition.implements:
            if name in known:
                continue
            if name in self._current and self._current[name].is_interface:
                reporter.report("P315", f"interface `{name}` does not compile", place)
                continue
            remedy = did_you_mean(name, known, "correct the name or add the interface")
            reporter.report("P306", f"there is no interface `{name}`", place, remedy=remedy)

    def _find_implementers(self) -> dict[str, tuple[str, ...]]:
        """Return each interface's implementations; users of a changed one become stale, too."""
        found: dict[str, list[str]] = {}
        for name, unit in self._current.items():
            if unit.resolved and not unit.resolved.definition.abstract:
                for interface in unit.resolved.implements:
                    found.setdefault(interface, []).append(name)
        implementers = {name: tuple(sorted(each)) for name, each in found.items()}
        if self._previous:
            before = self._previous.implementers
            names = before.keys() | implementers.keys()
            changed = {name for name in names if before.get(name) != implementers.get(name)}
            self._refresh({f"implementers:{name}" for name in changed})
            self._resolve_all(self._stale.values())
        return implementers

    # Link and emit.

    def _link_processes(self, implementers: Mapping[str, tuple[str, ...]]) -> None:
        world = self._world
        world.defined = frozenset(self._definitions)
        world.abstract = frozenset(
            name for name, definition in self._definitions.items() if definition.abstract
        )
        world.implementers = {
            interface: [resolved for name in names if (resolved := self._current[name].resolved)]
            for interface, names in implementers.items()
        }
        circles = runs_in_circles(self._current, implementers)
        self._circular = frozenset(circles)
        for unit in link_order(self._units, self._current):
            if unit.key in self._stale:
                unit.uses = uses_of(unit)
                self._link(unit, circles)
                self._finish(unit)
            if unit is self._current.get(unit.name) and isinstance(unit.linked, LinkedProcess):
                world.processes[unit.name] = unit.linked

    def _link(self, unit: Unit, circles: Mapping[str, frozenset[str]]) -> None:
        reporter = self._reporters[unit.key]
        definition, resolved = unit.definition, unit.resolved
        assert resolved is not None  # noqa: S101 - for the type checker
        parent = self._lineage.parent_of(unit)
        reporter.known = parent.raw if parent else frozenset()
        if parent and parent.failed:
            message = f"parent `{parent.name}` does not compile"
            reporter.report("P315", message, definition.node.at("extends"))
        circle = path_from(unit.name, circles)
        if circle:
            message = f"{' runs '.join(f'`{name}`' for name in circle)}"
            reporter.report("P409", message, _child_place(resolved))
        if not resolved.definition.abstract:
            for name in resolved.implements:
                interface = self._world.interfaces.get(name)
                if interface:
                    check_contract(resolved, interface, reporter)
        circular = self._circular if circle else frozenset[str]()
        unit.linked = Linker(resolved, self._world, reporter, circular).link()

    def _finish(self, unit: Unit) -> None:
        reporter = self._reporters[unit.key]
        unit.diagnostics = tuple(reporter.found)
        unit.raw = frozenset(reporter.raw)
        blocking = unit.diagnostics if self._strict else errors_of(unit.diagnostics)
        unit.failed = unit.definition.broken or bool(blocking)
        if unit.failed:
            unit.linked = None

    def _result(self, implementers: Mapping[str, tuple[str, ...]]) -> Compilation:
        return Compilation(
            processes=dict(sorted(self._world.processes.items())),
            interfaces=dict(sorted(self._world.interfaces.items())),
            older=tuple(
                unit.linked
                for unit in self._units
                if isinstance(unit.linked, LinkedProcess) and unit is not self._current[unit.name]
            ),
            diagnostics=gathered(self._files, self._units, strict=self._strict),
            compiled=tuple(unit.name for unit in self._stale.values()),
            strict=self._strict,
            files=self._files,
            units={unit.key: unit for unit in self._units},
            resolutions=dict(self._world.resolutions),
            symbols=self._world.symbols,
            implementers=implementers,
        )


def _child_place(resolved: ResolvedProcess) -> Node:
    for step in resolved.steps:
        if step.definition.process and step.owner == resolved.definition.name:
            return step.definition.node.at("process")
    return resolved.definition.node
