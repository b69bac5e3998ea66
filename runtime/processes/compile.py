"""The five stages over many sources, with nothing compiled again that has not changed.

A compilation remembers what each unit used: definitions, announcements, topics. Given to the next
one as *previous*, only units whose own source changed, and whatever used what changed, are looked
at.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from .compilation import Compilation
from .cycles import on_circles, path_from
from .definitions import InterfaceDefinition, ProcessDefinition
from .diagnostics import Diagnostic, errors_of
from .edits import set_version
from .interfaces import check_contract, link_interface
from .link import Linker, check_interface
from .linked import LinkedInterface, LinkedProcess
from .nodes import Node
from .parse import Parsed, parse
from .registry import Registry, Topics
from .resolve import resolve
from .resolved import MAX_CHAIN, ResolvedProcess
from .stale import Key, changed_since, stale_units, standings_of
from .suggest import did_you_mean
from .units import Unit, UnitReporter, children_of, current_units, process_definition, uses_of
from .validate import validate
from .world import World

MAX_STEPS_OF_FILE = 50_000  # a long parent and many short children would otherwise take hours


def compile_sources(
    sources: Mapping[str, str],
    registry: Registry,
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
    return _Compiler(sources, registry, topics, known or {}, strict, previous).run()


class _Compiler:
    def __init__(
        self,
        sources: Mapping[str, str],
        registry: Registry,
        topics: Topics,
        known: Mapping[tuple[str, int], str],
        strict: bool,
        previous: Compilation | None,
    ) -> None:
        self._previous = previous
        self._known = known
        self._strict = strict
        self._world = World(registry, topics)
        self._files = self._parse(sources)
        self._units = self._collect()
        self._current = current_units(self._units)
        self._definitions = {
            name: definition
            for name, unit in self._current.items()
            if (definition := process_definition(unit))
        }
        self._circles = on_circles(
            {
                name: frozenset([definition.extends] if definition.extends else [])
                for name, definition in self._definitions.items()
            }
        )
        self._steps: Counter[str] = Counter()  # by file, inherited ones included
        self._stale: dict[Key, Unit] = {}
        self._reporters: dict[Key, UnitReporter] = {}

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
        return files

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

    # Validate and resolve.

    def _start(self, unit: Unit) -> UnitReporter:
        reporter = UnitReporter(unit.definition)
        self._reporters[unit.key] = reporter
        if unit.standing:
            code, message = unit.standing
            next_version = 1 + max(
                [version for name, version in self._known if name == unit.name]
                + [each.definition.version for each in self._units if each.name == unit.name]
            )
            node = unit.definition.node
            kind = "interface" if unit.is_interface else "process"
            if code == "P313":
                reporter.report(code, message, node.at(kind))
            else:
                remedy = f"write `version: {next_version}`"
                fix = set_version(node, next_version)
                reporter.report(code, message, node.at("version"), remedy=remedy, fix=fix)
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
                each = self._parent(each)
            for each in reversed(chain.values()):
                self._resolve(each)

    def _parent(self, unit: Unit) -> Unit | None:
        definition = process_definition(unit)
        if definition is None or definition.extends in (None, definition.name):
            return None
        parent = self._current.get(definition.extends or "")
        if parent is None or parent.is_interface:
            return None
        return None if self._circle(definition) else parent

    def _circle(self, definition: ProcessDefinition) -> tuple[str, ...]:
        if definition.extends == definition.name:
            return (definition.name, definition.name)
        if definition.name not in self._circles:
            return ()
        return path_from(definition.name, self._circles)

    def _resolve(self, unit: Unit) -> None:
        definition = process_definition(unit)
        assert definition is not None  # noqa: S101 - for the type checker
        parent = self._parent(unit)
        reporter = self._start(unit)
        place = definition.node.at("extends")
        circle = self._circle(definition)
        if circle:
            reporter.report("P302", f"{' extends '.join(circle)}", place)
        elif definition.extends is not None and parent is None:
            remedy = did_you_mean(
                definition.extends, self._definitions, "correct the name or add the parent"
            )
            message = f"there is no process `{definition.extends}`"
            reporter.report("P301", message, place, remedy=remedy)
        for name in definition.implements:
            if name not in self._world.interfaces:
                place = definition.node.at("implements")
                if name in self._current and self._current[name].is_interface:
                    message = f"interface `{name}` does not compile"
                    reporter.report("P315", message, place)
                    continue
                remedy = did_you_mean(
                    name, self._world.interfaces, "correct the name or add the interface"
                )
                reporter.report("P306", f"there is no interface `{name}`", place, remedy=remedy)
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

    def _find_implementers(self) -> dict[str, tuple[str, ...]]:
        """Return who implements what; whoever used one that changed becomes stale as well."""
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
        edges = self._edges(implementers)
        circles = on_circles(edges)
        for unit in self._in_order():
            if unit.key in self._stale:
                unit.uses = uses_of(unit)
                self._link(unit, path_from(unit.name, circles) if unit.name in circles else ())
                self._finish(unit)
            if unit is self._current.get(unit.name) and isinstance(unit.linked, LinkedProcess):
                world.processes[unit.name] = unit.linked

    def _edges(self, implementers: Mapping[str, tuple[str, ...]]) -> dict[str, frozenset[str]]:
        """Return what runs what; an interface runs whatever implements it."""
        edges = {name: self._current[name].children for name in self._definitions}
        edges.update((name, frozenset(names)) for name, names in implementers.items())
        return edges

    def _in_order(self) -> list[Unit]:
        """Return the processes, each after those that it runs and, where it can be, its parents."""
        units = [unit for unit in self._units if unit.resolved]
        units.sort(key=lambda unit: len(unit.resolved.chain) if unit.resolved else 0)
        ordered: dict[tuple[str, int], Unit] = {}
        entered: set[str] = set()
        for unit in units:
            waiting: list[tuple[Unit, bool]] = [(unit, False)]
            while waiting:
                each, done = waiting.pop()
                if done:
                    ordered.setdefault(each.key, each)
                elif each.name not in entered or each is unit:
                    entered.add(each.name)
                    waiting.append((each, True))
                    targets = sorted(each.children & self._definitions.keys())
                    waiting += [
                        (self._current[name], False) for name in targets if name not in entered
                    ]
        return list(ordered.values())

    def _link(self, unit: Unit, circle: tuple[str, ...]) -> None:
        reporter = self._reporters[unit.key]
        definition, resolved = unit.definition, unit.resolved
        assert resolved is not None  # noqa: S101 - for the type checker
        parent = self._parent(unit)
        reporter.known = parent.raw if parent else frozenset()
        if parent and parent.failed:
            message = f"parent `{parent.name}` does not compile"
            reporter.report("P315", message, definition.node.at("extends"))
        if circle:
            message = f"{' runs '.join(f'`{name}`' for name in circle)}"
            reporter.report("P409", message, self._child_place(resolved))
        if not resolved.definition.abstract:
            for name in resolved.implements:
                interface = self._world.interfaces.get(name)
                if interface:
                    check_contract(resolved, interface, reporter)
        unit.linked = Linker(resolved, self._world, reporter, circle).link()

    def _child_place(self, resolved: ResolvedProcess) -> Node:
        for step in resolved.steps:
            if step.definition.process and step.owner == resolved.definition.name:
                return step.definition.node.at("process")
        return resolved.definition.node

    def _finish(self, unit: Unit) -> None:
        reporter = self._reporters[unit.key]
        unit.diagnostics = tuple(reporter.found)
        unit.raw = frozenset(reporter.raw)
        blocking = unit.diagnostics if self._strict else errors_of(unit.diagnostics)
        unit.failed = unit.definition.broken or bool(blocking)
        if unit.failed:
            unit.linked = None

    def _result(self, implementers: Mapping[str, tuple[str, ...]]) -> Compilation:
        by_file: dict[str, list[Diagnostic]] = {
            file: list(parsed.diagnostics) for file, parsed in self._files.items()
        }
        for unit in self._units:
            by_file[unit.key[0]].extend(unit.diagnostics)
        found = [
            each
            for file in by_file
            for each in sorted(by_file[file], key=lambda each: (each.span, each.code))
        ]
        if self._strict:
            found = [replace(each, severity="error") for each in found]
        return Compilation(
            processes=dict(sorted(self._world.processes.items())),
            interfaces=dict(sorted(self._world.interfaces.items())),
            older=tuple(
                unit.linked
                for unit in self._units
                if isinstance(unit.linked, LinkedProcess) and unit is not self._current[unit.name]
            ),
            diagnostics=tuple(found),
            compiled=tuple(unit.name for unit in self._stale.values()),
            strict=self._strict,
            files=self._files,
            units={unit.key: unit for unit in self._units},
            resolutions=dict(self._world.resolutions),
            registry=self._world.registry,
            implementers=implementers,
        )
