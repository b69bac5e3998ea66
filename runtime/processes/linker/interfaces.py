"""Interfaces: all their requirements, and whether a process meets them."""

from collections.abc import Mapping

from cortex.runtime.registry import digest_of

from ..diagnostics.diagnostics import did_you_mean, listed
from ..executable.linked import Field, LinkedInterface
from ..syntax.definitions import MAX_CHAIN, FieldDefinition, InterfaceDefinition, ResolvedProcess
from ..syntax.fixes import add_items
from ..syntax.nodes import Node, Reporter


def field_of(definition: FieldDefinition) -> Field:
    """Return the linked form of an input or of a field."""
    required = definition.required
    return Field(
        name=definition.name,
        type=definition.type,  # type: ignore[arg-type]  # checked when it was read
        required=not definition.has_default if required is None else required,
        default=definition.default,
        description=definition.description,
        enum=tuple(definition.enum),
    )


def link_interface(
    definition: InterfaceDefinition,
    interfaces: Mapping[str, InterfaceDefinition],
    reporter: Reporter,
) -> LinkedInterface:
    """Return *definition* together with everything that it extends."""
    family = _family(definition, interfaces, reporter)
    gates: dict[str, None] = {}
    steps: dict[str, str] = {}
    knowledge: dict[str, None] = {}
    inputs: dict[str, Field] = {}
    outputs: dict[str, Field] = {}
    for each in family:
        gates.update(dict.fromkeys(each.required_gates))
        steps.update((step.id, step.description) for step in each.required_steps)
        knowledge.update(dict.fromkeys(each.required_knowledge))
        inputs.update((field.name, field_of(field)) for field in each.inputs)
        outputs.update((field.name, field_of(field)) for field in each.outputs)
    content = (
        definition.name,
        definition.version,
        definition.description,
        tuple(each.name for each in family[:-1]),
        tuple(gates),
        tuple(steps.items()),
        tuple(knowledge),
        tuple(inputs.values()),
        tuple(outputs.values()),
    )
    return LinkedInterface(
        name=content[0],
        version=content[1],
        digest=digest_of(content),
        description=content[2],
        extends=content[3],
        required_gates=content[4],
        required_steps=content[5],
        required_knowledge=content[6],
        inputs=content[7],
        outputs=content[8],
    )


def _family(
    definition: InterfaceDefinition,
    interfaces: Mapping[str, InterfaceDefinition],
    reporter: Reporter,
) -> list[InterfaceDefinition]:
    """Return what *definition* extends, furthest first, and itself last."""
    found: dict[str, InterfaceDefinition] = {}
    waiting = list(reversed(definition.extends))
    while waiting:
        name = waiting.pop()
        place = definition.node.at("extends")
        if name == definition.name:
            reporter.report("P311", f"interface `{name}` extends itself", place)
            continue
        if name in found:
            continue
        if name not in interfaces:
            remedy = did_you_mean(name, interfaces, "correct the name or add the interface")
            reporter.report("P306", f"there is no interface `{name}`", place, remedy=remedy)
            continue
        if len(found) >= MAX_CHAIN:
            message = f"`{definition.name}` extends more than {MAX_CHAIN} interfaces"
            reporter.report("P316", message, place)
            break
        found[name] = interfaces[name]
        waiting.extend(reversed(interfaces[name].extends))
    return [*reversed(found.values()), definition]


def check_contract(
    process: ResolvedProcess, interface: LinkedInterface, reporter: Reporter
) -> None:
    """Report everything that *process* lacks of *interface*, with the edits that add it."""
    node = process.definition.node
    key = "implements" if interface.name in process.definition.implements else "extends"
    place, who = node.at(key), f"process `{process.definition.name}`"
    gates = set(interface.required_gates) - {gate.use.name for gate in process.gates}
    missing = [name for name in interface.required_gates if name in gates]
    if missing:
        message = f"{who} lacks gates that `{interface.name}` requires: {listed(missing)}"
        fix = add_items(node, "gates", missing)
        reporter.report(
            "P307", message, place, remedy=f"add {listed(missing)} to `gates:`", fix=fix
        )
    present = {step.definition.id for step in process.steps}
    steps = [(name, what) for name, what in interface.required_steps if name not in present]
    if steps:
        names = [name for name, _ in steps]
        message = f"{who} lacks steps that `{interface.name}` requires: {listed(names)}"
        fix = add_items(node, "steps", [_skeleton(name, what) for name, what in steps])
        remedy = f"add {listed(names)} to `steps:`, each with the action that does it"
        reporter.report("P308", message, place, remedy=remedy, fix=fix)
    topics = {use.topic for use, _ in process.knowledge}
    unknown = [topic for topic in interface.required_knowledge if topic not in topics]
    if unknown:
        message = f"{who} lacks knowledge that `{interface.name}` requires: {listed(unknown)}"
        fix = add_items(node, "knowledge", unknown)
        remedy = f"add {listed(unknown)} to `knowledge:`"
        reporter.report("P309", message, place, remedy=remedy, fix=fix)
    _check_fields(process, interface, place, reporter)


def _skeleton(step_id: str, description: str) -> str:
    lines = [f"id: {step_id}", f"action: {step_id}"]
    # As JSON a text is in quotes, so that no colon or dash in it means anything to YAML.
    return "\n".join([*lines, f"description: {_quoted(description)}"] if description else lines)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _check_fields(
    process: ResolvedProcess, interface: LinkedInterface, place: Node, reporter: Reporter
) -> None:
    problems: list[str] = []
    own = {field.name: field_of(field) for field, _ in process.inputs}
    for field in interface.inputs:
        mine = own.pop(field.name, None)
        if mine is None or mine.type != field.type:
            problems.append(f"input `{field.name}` of type {field.type} is missing")
        elif mine.required and not field.required:
            problems.append(f"input `{field.name}` has to be optional")
    if interface.inputs:  # without inputs, its callers are checked instead
        problems += [
            f"input `{mine.name}` is required beyond the interface"
            for mine in own.values()
            if mine.required
        ]
    given = {field.name: field.type for field, _ in process.outputs}
    problems += [
        f"output `{field.name}` of type {field.type} is missing"
        for field in interface.outputs
        if given.get(field.name) != field.type
    ]
    for problem in problems:
        message = f"`{interface.name}` does not fit `{process.definition.name}`: {problem}"
        reporter.report("P310", message, place)
