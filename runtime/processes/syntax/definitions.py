"""The syntax tree of the process language: what was written and inherited, and where."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from ..executable.expression_parser import Located
from ..executable.expressions import Expression, Template
from ..executable.linked import Budget, Needs, Retry, Trigger
from .nodes import MappingNode, Node, ScalarNode

MAX_CHAIN = 64  # parents of a process, or interfaces of an interface


class Condition(Struct, gc=False):
    """A ``when:`` that parsed."""

    expression: Expression
    references: list[Located]
    node: ScalarNode


class Value(Struct, gc=False):
    """A value with or without references in it."""

    template: Template
    node: Node
    texts: dict[int, tuple[Template, list[Located]]]  # by id of the scalar node that refers


class GateUse(Struct, gc=False):
    """A gate where it is asked for."""

    name: str
    parameters: Value | None
    node: Node  # of the whole item
    name_node: Node


class TopicUse(Struct, gc=False):
    """A knowledge topic where it is asked for."""

    topic: str
    node: Node


class Inherit(Struct, gc=False):
    """The line ``- inherit: all``."""

    node: Node


class FieldDefinition(Struct, gc=False, kw_only=True):
    """An input, an output, or a field of a step's output."""

    name: str = ""
    type: str
    required: bool | None = None
    default: Any = None
    has_default: bool = False
    description: str = ""
    enum: list[Any] = []
    value: Value | None = None  # outputs of a process only
    node: Node


class SchemaUse(Struct, gc=False):
    """What a step has to give, as JSON Schema: written out, or that of a Struct by name."""

    schema: dict[str, Any]  # {} where it goes by the name
    struct: str  # "package.module:Struct", or ""
    node: Node


class ToolUse(Struct, gc=False, kw_only=True):
    """A tool, a pack or a skill that a step names."""

    name: str
    optional: bool = False  # the step continues without it
    node: Node


class GrantUse(Struct, gc=False, kw_only=True):
    """An action, or a process to run as a child, that a step with a goal may choose."""

    action: str = ""
    process: str = ""  # one of the two is set
    gates: list[GateUse | Inherit] = []  # before each time that it is done
    breakpoint: bool = False
    parameters: Value | None = None  # `with:`, fixed values
    any_program: bool = False  # a model chooses programs and addresses, too
    node: Node


class CarryUse(Struct, gc=False):
    """An earlier step, or a field of it, that a step sees."""

    step: str
    field: str | None
    node: Node


class FailureDefinition(Struct, gc=False, kw_only=True):
    """What follows a failure."""

    policy: str  # halt, continue, step, back_to, process
    target: str = ""
    times: int = 1  # for back_to
    parameters: Value | None = None
    node: Node


class FindDefinition(Struct, gc=False, kw_only=True):
    """What a step looks for in the knowledge store."""

    texts: list[Value]
    under: list[TopicUse] = []
    passages: int = 100
    tokens: int | None = None
    node: Node


class MemoryDefinition(Struct, gc=False, kw_only=True):
    """What a step looks for in memory."""

    texts: list[Value]
    history: bool = False
    nodes: int = 20
    tokens: int | None = None
    node: Node


class FanDefinition(Struct, gc=False, kw_only=True):
    """What makes a step work on several items at once."""

    over: Value | None  # the list of `for_each:`
    branches: list["StepDefinition"]  # of `parallel:`
    name: str
    at_once: int
    failures: str


class StepDefinition(Struct, gc=False, kw_only=True):
    """A step as it was written."""

    id: str
    action: str | None = None
    process: str | None = None
    goal: Value | None = None
    grants: list[GrantUse] = []  # `may:`, of a step with a goal
    check: list[GateUse | Inherit] | None = None  # None: a person is asked
    by_hand: bool = False
    description: str = ""
    abstract: bool = False
    parameters: Value | None = None
    when: Condition | None = None
    retry: Retry | None = None
    timeout_s: float | None = None
    on_failure: FailureDefinition | None = None
    breakpoint: bool = False
    gates: list[GateUse | Inherit] = []
    knowledge: list[TopicUse | Inherit] | None = None
    find: FindDefinition | None = None
    memory: MemoryDefinition | None = None
    carry: list[CarryUse] = []
    strategy: str | None = None
    persona: str | None = None
    instructions: str | None = None
    needs: Needs | None = None
    tools: list[ToolUse] = []
    budget: Budget | None = None
    output: list[FieldDefinition] = []
    output_schema: SchemaUse | None = None  # instead of the fields
    fan: FanDefinition | None = None
    within: str = ""  # the `parallel:` that it is a branch of
    before: str | None = None
    after: str | None = None
    node: MappingNode


class ProcessDefinition(Struct, gc=False, kw_only=True):
    """A process as it was written."""

    name: str
    version: int
    description: str = ""
    abstract: bool = False
    extends: str | None = None
    implements: list[str] = []
    triggers: list[Trigger] = []
    persona: str | None = None
    instructions: str | None = None
    knowledge: list[TopicUse | Inherit] = []
    gates: list[GateUse | Inherit] = []
    inputs: list[FieldDefinition] = []
    outputs: list[FieldDefinition] = []
    steps: list[StepDefinition | Inherit] = []
    node: MappingNode
    file: str = ""
    source_digest: str = ""
    broken: bool = False  # errors were found while it was read


class RequiredStep(Struct, gc=False, kw_only=True):
    """A step that an interface requires."""

    id: str
    description: str = ""
    node: Node


class InterfaceDefinition(Struct, gc=False, kw_only=True):
    """An interface as it was written."""

    name: str
    version: int
    description: str = ""
    extends: list[str] = []
    required_gates: list[str] = []
    required_steps: list[RequiredStep] = []
    required_knowledge: list[str] = []
    inputs: list[FieldDefinition] = []
    outputs: list[FieldDefinition] = []
    node: MappingNode
    file: str = ""
    source_digest: str = ""
    broken: bool = False  # errors were found while it was read


Definition: TypeAlias = ProcessDefinition | InterfaceDefinition
OwnedTopic: TypeAlias = tuple[TopicUse, str]
OwnedUse: TypeAlias = tuple[TopicUse | Inherit, str]  # of a step
OwnedField: TypeAlias = tuple[FieldDefinition, str]


class ResolvedGate(Struct, gc=False, frozen=True):
    """A gate, who asked for it first, and who asked for it again."""

    use: GateUse
    owner: str


class ResolvedStep(Struct, gc=False, frozen=True):
    """A step in its place."""

    definition: StepDefinition
    owner: str
    overrides: tuple[str, ...] = ()
    gates: tuple[ResolvedGate, ...] = ()
    knowledge: tuple[OwnedUse, ...] | None = None  # None: as the process


class ResolvedProcess(Struct, gc=False, frozen=True, kw_only=True):
    """A process with its inheritance worked out, not yet linked."""

    definition: ProcessDefinition
    chain: tuple[str, ...]
    implements: tuple[str, ...]
    gates: tuple[ResolvedGate, ...]
    knowledge: tuple[OwnedTopic, ...]
    inputs: tuple[OwnedField, ...]
    outputs: tuple[OwnedField, ...]
    steps: Sequence[ResolvedStep]
    persona: str = ""  # its own, or the nearest parent's
    instructions: tuple[str, ...] = ()  # its parents' first: they are only ever added to
    orphan: bool = False  # a parent of its chain is not there; that has been reported
