"""Inputs and outputs: names with types."""

from typing import Any

from .definitions import FieldDefinition, SchemaUse
from .forms import Boolean, Choice, Key, ListOf, MapForm, OneOf, Text, wrong_type
from .nodes import MappingNode, Node, Reporter, ScalarNode
from .readers import NAME, STRUCT, VALUE, anything, plain_value

TYPES = ("string", "integer", "number", "boolean", "list", "map", "path")


def _read_plain(node: Node, _reporter: Reporter, _label: str) -> tuple[Any]:
    return (plain_value(node),)  # in a tuple, since null is a value too


def _field(
    *,
    node: MappingNode,
    type: str = "string",  # noqa: A002 - the key of the language
    required: bool | None = None,
    default: tuple[Any] | None = None,
    description: str = "",
    enum: list[tuple[Any]] | None = None,
    value: Any = None,
) -> FieldDefinition:
    return FieldDefinition(
        type=type,
        required=required,
        default=default[0] if default else None,
        has_default=default is not None,
        description=description,
        enum=[item for (item,) in enum or []],
        value=value,
        node=node,
    )


_PLAIN = OneOf(_read_plain, (anything,))
_FIELD_KEYS = {
    "type": Key(Choice(TYPES), "the type of the value", required=True),
    "required": Key(Boolean(), "whether it has to be given; true unless there is a default"),
    "default": Key(_PLAIN, "the value where none is given"),
    "description": Key(Text(), "what it is, in words"),
    "enum": Key(ListOf(_PLAIN, minimum=1), "the only values allowed"),
}
FIELD = MapForm("a field", _field, _FIELD_KEYS)
OUTPUT = MapForm(
    "an output",
    _field,
    {
        **{key: _FIELD_KEYS[key] for key in ("type", "required", "description", "enum")},
        "value": Key(VALUE, "where the value comes from, for example ${steps.verify.report}"),
    },
)


def _fields_form(record: MapForm) -> OneOf:
    def read(node: Node, reporter: Reporter, label: str) -> list[FieldDefinition] | None:
        if isinstance(node, ScalarNode) and node.value is None:
            return []
        if not isinstance(node, MappingNode):
            wrong_type(node, reporter, label, "a map of names to types")
            return None
        fields: list[FieldDefinition] = []
        for key, value in node.entries.values():
            checked = NAME.read(key, reporter, label)
            if isinstance(value, ScalarNode):
                kind = _FIELD_KEYS["type"].form.read(value, reporter, key.text)
                field = FieldDefinition(type=kind, node=value) if kind else None
            else:
                field = record.read(value, reporter, key.text)
            if field and checked:
                field.name = checked
                fields.append(field)
        return fields

    def schema() -> dict[str, Any]:
        shapes = {"anyOf": [{"enum": list(TYPES)}, record.schema()]}
        return {"type": "object", "additionalProperties": shapes}

    return OneOf(read, (schema,))


def _read_output(
    node: Node, reporter: Reporter, label: str
) -> list[FieldDefinition] | SchemaUse | None:
    if isinstance(node, ScalarNode) and isinstance(node.value, str):
        name = STRUCT.read(node, reporter, label)
        return SchemaUse({}, name, node) if name else None
    if isinstance(node, MappingNode) and set(node.entries) == {"schema"}:
        schema = node.at("schema")
        # A field may be called `schema`, too: its type is one of the language's.
        kind = schema.get("type") if isinstance(schema, MappingNode) else None
        of_language = isinstance(kind, ScalarNode) and kind.value in TYPES
        if isinstance(schema, MappingNode) and not of_language:
            return SchemaUse(plain_value(schema), "", schema)
    fields: list[FieldDefinition] | None = FIELDS.read(node, reporter, label)
    return fields


def _schema_of_output() -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"schema": {"type": "object"}},
        "required": ["schema"],
        "additionalProperties": False,
    }


FIELDS = _fields_form(FIELD)
STEP_OUTPUT = OneOf(_read_output, (FIELDS.schema, _schema_of_output, STRUCT.schema))
OUTPUTS = _fields_form(OUTPUT)
