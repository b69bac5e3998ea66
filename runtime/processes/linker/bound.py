"""Parameters that a step leaves out, bound by name and type.

They come from the process's inputs and from results of earlier steps; a required one that neither
has becomes an input of the process, given by its trigger. What acts on the world
takes nothing that it does not need, nothing from a trigger, and no words of a command: a result or
a post would choose them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from cortex.runtime.registry import ActionSpec

from ..executable.expressions import MapOf, Ref
from ..executable.linked import Carry, EventTrigger, Field, FileTrigger, Trigger, ValueType
from ..syntax.definitions import StepDefinition
from ..syntax.nodes import MappingNode
from ..types.scope import Names
from ..types.shapes import Shape, kinds_of_type, never_equal
from .units import UnitReporter

ALSO_FROM: Final = "x-bind"  # in the schema of a parameter: names of results that it takes as well
FROM_FILES: Final = ("path", "paths")  # the fields of a file trigger
_DEEPEST: Final = 4  # of lists in lists
_TYPES: Final[tuple[ValueType, ...]] = ("string", "integer", "number", "boolean", "list", "map")
_HARMLESS: Final = ("none", "read")


class Bound(Struct, frozen=True):
    """What a step's parameters were bound to."""

    parameters: tuple[tuple[str, Ref], ...] = ()  # sorted by name
    inputs: tuple[Field, ...] = ()  # that the process has to be given for it, beyond its own
    carry: tuple[Carry, ...] = ()  # what its model could not see otherwise
    ambiguous: tuple[str, ...] = ()  # parameters that could be bound in several ways, as was said

    def settled(self) -> frozenset[str]:
        """Names of parameters that are not missing."""
        return frozenset((*dict(self.parameters), *self.ambiguous))

    def joined(self, given: MapOf) -> MapOf:
        """*given* and what was bound, as one map."""
        return MapOf(tuple(sorted((*given.entries, *self.parameters), key=lambda each: each[0])))


def bound_parameters(
    definition: StepDefinition,
    spec: ActionSpec,
    takes: Shape,
    names: Names,
    offers: Sequence[str] | None,
    reporter: UnitReporter,
) -> Bound:
    """Bind the parameters of *spec* that *definition* leaves out.

    What a step leaves out of its `with:` on purpose stays left out: beside one, and for an action
    that acts without asking a model, only what is required is bound.

    Args:
        definition: The step.
        spec: Its action.
        takes: Shape of its parameters.
        names: Names in scope of the step.
        offers: Names that a trigger of the process may give; None for any.
        reporter: Receives ambiguous bindings.
    """
    bound: dict[str, Ref] = {}
    inputs: list[Field] = []
    ambiguous: list[str] = []
    for name, shape in _left_out(definition, spec, takes):
        required = name in takes.required
        found = _candidates(name, shape, names)
        if len(found) > 1:
            ambiguous.append(name)
            _report(definition, spec, name, found, reporter, required=required)
        elif found:
            bound[name] = found[0]
        elif (
            required
            and spec.effect in _HARMLESS
            and (offers is None or name in offers)
            and not names.has_input(name)  # of another type, or one that may be left out
        ):
            field = _input_for(name, shape, definition)
            if field:
                inputs.append(field)
                bound[name] = Ref(("inputs", name))
    parameters = tuple(bound.items())
    carry = _carry(definition, spec, takes.properties, bound)
    return Bound(parameters, tuple(inputs), carry, tuple(ambiguous))


def _left_out(
    definition: StepDefinition, spec: ActionSpec, takes: Shape
) -> Iterator[tuple[str, Shape]]:
    """Parameters to bind: all that are not written, or of those the required ones."""
    given = definition.parameters.node if definition.parameters else None
    written = set(given.entries) if isinstance(given, MappingNode) else set()
    all_of_them = given is None and (spec.effect in _HARMLESS or spec.asks_model)
    for name, shape in sorted(takes.properties.items()):
        wanted = all_of_them or name in takes.required
        if wanted and name not in written and not _takes_words(shape):
            yield name, shape


