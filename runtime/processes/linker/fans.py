"""Steps that work on several items at once: `for_each:` over a list, and `parallel:` steps.

Both stand in a process as ordinary steps do. A `for_each:` step says once what is done with each
item; the branches of a `parallel:` follow it in the list of steps and know that they are `within`
it. Each item is an execution of its own (see `parts`), with gates, retries and effects.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import UNSET

from ..executable.expressions import Constant, Ref
from ..executable.linked import LinkedFan
from ..syntax.definitions import FanDefinition, Inherit, StepDefinition, Value
from ..syntax.nodes import Node, Reporter, ScalarNode, SequenceNode
from ..syntax.readers import read_value
from ..types.scope import ITEM, Names, Referent
from ..types.shapes import Shape, kind_of
from ..types.values import ValueChecker

AT_ONCE: Final = 8  # items, unless `at_once:` is given
MOST_AT_ONCE: Final = 256
MOST_BRANCHES: Final = 64
RESERVED: Final = ("inputs", "steps", "execution")
FAILURES: Final = ("halt", "collect")
_OF_FANS: Final = ("as", "at_once", "failures")
_BESIDE_PARALLEL: Final = frozenset(
    (
        "id",
        "parallel",
        "description",
        "when",
        "at_once",
        "failures",
        "on_failure",
        "budget",
        "before",
        "after",
    )
)
_NOT_IN_BRANCH: Final = ("parallel", "before", "after", "on_failure")
_LIST: Final = Shape({"type": "array"})
_FAILURE: Final[dict[str, Any]] = {
    "item": {"type": "integer"},
    "error": {"type": "string"},
    "execution": {"type": "string"},
}
_OF_BRANCH: Final = {**_FAILURE, "step": {"type": "string"}}


def read_list(node: Node, reporter: Reporter, label: str) -> Value | None:
    """Return what `for_each:` goes over: a reference, or a list that is written out."""
    if isinstance(node, SequenceNode) or (isinstance(node, ScalarNode) and _refers(node)):
        return read_value(node, reporter, label)
    reporter.report(
        "P103",
        f"`{label}` is not a list",
        node,
        remedy="refer to one, as in `for_each: ${inputs.files}`, or write it out",
    )
    return None


def flattened(steps: Iterable[StepDefinition | Inherit]) -> list[StepDefinition | Inherit]:
    """*steps*, with the branches of each `parallel:` right behind it."""
    flat: list[StepDefinition | Inherit] = []
    for step in steps:
        flat.append(step)
        if isinstance(step, StepDefinition) and step.fan is not None:
            for branch in step.fan.branches:
                branch.within = step.id
                flat.append(branch)
    return flat


def fan_of(values: dict[str, Any]) -> FanDefinition | None:
    """The fan that the keys of a step make, which are taken out of *values*."""
    over, branches = values.pop("for_each", None), values.pop("parallel", None)
    name, at_once = values.pop("called", None), values.pop("at_once", None)
    failures = values.pop("failures", None)
    if over is None and branches is None:
        return None
    return FanDefinition(
        over=over,
        branches=branches or [],
        name=name or ITEM,
        at_once=at_once or (AT_ONCE if branches is None else MOST_BRANCHES),
        failures=failures or "halt",
    )


def check_fan(step: StepDefinition, reporter: Reporter) -> None:
    """Report keys without effect at their place, and a name that hides another."""
    keys: Mapping[str, tuple[ScalarNode, Node]] = step.node.entries
    is_fan = "for_each" in keys or "parallel" in keys
    for key in () if is_fan else [each for each in _OF_FANS if each in keys]:
        message = f"`{key}:` of a step that works on one thing"
        remedy = "give it `for_each:` or `parallel:`, or remove the key"
        reporter.report("P218", message, keys[key][0], remedy=remedy)
    if "parallel" in keys:
        _check_parallel(step, reporter)
    if step.within:
        for key in [each for each in _NOT_IN_BRANCH if each in keys]:
            message = f"`{key}:` in a branch of `{step.within}`"
            remedy = f"say it on `{step.within}`, or have the branch run a `process:`"
            reporter.report("P218", message, keys[key][0], remedy=remedy)
    if step.fan is not None and step.fan.name in RESERVED:
        remedy = "give the item another name"
        message = f"`as: {step.fan.name}` hides what `${{{step.fan.name}...}}` stands for"
        reporter.report("P219", message, step.node.at("as"), remedy=remedy)


def _check_parallel(step: StepDefinition, reporter: Reporter) -> None:
    keys: Mapping[str, tuple[ScalarNode, Node]] = step.node.entries
    for key in keys.keys() - _BESIDE_PARALLEL - {"action", "process", "for_each"}:
        message = f"`{key}:` together with `parallel:`"
        reporter.report("P218", message, keys[key][0], remedy="say it in the branches")
    if step.fan is not None and len(step.fan.branches) > MOST_BRANCHES:
        found = len(step.fan.branches)
        message = f"`parallel` has {found} branches, expected at most {MOST_BRANCHES}"
        reporter.report("P106", message, keys["parallel"][1])


# Linking.


def linked_fan(
    definition: StepDefinition, checker: ValueChecker, branches: tuple[str, ...]
) -> LinkedFan | None:
    """The linked form of what makes *definition* a fan; None where it is an ordinary step."""
    fan = definition.fan
    if fan is None:
        return None
    if fan.over is not None:
        checker.check(fan.over, _LIST, "`for_each`")
    return LinkedFan(
        over=fan.over.template if fan.over is not None else UNSET,
        name=fan.name,
        at_once=min(fan.at_once, len(branches) or MOST_AT_ONCE),
        failures="collect" if fan.failures == "collect" else "halt",
        branches=branches,
    )


def element_of(over: Value, names: Names) -> Shape:
    """What each item of *over* is, where *names* are known."""
    template = over.template
    if isinstance(template, Ref):
        found = names.look_up(template)
        return found.shape.items if isinstance(found, Referent) else Shape({})
    if isinstance(template, Constant) and isinstance(template.value, list) and template.value:
        return Shape({"type": sorted({kind_of(each) for each in template.value})})
    return Shape({})


def result_of_fan(fan: FanDefinition, of_item: Shape) -> Shape:
    """What later steps may refer to in the result of a fan."""
    failure = {"type": "object", "properties": _FAILURE if fan.over is not None else _OF_BRANCH}
    of_failures = {"type": "array", "items": failure}
    count = {"type": "integer"}
    fields: dict[str, Any] = {"completed": count, "failed": count, "failures": of_failures}
    if fan.over is not None:
        schema = dict(of_item.schema)
        if fan.failures == "collect" and schema:
            schema = {"anyOf": [schema, {"type": "null"}]}
        fields["results"] = {"type": "array", "items": schema}
    definitions = of_item.definitions
    return Shape({"type": "object", "properties": fields, "$defs": dict(definitions)})


def report_branch(target: str, within: str, place: Node, reporter: Reporter) -> None:
    """Report a jump to, or an insertion at, a branch."""
    remedy = f"name `{within}`"
    reporter.report("P220", f"`{target}` is a branch of `{within}`", place, remedy=remedy)


def _refers(node: ScalarNode) -> bool:
    return isinstance(node.value, str) and "${" in node.value
