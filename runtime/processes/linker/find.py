"""Links `find:`, a step's search in the knowledge store before its prompt is compiled."""

from collections.abc import Iterable

from msgspec import UNSET, UnsetType

from ..executable.linked import Find
from ..syntax.definitions import FindDefinition, Value
from ..syntax.forms import Key, ListOf, MapForm, Number, OneOf, Text, span_within, wrong_type
from ..syntax.nodes import MappingNode, Node, Reporter, ScalarNode
from ..syntax.readers import TOPIC, read_topic, read_value
from ..types.shapes import Shape
from ..types.values import ValueChecker
from .world import World

MOST_PASSAGES = 100
MOST_TOKENS = 10**12

_STRING = Shape({"type": "string"})


def _read_text(node: Node, reporter: Reporter, label: str) -> Value | None:
    if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
        wrong_type(node, reporter, label, "a text: what is to be found")
        return None
    if not node.value.strip():
        reporter.report("P113", f"`{label}` is an empty text", node)
        return None
    at = node.value.find("{{")
    if at >= 0:
        message = "`{{...}}` is not a reference in this language"
        remedy = "write it as `${inputs.name}` or `${steps.id.field}`"
        reporter.report("P202", message, span_within(node, at, 2), remedy=remedy)
        return None
    return read_value(node, reporter, label)


_TEXTS = ListOf(OneOf(_read_text, (Text().schema,)), or_one=True, minimum=1)
_FIND = MapForm(
    "`find`",
    FindDefinition,
    {
        "text": Key(_TEXTS, "what is asked, in words; or a list", required=True, field="texts"),
        "under": Key(
            ListOf(OneOf(read_topic, (TOPIC.schema,)), or_one=True, minimum=1),
            "topics that a passage stands in or below; all unless given",
        ),
        "passages": Key(
            Number(1, MOST_PASSAGES), "how many at most; unless given, `tokens` decides"
        ),
        "tokens": Key(Number(1, MOST_TOKENS), "tokens of them at most; 2,000 unless given"),
    },
)


def _read_find(node: Node, reporter: Reporter, label: str) -> FindDefinition | None:
    if isinstance(node, MappingNode):
        found: FindDefinition | None = _FIND.read(node, reporter, label)
        return found
    texts = _TEXTS.read(node, reporter, label)
    return FindDefinition(texts=texts, node=node) if texts else None


FIND = OneOf(_read_find, (_TEXTS.schema, _FIND.schema))


def linked_find(
    definition: FindDefinition | None,
    checker: ValueChecker,
    world: World,
    reporter: Reporter,
    *,
    asks_model: bool,
) -> Find | UnsetType:
    """The `find:` of a step as it is run; what is wrong with it goes to *reporter*."""
    if definition is None:
        return UNSET
    if not asks_model:
        message = "`find:` has no effect: this step asks no model, so that it has no prompt"
        reporter.report("P215", message, definition.node)
    for text in definition.texts:
        checker.check(text, _STRING, "`find`")
    for use in definition.under:
        if not _holds(world.topics.names(), use.topic):
            remedy = world.topic_remedy(use.topic)
            message = f"there is no knowledge under `{use.topic}` yet"
            reporter.report("P415", message, use.node, remedy=remedy)
    return Find(
        texts=tuple(text.template for text in definition.texts),
        under=tuple(dict.fromkeys(use.topic for use in definition.under)),
        passages=definition.passages,
        tokens=definition.tokens,
    )


def _holds(topics: Iterable[str], under: str) -> bool:
    return any(topic == under or topic.startswith(f"{under}.") for topic in topics)
