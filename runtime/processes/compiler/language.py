"""The keys of the process language: one table, for the parser, the editor's schema and the docs."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..linker.fans import AT_ONCE, FAILURES, MOST_AT_ONCE, fan_of, flattened, read_list
from ..linker.prompt_inputs import FIND, MEMORY
from ..syntax.definitions import (
    FieldDefinition,
    Inherit,
    InterfaceDefinition,
    ProcessDefinition,
    RequiredStep,
    SchemaUse,
    StepDefinition,
)
from ..syntax.fields import FIELDS, OUTPUTS, STEP_OUTPUT
from ..syntax.forms import Boolean, Choice, Key, ListOf, MapForm, Number, OneOf, Text
from ..syntax.goal_uses import GOAL, GOAL_KEYS
from ..syntax.nodes import MappingNode, Node, Reporter, ScalarNode, describe
from ..syntax.readers import (
    DURATION,
    NAME,
    PARAMETERS,
    PUBLIC_NAME,
    TOPIC,
    any_map,
    read_carry,
    read_condition,
    read_gate,
    read_inherit,
    read_topic,
)
from ..syntax.records import BUDGET, NEEDS, ON_FAILURE, RETRY, STRATEGY, report_vendor
from ..syntax.tool_uses import TOOLS
from ..syntax.triggers import TRIGGER

INHERIT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"inherit": {"const": "all"}},
    "required": ["inherit"],
    "additionalProperties": False,
}


def _any_list() -> dict[str, Any]:
    return {"type": "array"}


def _inherit_schema() -> dict[str, Any]:
    return dict(INHERIT_SCHEMA)


def _read_version(node: Node, reporter: Reporter, label: str) -> int | None:
    value = node.value if isinstance(node, ScalarNode) else None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    reporter.report("P107", f"`{label}` is {describe(node)}, not a whole number from 1", node)
    return None


GATES = ListOf(OneOf(read_gate, (PUBLIC_NAME.schema, _inherit_schema, any_map)))
KNOWLEDGE = ListOf(OneOf(read_topic, (TOPIC.schema, _inherit_schema)))
VERSION = OneOf(_read_version, (Number(1, 2**31).schema,))


def _step(
    *, output: list[FieldDefinition] | SchemaUse | None = None, **values: Any
) -> StepDefinition:
    fan = fan_of(values)
    if isinstance(output, SchemaUse):
        return StepDefinition(output_schema=output, fan=fan, **values)
    return StepDefinition(output=output or [], fan=fan, **values)


def _read_branch(node: Node, reporter: Reporter, label: str) -> StepDefinition | Inherit | None:
    return _read_step(node, reporter, label)


def _branch_schema() -> dict[str, Any]:
    keys = {name: key for name, key in STEP.keys.items() if name not in ("parallel", "on_failure")}
    return MapForm("a branch", StepDefinition, keys).schema()


def _process(*, steps: list[StepDefinition | Inherit] | None = None, **values: Any) -> Any:
    return ProcessDefinition(steps=flattened(steps or []), **values)


STEP = MapForm(
    "a step",
    _step,
    {
        "id": Key(NAME, "the step's name, unique in the process", required=True),
        "action": Key(PUBLIC_NAME, "the action that does the work"),
        "process": Key(PUBLIC_NAME, "the process or interface to run as a child execution"),
        "goal": Key(GOAL, "what is to be reached by actions that are chosen one at a time"),
        **GOAL_KEYS,
        "for_each": Key(
            OneOf(read_list, (Text().schema, _any_list)),
            "a list: the step is carried out for each item of it, several at once",
        ),
        "parallel": Key(
            ListOf(OneOf(_read_branch, (_branch_schema,)), minimum=1),
            "steps that are carried out at the same time; what follows waits for all of them",
        ),
        "as": Key(NAME, "what an item of the list is called; item unless given", field="called"),
        "at_once": Key(
            Number(1, MOST_AT_ONCE),
            f"how many items are under way at once; {AT_ONCE} unless given, of `parallel` all",
        ),
        "failures": Key(
            Choice(FAILURES),
            "when an item fails: halt begins no more, collect carries out all; halt unless given",
        ),
        "description": Key(Text(), "what the step is for; the model is told"),
        "abstract": Key(Boolean(), "whether a child process has to say what the step does"),
        "with": Key(
            PARAMETERS,
            "parameters of the action, inputs of the child, what is known about the goal",
            field="parameters",
        ),
        "when": Key(
            OneOf(read_condition, (Text().schema, Boolean().schema)),
            "the condition under which the step runs; otherwise it is skipped",
        ),
        "retry": Key(RETRY, "how often it is tried again when it fails"),
        "timeout": Key(DURATION, "how long one attempt may take", field="timeout_s"),
        "on_failure": Key(ON_FAILURE, "what follows when every attempt failed; halt unless given"),
        "breakpoint": Key(Boolean(), "whether to pause and show the compiled context"),
        "gates": Key(GATES, "what has to hold before the step; only ever added to"),
        "knowledge": Key(KNOWLEDGE, "the topics this step sees instead of the process's"),
        "find": Key(
            FIND,
            "what is looked for in all knowledge before the step's prompt is compiled; nothing "
            "unless given",
        ),
        "memory": Key(
            MEMORY,
            "what is looked for in memory before the step's prompt is compiled; nothing unless "
            "given",
        ),
        "carry": Key(
            ListOf(OneOf(read_carry, (Text().schema,)), or_one=True),
            "earlier steps, or fields of them, that the step's context shows; nothing unless given",
        ),
        "strategy": Key(
            STRATEGY,
            "where what was retrieved stands in the prompt: in front, to be read from a cache "
            "again, or at the end; the configuration's unless given",
        ),
        "persona": Key(
            Text(), "the role of the model in this step, instead of the process's or the home's"
        ),
        "instructions": Key(
            Text(), "what the model is told to heed, after what the process and the home say"
        ),
        "needs": Key(NEEDS, "what the work asks of a model"),
        "tools": Key(
            TOOLS,
            "tools that the model may use, `pack.*` for all of a pack, or packs and skills that it "
            "may enable, each a promise unless it is {name: x, optional: true}; none unless given",
        ),
        "budget": Key(BUDGET, "what the step may spend"),
        "output": Key(
            STEP_OUTPUT,
            "what the step has to give: fields, {schema: JSON Schema}, or package.module:Struct",
        ),
        "before": Key(NAME, "insert before this inherited step"),
        "after": Key(NAME, "insert after this inherited step"),
    },
    exclusive=(
        ("action", "process"),
        ("action", "goal"),
        ("process", "goal"),
        ("action", "parallel"),
        ("goal", "parallel"),
        ("process", "parallel"),
        ("for_each", "parallel"),
        ("before", "after"),
    ),
)


def _read_step(node: Node, reporter: Reporter, label: str) -> StepDefinition | Inherit | None:
    if isinstance(node, MappingNode) and set(node.entries) == {"inherit"}:
        return read_inherit(node, reporter)
    if isinstance(node, MappingNode):
        for name in ("model", "provider", "vendor"):
            if name in node.entries:
                report_vendor(node.entries[name][0], name, reporter)
                node.entries.pop(name)
    step: StepDefinition | Inherit | None = STEP.read(node, reporter, label)
    return step


STEPS = ListOf(OneOf(_read_step, (STEP.schema, _inherit_schema)))

PROCESS = MapForm(
    "a process",
    _process,
    {
        "process": Key(PUBLIC_NAME, "the process's name", required=True, field="name"),
        "version": Key(VERSION, "1, 2, 3, ...", required=True, insert="version: 1", fallback=1),
        "description": Key(Text(), "what the process is for"),
        "abstract": Key(Boolean(), "whether it is a template that cannot execute"),
        "extends": Key(PUBLIC_NAME, "the parent process"),
        "implements": Key(ListOf(PUBLIC_NAME, or_one=True), "the interface or interfaces it meets"),
        "trigger": Key(ListOf(TRIGGER, or_one=True, minimum=1), "what starts it", field="triggers"),
        "triggers": Key(ListOf(TRIGGER, minimum=1), "what starts it, where there are several"),
        "persona": Key(Text(), "the role of the model in its steps, instead of the home's"),
        "instructions": Key(
            Text(), "what the models of its steps are told to heed, after what the home says"
        ),
        "knowledge": Key(KNOWLEDGE, "the knowledge topics its steps see"),
        "gates": Key(GATES, "what has to hold before it starts; only ever added to"),
        "inputs": Key(FIELDS, "what it has to be given"),
        "outputs": Key(OUTPUTS, "what it gives when it is done"),
        "steps": Key(STEPS, "what is done, in order"),
    },
    exclusive=(("trigger", "triggers"),),
)

_REQUIRED_STEP = MapForm(
    "a required step",
    RequiredStep,
    {
        "id": Key(NAME, "the id that an implementing process has", required=True),
        "description": Key(Text(), "what the step is for"),
    },
)


def _read_required_step(node: Node, reporter: Reporter, label: str) -> RequiredStep | None:
    if isinstance(node, ScalarNode):
        name = NAME.read(node, reporter, label)
        return RequiredStep(id=name, node=node) if name else None
    step: RequiredStep | None = _REQUIRED_STEP.read(node, reporter, label)
    return step


INTERFACE = MapForm(
    "an interface",
    InterfaceDefinition,
    {
        "interface": Key(PUBLIC_NAME, "the interface's name", required=True, field="name"),
        "version": Key(VERSION, "1, 2, 3, ...", required=True, insert="version: 1", fallback=1),
        "description": Key(Text(), "what the contract is for"),
        "extends": Key(
            ListOf(PUBLIC_NAME, or_one=True), "interfaces whose requirements it includes"
        ),
        "required_gates": Key(ListOf(PUBLIC_NAME), "gates that the process has"),
        "required_steps": Key(
            ListOf(OneOf(_read_required_step, (NAME.schema, _REQUIRED_STEP.schema))),
            "steps that the process has",
        ),
        "required_knowledge": Key(ListOf(TOPIC), "topics that the process has"),
        "inputs": Key(FIELDS, "inputs that the process takes"),
        "outputs": Key(FIELDS, "outputs that the process gives"),
    },
)


def language_schema() -> dict[str, Any]:
    """Return the language as JSON Schema (draft 2020-12), for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Cortex process",
        "oneOf": [PROCESS.schema(), INTERFACE.schema()],
    }


def keys_of_the_language() -> Iterator[tuple[str, str, Key]]:
    """Yield every key as (record, key, what it is)."""
    for record in (PROCESS, STEP, RETRY, BUDGET, INTERFACE):
        for name, key in record.keys.items():
            yield record.what, name, key
