"""Links what goes into a step's prompt: what it finds, remembers, and is instructed."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from ..executable.linked import Find, Remembered
from ..syntax.definitions import (
    FindDefinition,
    MemoryDefinition,
    ResolvedProcess,
    StepDefinition,
    Value,
)
from ..syntax.forms import (
    Boolean,
    Key,
    ListOf,
    MapForm,
    Number,
    OneOf,
    Text,
    span_within,
    wrong_type,
)
from ..syntax.nodes import MappingNode, Node, Reporter, ScalarNode
from ..syntax.readers import TOPIC, read_topic, read_value
from ..types.shapes import Shape
from ..types.values import ValueChecker
from .world import World

MOST_PASSAGES = 100
MOST_TOKENS = 10**12

TEXT_SHAPE = Shape({"type": "string"})
MOST_NODES = 100
KEYS = ("persona", "instructions")


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


TEXTS = ListOf(OneOf(_read_text, (Text().schema,)), or_one=True, minimum=1)
_FIND = MapForm(
    "`find`",
    FindDefinition,
    {
        "text": Key(TEXTS, "what is asked, in words; or a list", required=True, field="texts"),
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


def _search(form: MapForm) -> OneOf:
    """A search in a process: *form* in full, or its texts alone."""

    def read(node: Node, reporter: Reporter, label: str) -> Any:
        if isinstance(node, MappingNode):
            return form.read(node, reporter, label)
        texts = TEXTS.read(node, reporter, label)
        return form.build(texts=texts, node=node) if texts else None

    return OneOf(read, (TEXTS.schema, form.schema))


FIND = _search(_FIND)


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
    _check_search("find", definition, checker, reporter, asks_model=asks_model)
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


def _check_search(
    key: str,
    definition: FindDefinition | MemoryDefinition,
    checker: ValueChecker,
    reporter: Reporter,
    *,
    asks_model: bool,
) -> None:
    """Report what is wrong with the texts of a search, and a search without a prompt."""
    if not asks_model:
        message = f"`{key}:` has no effect: this step asks no model, so that it has no prompt"
        reporter.report("P215", message, definition.node)
    for text in definition.texts:
        checker.check(text, TEXT_SHAPE, f"`{key}`")


def _holds(topics: Iterable[str], under: str) -> bool:
    return any(topic == under or topic.startswith(f"{under}.") for topic in topics)


_MEMORY = MapForm(
    "`memory`",
    MemoryDefinition,
    {
        "text": Key(TEXTS, "what is asked, in words; or a list", required=True, field="texts"),
        "history": Key(
            Boolean(), "whether what was replaced is shown, too; only what holds unless given"
        ),
        "nodes": Key(Number(1, MOST_NODES), "how many memories at most; 20 unless given"),
        "tokens": Key(Number(1, MOST_TOKENS), "tokens of them at most; 2,000 unless given"),
    },
)


MEMORY = _search(_MEMORY)


def linked_memory(
    definition: MemoryDefinition | None,
    checker: ValueChecker,
    reporter: Reporter,
    *,
    asks_model: bool,
) -> Remembered | UnsetType:
    """The `memory:` of a step as it is run; what is wrong with it goes to *reporter*."""
    if definition is None:
        return UNSET
    _check_search("memory", definition, checker, reporter, asks_model=asks_model)
    return Remembered(
        texts=tuple(text.template for text in definition.texts),
        history=definition.history,
        nodes=definition.nodes,
        tokens=definition.tokens,
    )


class PromptTexts(NamedTuple):
    """The texts of one step; left out if there are none."""

    persona: str | UnsetType = UNSET
    instructions: str | UnsetType = UNSET


def prompt_texts(
    definition: StepDefinition, process: ResolvedProcess, reporter: Reporter, *, asks_model: bool
) -> PromptTexts:
    """The nearest persona, and all instructions, the general first.

    A step that asks no model has no prompt; if it has either text itself, that is reported.
    """
    if not asks_model:
        for key in KEYS:
            if key in definition.node.entries:
                message = f"`{key}:` has no effect: this step asks no model, and has no prompt"
                reporter.report("P221", message, definition.node.entries[key][0])
        return PromptTexts()
    persona = (definition.persona or process.persona).strip()
    texts = (*process.instructions, definition.instructions or "")
    instructions = "\n".join(filter(None, map(str.strip, texts)))
    return PromptTexts(persona or UNSET, instructions or UNSET)
