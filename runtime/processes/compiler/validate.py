"""Stage two: checks one definition on its own."""

from collections.abc import Iterable, Sequence

from ..linker.fans import check_fan
from ..syntax.definitions import (
    Definition,
    FieldDefinition,
    GateUse,
    Inherit,
    InterfaceDefinition,
    ProcessDefinition,
    StepDefinition,
    TopicUse,
)
from ..syntax.forms import insertion
from ..syntax.nodes import MappingNode, Node, Reporter, line_of
from ..syntax.readers import plain_value
from ..types.shapes import Shape, schema_of_type


def validate(definition: Definition, reporter: Reporter) -> None:
    """Report what is wrong with *definition* without looking at any other."""
    for field in (*definition.inputs, *definition.outputs):
        _check_field(field, reporter)
    if isinstance(definition, InterfaceDefinition):
        _check_required_steps(definition, reporter)
        return
    _check_twice(definition.gates, definition.knowledge, reporter)
    _check_markers(definition, reporter)
    seen: dict[str, StepDefinition] = {}
    for step in definition.steps:
        if isinstance(step, Inherit):
            continue
        if step.id in seen:
            line = line_of(seen[step.id].node.start) + 1
            message = f"step `{step.id}` is already in line {line}"
            reporter.report("P201", message, step.node.at("id"))
        seen.setdefault(step.id, step)
        _check_step(step, definition, reporter)


def _check_step(step: StepDefinition, process: ProcessDefinition, reporter: Reporter) -> None:
    for field in step.output:
        _check_field(field, reporter)
    _check_twice(step.gates, step.knowledge or [], reporter)
    check_fan(step, reporter)
    if step.abstract and not process.abstract:
        absent = "abstract" not in process.node.entries
        fix = insertion(process.node, "abstract: true") if absent else None
        message = f"step `{step.id}` is abstract, process `{process.name}` is not"
        reporter.report("P211", message, step.node.at("abstract"), fix=fix)
    for key in ("before", "after"):
        if process.extends is None and key in step.node.entries:
            message = f"`{key}:` without a parent"
            reporter.report("P305", message, step.node.entries[key][0])


def _check_markers(process: ProcessDefinition, reporter: Reporter) -> None:
    of_steps = [step.gates for step in process.steps if isinstance(step, StepDefinition)]
    lists: list[Sequence[object]] = [process.steps, process.knowledge, process.gates, *of_steps]
    for items in lists:
        markers = [item for item in items if isinstance(item, Inherit)]
        if process.extends is None:
            for marker in markers:
                reporter.report("P314", f"process `{process.name}` has no parent", marker.node)
        for marker in markers[1:]:
            reporter.report("P208", "`inherit: all` is listed twice", marker.node)


def _check_field(field: FieldDefinition, reporter: Reporter) -> None:
    shape = Shape(schema_of_type(field.type))
    for value in field.enum:
        if shape.problem(value):
            message = f"`{value}` in the enum of `{field.name}` is not of type {field.type}"
            reporter.report("P207", message, _at(field, "enum"))
    if not field.has_default or (field.default is None and field.required is False):
        return
    problem = Shape(schema_of_type(field.type, tuple(field.enum))).problem(field.default)
    if problem:
        message = f"the default of `{field.name}` does not fit: {problem}"
        reporter.report("P207", message, _at(field, "default"))


def _at(field: FieldDefinition, key: str) -> Node:
    return field.node.at(key) if isinstance(field.node, MappingNode) else field.node


def _check_twice(
    gates: Iterable[GateUse | Inherit], knowledge: Iterable[TopicUse | Inherit], reporter: Reporter
) -> None:
    seen: set[str] = set()
    for gate in gates:
        if isinstance(gate, Inherit):
            continue
        key = f"{gate.name} {plain_value(gate.parameters.node) if gate.parameters else ''}"
        if key in seen:
            reporter.report("P208", f"gate `{gate.name}` is listed twice", gate.node)
        seen.add(key)
    topics: set[str] = set()
    for use in knowledge:
        if isinstance(use, Inherit):
            continue
        if use.topic in topics:
            reporter.report("P208", f"topic `{use.topic}` is listed twice", use.node)
        topics.add(use.topic)


def _check_required_steps(interface: InterfaceDefinition, reporter: Reporter) -> None:
    seen: set[str] = set()
    for step in interface.required_steps:
        if step.id in seen:
            reporter.report("P201", f"step `{step.id}` is required twice", step.node)
        seen.add(step.id)
