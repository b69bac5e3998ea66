"""Results of steps and processes: their shapes, and the sources of outputs."""

import importlib
import sys
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from ..diagnostics.diagnostics import TextEdit, did_you_mean, listed, nearest
from ..executable.expressions import Constant, Ref
from ..executable.linked import Output
from ..syntax.definitions import FieldDefinition, OwnedField, ResolvedProcess, StepDefinition
from ..syntax.nodes import MappingNode, Node, ScalarNode, span_of
from ..types.answers import object_schema, schema_problem
from ..types.scope import Names, Referent
from ..types.shapes import Shape, fits, in_words, never_equal, schema_of_type
from ..types.values import ValueChecker
from .interfaces import field_of
from .units import UnitReporter

Declared: TypeAlias = dict[str, Any] | UnsetType  # what a step declares by JSON Schema


def with_output(result: Shape, definition: StepDefinition, output: Declared = UNSET) -> Shape:
    """Return *result* together with what the step declares as its output."""
    if output is not UNSET:
        declared = Shape(output)
        return _joined(
            result,
            {name: shape.schema for name, shape in declared.properties.items()},
            declared.required,
            {**result.definitions, **declared.definitions},
        )
    if not definition.output:
        return result
    fields = {
        field.name: schema_of_type(field.type, tuple(field.enum)) for field in definition.output
    }
    required = frozenset(f.name for f in definition.output if field_of(f).required)
    return _joined(result, fields, required, result.definitions)


def _joined(
    result: Shape,
    fields: Mapping[str, Any],
    required: frozenset[str],
    definitions: Mapping[str, Any],
) -> Shape:
    known = {name: shape.schema for name, shape in result.properties.items()}
    schema = dict(result.schema)
    schema.update(
        type="object", properties={**known, **fields}, required=sorted(result.required | required)
    )
    schema.pop("anyOf", None)
    return Shape(schema, definitions)


def output_schema(definition: StepDefinition, reporter: UnitReporter) -> Declared:
    """Return what *definition* declares as its output by JSON Schema; unset where it does not."""
    use = definition.output_schema
    if use is None:
        return UNSET
    schema: dict[str, Any] = use.schema
    if use.struct:
        found = schema_of_struct(use.struct)
        if isinstance(found, str):
            reporter.report("P414", f"there is no Struct `{use.struct}`: {found}", use.node)
            return UNSET
        schema = found
    problem = schema_problem(schema)
    if problem:
        reporter.report("P413", f"`output` is not the schema of an object: {problem}", use.node)
        return UNSET
    return object_schema(schema)


def check_output(
    definition: StepDefinition,
    given: Shape,
    declared: Declared,
    whose: str,
    reporter: UnitReporter,
) -> None:
    """Report what *definition* declares as its output and *whose* result *given* never has.

    A result that promises nothing may have anything; it is checked when the step has run.
    """
    for name, (shape, place) in _declared(definition, declared).items():
        mine = given.field(name) if "object" in given.kinds else None
        if mine is None:
            known = given.properties
            found = nearest(name, known)
            named = isinstance(place, ScalarNode) and found
            reporter.report(
                "P416",
                f"{whose} never gives `{name}`",
                place,
                remedy=did_you_mean(name, known, f"its result has {listed(known)}"),
                fix=(TextEdit(span_of(place), str(found)),) if named else None,
            )
        elif not fits(mine, shape) or never_equal(mine, shape):
            kinds = in_words(mine.kinds - {"null"} or mine.kinds)
            message = f"{whose} gives `{name}` as {kinds}, never as {_wanted(shape)}"
            reporter.report("P416", message, place, remedy="declare its result")


def _declared(definition: StepDefinition, declared: Declared) -> Mapping[str, tuple[Shape, Node]]:
    """What is declared by name, and where; of a schema the place is the same for all."""
    use = definition.output_schema
    if use is not None:
        fields = Shape(declared).properties if declared is not UNSET else {}
        return {name: (shape, _key_of(use.node, name)) for name, shape in fields.items()}
    node = definition.node.at("output")
    return {
        field.name: (
            Shape(schema_of_type(field.type, tuple(field.enum))),
            _key_of(node, field.name),
        )
        for field in definition.output
    }


def _key_of(node: Node, name: str) -> Node:
    return node.entries[name][0] if isinstance(node, MappingNode) and name in node.entries else node


def _wanted(shape: Shape) -> str:
    if shape.enum is None:
        return in_words(shape.kinds)
    return "one of " + ", ".join(repr(each) for each in shape.enum[:20])


def link_outputs(
    process: ResolvedProcess, names: Names, reporter: UnitReporter
) -> tuple[Output, ...]:
    """Return the outputs of *process*, each with where its value comes from."""
    return tuple(_output(field, process, names, reporter) for field in process.outputs)


def _output(
    field: OwnedField, process: ResolvedProcess, names: Names, reporter: UnitReporter
) -> Output:
    definition, owner = field
    reporter.owner, reporter.item = owner, f"output `{definition.name}`"
    shape = Shape(schema_of_type(definition.type, tuple(definition.enum)))
    source = _source_of(definition.name, names)
    if definition.value:
        # An output that is not marked as required may silently lack its value.
        unsure = frozenset() if definition.required else frozenset(names.results)
        checker = ValueChecker(names, reporter, unsure)
        checker.check(definition.value, shape, f"output `{definition.name}`")
    elif source:
        _check_source(source, shape, definition, names, reporter)
    elif not process.definition.abstract:
        reporter.report("P209", f"no step has a result `{definition.name}`", definition.node)
    return Output(
        name=definition.name,
        type=definition.type,  # type: ignore[arg-type]  # checked when it was read
        value=definition.value.template if definition.value else source or Constant(None),
        required=definition.required is not False,
        description=definition.description,
        enum=tuple(definition.enum),
    )


def _source_of(name: str, names: Names) -> Ref | None:
    """Return the field *name* of the last step that has it."""
    for step_id, result in reversed(names.results.items()):
        if name in result.properties:
            return Ref(("steps", step_id, name))
    return None


def _check_source(
    source: Ref, shape: Shape, definition: FieldDefinition, names: Names, reporter: UnitReporter
) -> None:
    found = names.look_up(source)
    if isinstance(found, Referent) and not found.shape.kinds & shape.kinds:
        path = ".".join(source.path)
        message = f"output `{definition.name}` comes from `{path}`, which is of another type"
        reporter.report("P407", message, definition.node)


def schema_of_struct(name: str) -> dict[str, Any] | str:
    """The JSON Schema of the Struct *name*, "package.module:Struct"; otherwise why there is none.

    Importing a module runs it, so only installed packages are searched, and neither the working
    folder nor the standard library.
    """
    module_name, _, path = name.partition(":")
    root = module_name.partition(".")[0]
    if module_name not in sys.modules and not _is_installed(root):
        return f"no package `{root}` is installed"
    try:
        found: Any = importlib.import_module(module_name)
        for part in path.split("."):
            found = getattr(found, part)
    except Exception as error:  # noqa: BLE001 - an import can raise anything
        return f"{type(error).__name__}: {error}"
    if not isinstance(found, type) or not issubclass(found, msgspec.Struct):
        return f"`{name}` is not a msgspec Struct"
    try:
        return msgspec.json.schema(found)
    except (TypeError, msgspec.ValidationError) as error:
        return f"`{name}` has no JSON Schema: {error}"


def _is_installed(package: str) -> bool:
    from importlib.metadata import packages_distributions  # 0.02 s, and few processes ask

    return package in packages_distributions()
