"""What steps and processes give: the shape of a result, and where outputs come from."""

from .definitions import FieldDefinition, StepDefinition
from .expressions import Constant, Ref
from .interfaces import field_of
from .linked import Output
from .resolved import OwnedField, ResolvedProcess
from .scope import Found, Names
from .shapes import Shape, schema_of_type
from .units import UnitReporter
from .values import ValueChecker


def with_output(result: Shape, definition: StepDefinition) -> Shape:
    """Return *result* together with what the step declares as its output."""
    if not definition.output:
        return result
    schema = dict(result.schema)
    declared = {
        field.name: schema_of_type(field.type, tuple(field.enum)) for field in definition.output
    }
    known = {name: shape.schema for name, shape in result.properties.items()}
    required = {field.name for field in definition.output if field_of(field).required}
    schema.update(
        type="object",
        properties={**known, **declared},
        required=sorted(result.required | required),
    )
    schema.pop("anyOf", None)
    return Shape(schema, result.definitions)


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
        # Unless it says that it is required, an output may lack its value without a word.
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
    if isinstance(found, Found) and not found.shape.kinds & shape.kinds:
        path = ".".join(source.path)
        message = f"output `{definition.name}` comes from `{path}`, which is of another type"
        reporter.report("P407", message, definition.node)
