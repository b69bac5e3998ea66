"""Values whose shape decides what they are: templates, conditions, gates, topics, durations."""

import re
from typing import Any

from ..executable.expression_parser import (
    ExpressionSyntaxError,
    Located,
    parse_condition,
    parse_template,
)
from ..executable.expressions import Constant, ListOf, MapOf, Template
from .definitions import CarryUse, Condition, GateUse, Inherit, TopicUse, Value
from .documents import report_trap
from .forms import Name, OneOf, span_within, wrong_type
from .nodes import MappingNode, Node, Reporter, ScalarNode, SequenceNode, describe, shortened

NAME = Name(re.compile(r"[A-Za-z_][\w-]*", re.ASCII), "a name")
PUBLIC_NAME = Name(re.compile(r"[A-Za-z_][\w.:/-]*", re.ASCII), "a name")
TOOL = Name(
    re.compile(r"[A-Za-z_][\w.:/-]*?(\.\*)?", re.ASCII),
    "a tool, a pack, or all of a pack (`pack.*`)",
)
STRUCT = Name(
    re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII),
    "a map of fields, {schema: ...}, or the name of a Struct (`package.module:Struct`)",
)
TOPIC = Name(re.compile(r"[\w-]+(\.[\w-]+)*"), "a topic (words joined by dots)")
_CARRY = Name(re.compile(r"[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)?", re.ASCII), "a step or step.field")
_DURATION = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)")
_UNIT_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
MAX_DURATION_S = 30 * 86_400.0


def read_value(node: Node, reporter: Reporter, _label: str) -> Value:
    """Return any value; references in its texts are found."""
    texts: dict[int, tuple[Template, list[Located]]] = {}
    return Value(_template(node, reporter, texts), node, texts)


def read_map(node: Node, reporter: Reporter, label: str) -> Value | None:
    """Return a map of values."""
    if isinstance(node, ScalarNode) and node.value is None:
        node = MappingNode(node.start, flow=True)
    if not isinstance(node, MappingNode):
        wrong_type(node, reporter, label, "a map of parameters")
        return None
    return read_value(node, reporter, label)


def map_of(value: Value | None) -> MapOf:
    """Return the template of a map of parameters, in canonical form."""
    if value is None:
        return MapOf(())
    template = value.template
    if isinstance(template, MapOf):
        return template
    constants = template.value if isinstance(template, Constant) else {}
    return MapOf(tuple((key, Constant(each)) for key, each in sorted(constants.items())))


def plain_value(node: Node) -> Any:
    """Return *node* as plain data."""
    if isinstance(node, ScalarNode):
        return node.value
    if isinstance(node, SequenceNode):
        return [plain_value(item) for item in node.items]
    return {name: plain_value(value) for name, (_, value) in node.entries.items()}


def _template(
    node: Node, reporter: Reporter, texts: dict[int, tuple[Template, list[Located]]]
) -> Template:
    if isinstance(node, ScalarNode):
        if node.trap:
            report_trap(node, reporter)
        if not isinstance(node.value, str) or "${" not in node.value:
            return Constant(node.value)
        return _text(node, reporter, texts)
    if isinstance(node, SequenceNode):
        items = tuple(_template(item, reporter, texts) for item in node.items)
        if all(isinstance(item, Constant) for item in items):
            return Constant(plain_value(node))
        return ListOf(items)
    for key, _ in node.entries.values():
        if key.trap:
            report_trap(key, reporter)
    entries = tuple(
        (name, _template(value, reporter, texts))
        for name, (_, value) in sorted(node.entries.items())
    )
    if all(isinstance(value, Constant) for _, value in entries):
        return Constant(dict(sorted(plain_value(node).items())))
    return MapOf(entries)


def _text(
    node: ScalarNode, reporter: Reporter, texts: dict[int, tuple[Template, list[Located]]]
) -> Template:
    try:
        template, references = parse_template(node.value)
    except ExpressionSyntaxError as error:
        reporter.report("P202", error.message, span_within(node, error.offset, 2))
        return Constant(node.value)
    if references:
        texts[id(node)] = (template, references)
    return template