def offered_by(triggers: Sequence[Trigger]) -> Sequence[str] | None:
    """Names that one of *triggers* may give; None for any."""
    if any(isinstance(trigger, EventTrigger) for trigger in triggers):
        return None
    return FROM_FILES if any(isinstance(trigger, FileTrigger) for trigger in triggers) else ()


def without_required(shape: Shape, names: frozenset[str]) -> Shape:
    """*shape*, which need not be given *names*: they are bound."""
    if not names:
        return shape
    left = sorted(shape.required - names)
    return Shape({**shape.schema, "required": left}, shape.definitions)


def or_else(missing: Shape, names: Names) -> str:
    """What else gives a step what it lacks of *missing*, as the end of a remedy."""
    required = sorted(missing.required)
    if any(_takes_words(missing.properties.get(name, Shape({}))) for name in required):
        return ""
    taken = next(filter(names.has_input, required), None)
    if taken:
        return f": the input `{taken}` may be missing, or is of another type"
    return ", or declare it under `inputs:`"


def _candidates(name: str, shape: Shape, names: Names) -> list[Ref]:
    """What is called *name* and is surely of *shape*; else what the schema names beside it."""
    others = shape.schema.get(ALSO_FROM, ())
    for each in (name, *(others if isinstance(others, list) else ())):
        found = [ref for ref, given in names.called(str(each)) if _suits(given, shape)]
        if found:
            return found
    return []


def _suits(source: Shape, target: Shape, depth: int = 0) -> bool:
    """Whether every value of *source* is one of *target*, as far as both say."""
    if source.is_open or not source.kinds <= target.kinds or never_equal(source, target):
        return False
    if target.enum is not None and source.enum is None:
        return False
    items = source.items, target.items
    if "array" in source.kinds and depth < _DEEPEST and not any(each.is_open for each in items):
        return _suits(*items, depth + 1)
    if "object" in source.kinds and target.properties and source.properties:
        return all(
            field in source.properties and source.properties[field].kinds <= own.kinds
            for field, own in target.properties.items()
            if field in target.required
        )
    return True


def _takes_words(shape: Shape) -> bool:
    return not shape.is_open and {"string", "array"} <= shape.kinds


def _input_for(name: str, shape: Shape, definition: StepDefinition) -> Field | None:
    kinds = shape.kinds - {"null"}
    for type_ in _TYPES:
        if kinds and kinds == kinds_of_type(type_):
            about = f"from what triggers it: `{definition.id}` needs it"
            return Field(name=name, type=type_, description=about, enum=shape.enum or ())
    return None


def _carry(
    definition: StepDefinition,
    spec: ActionSpec,
    takes: Mapping[str, Shape],
    bound: Mapping[str, Ref],
) -> tuple[Carry, ...]:
    """Steps whose lists and maps a model's step is bound to: its prompt shows texts and numbers."""
    if not spec.asks_model or "carry" in definition.node.entries:
        return ()
    steps = (
        ref.path[1]
        for name, ref in bound.items()
        if ref.path[0] == "steps" and takes[name].kinds & {"array", "object"}
    )
    return tuple(Carry(step=step) for step in dict.fromkeys(steps))


def _report(
    definition: StepDefinition,
    spec: ActionSpec,
    name: str,
    found: Sequence[Ref],
    reporter: UnitReporter,
    *,
    required: bool,
) -> None:
    ways = [f"${{{'.'.join(ref.path)}}}" for ref in found]
    could = " or ".join(f"`{way}`" for way in ways)
    reporter.report(
        "P418" if required else "P419",
        f"`{name}` of `{spec.name}` could be {could}",
        definition.node,
        remedy=f"say which under `with:`, as in `{name}: {ways[-1]}`",
    )