def read_condition(node: Node, reporter: Reporter, label: str) -> Condition | None:
    """Return a ``when:``."""
    if isinstance(node, ScalarNode) and isinstance(node.value, bool):
        return Condition(Constant(node.value), [], node)
    if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
        wrong_type(node, reporter, label, "a condition, for example `inputs.count > 3`")
        return None
    text = node.value
    stripped = text.strip()
    if stripped.startswith("${") and stripped.endswith("}") and stripped.count("${") == 1:
        # ${...} around the whole is what other tools want; it changes nothing, so it is taken.
        text = text.replace("${", "  ", 1)[: text.rindex("}")]
    try:
        expression, references = parse_condition(text)
    except ExpressionSyntaxError as error:
        place = span_within(node, error.offset, max(1, len(text) - error.offset))
        reporter.report("P202", error.message, place)
        return None
    return Condition(expression, references, node)


def read_gate(node: Node, reporter: Reporter, label: str) -> GateUse | Inherit | None:
    """Return a gate: its name, ``{name: parameters}``, or ``{gate: name, with: parameters}``.

    ``inherit: all`` means the inherited ones; a gate of that name needs its parameters as a map.
    """
    if isinstance(node, MappingNode) and isinstance(node.get("inherit"), ScalarNode):
        return read_inherit(node, reporter)
    if isinstance(node, ScalarNode):
        name = PUBLIC_NAME.read(node, reporter, label)
        return GateUse(name, None, node, node) if name else None
    if not isinstance(node, MappingNode) or not node.entries:
        wrong_type(node, reporter, label, "the name of a gate, or a map {name: parameters}")
        return None
    if "gate" in node.entries and set(node.entries) <= {"gate", "with"}:
        name_node = node.at("gate")
        parameters = node.get("with")
        name = PUBLIC_NAME.read(name_node, reporter, "gate")
    elif len(node.entries) == 1:
        [(name, (name_node, parameters))] = node.entries.items()
        name = PUBLIC_NAME.read(name_node, reporter, label)
    else:
        message = f"one gate an item: this one has the keys {', '.join(node.entries)}"
        reporter.report("P103", message, node, remedy="write `- gate_name: {parameter: value}`")
        return None
    if not name:
        return None
    value = read_map(parameters, reporter, name) if parameters is not None else None
    return GateUse(name, value, node, name_node)


def read_topic(node: Node, reporter: Reporter, label: str) -> TopicUse | Inherit | None:
    """Return a knowledge topic, or the marker of the inherited ones."""
    if isinstance(node, MappingNode):
        return read_inherit(node, reporter)
    topic = TOPIC.read(node, reporter, label)
    return TopicUse(topic, node) if topic else None


def read_inherit(node: MappingNode, reporter: Reporter) -> Inherit | None:
    """Return ``- inherit: all``."""
    value = node.get("inherit")
    if value is None or len(node.entries) != 1:
        message = "the only map allowed here is `inherit: all`"
        reporter.report("P103", message, node)
        return None
    if not isinstance(value, ScalarNode) or value.value != "all":
        message = f"`inherit` is {describe(value)}, expected `all`"
        remedy = "write `inherit: all`: what a parent requires cannot be dropped"
        reporter.report("P104", message, value, remedy=remedy)
    return Inherit(node)


def read_carry(node: Node, reporter: Reporter, label: str) -> CarryUse | None:
    """Return ``step`` or ``step.field``."""
    text = _CARRY.read(node, reporter, label)
    if text is None:
        return None
    step, _, field = text.partition(".")
    return CarryUse(step, field or None, node)


def read_duration(node: Node, reporter: Reporter, label: str) -> float | None:
    """Return seconds."""
    value = node.value if isinstance(node, ScalarNode) else None
    seconds: float | None = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    elif isinstance(value, str):
        found = _DURATION.fullmatch(value.replace(" ", ""))
        seconds = float(found[1]) * _UNIT_S[found[2]] if found else None
    if seconds is None:
        reporter.report("P108", f"`{label}` is {describe(node)}, not a duration", node)
    elif not 0 < seconds <= MAX_DURATION_S:
        what = shortened(node.text) if isinstance(node, ScalarNode) else describe(node)
        message = f"`{label}` is {what}, expected more than nothing and at most 30 days"
        reporter.report("P106", message, node)
        return None
    return seconds


def anything() -> dict[str, Any]:
    """Return the JSON Schema of any value."""
    return {}


def any_map() -> dict[str, Any]:
    """Return the JSON Schema of any map."""
    return {"type": "object"}


VALUE = OneOf(read_value, (anything,))
PARAMETERS = OneOf(read_map, (any_map,))
DURATION = OneOf(
    read_duration,
    (
        lambda: {"type": "number", "exclusiveMinimum": 0},
        lambda: {"type": "string", "pattern": r"^\d+(\.\d+)? ?(ms|s|m|h)$"},
    ),
)
