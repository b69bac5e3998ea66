"""The linked process: what the compiler emits and the executor runs.

Every reference in it is resolved: an action names its component, a topic its file, a child process
its digest. It is plain data, so that events and blobs can hold it without loss.
"""

from collections.abc import Collection
from typing import Any, Final, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from cortex.bus import Effect

from .expressions import Expression, MapOf, Template

ValueType: TypeAlias = Literal["string", "integer", "number", "boolean", "list", "map", "path"]
Level: TypeAlias = Literal["low", "medium", "high"]
Sensitivity: TypeAlias = Literal["public", "internal", "local"]
Missed: TypeAlias = Literal["skip", "once", "all"]
Scalar: TypeAlias = str | int | float | bool | None


class Origin(Struct, gc=False, frozen=True, kw_only=True):
    """Which process of the chain an item came from."""

    process: str
    overrides: tuple[str, ...] = ()  # processes whose own form of it was replaced, nearest first


class Field(Struct, gc=False, frozen=True, kw_only=True):
    """A typed input, or a field of what a step has to give."""

    name: str
    type: ValueType
    required: bool = True
    default: Any = None  # used if the value is not given; None if there is no default
    description: str = ""
    enum: tuple[Any, ...] = ()  # the values allowed; empty allows all of the type


class Output(Struct, gc=False, frozen=True, kw_only=True):
    """A typed output and where its value comes from."""

    name: str
    type: ValueType
    value: Template  # evaluated when the execution ends
    required: bool = True
    description: str = ""
    enum: tuple[Any, ...] = ()


class EventTrigger(Struct, gc=False, frozen=True, tag="event"):
    """Fires on an event in which every named field has one of the values listed for it."""

    match: tuple[tuple[str, tuple[Scalar, ...]], ...]  # sorted by field


class ScheduleTrigger(Struct, gc=False, frozen=True, tag="schedule"):
    """Fires by the calendar."""

    cron: str  # five fields
    timezone: str = "UTC"
    missed: Missed = "once"  # what happens to the times that passed while the runtime was down


class FileTrigger(Struct, gc=False, frozen=True, tag="file"):
    """Fires when files change while a hub is up."""

    paths: tuple[str, ...]  # patterns, from the folder that the home belongs to
    changes: tuple[str, ...] = ("added", "modified", "deleted")


class ManualTrigger(Struct, gc=False, frozen=True, tag="manual"):
    """Fires when a person asks for it."""


Trigger: TypeAlias = EventTrigger | ScheduleTrigger | FileTrigger | ManualTrigger


class LinkedGate(Struct, gc=False, frozen=True, kw_only=True):
    """A precondition, bound to the component that evaluates it."""

    name: str
    component: str
    parameters: MapOf  # templates; constants where nothing refers
    read_only: bool
    spec: str  # digest of the announcement that it was checked against
    origin: Origin


class LinkedTopic(Struct, gc=False, frozen=True, kw_only=True):
    """A knowledge topic, bound to its file."""

    topic: str  # as written
    path: str  # not part of the digest: a home that is moved stays the same
    digest: str  # of the content
    root: str  # not part of the digest
    origin: Origin


class LinkedAction(Struct, gc=False, frozen=True, kw_only=True):
    """An action, bound to the component that carries it out."""

    name: str
    component: str
    effect: Effect | Literal["write"]  # "write" in what was compiled before there were four
    asks_model: bool = False  # its handler is given a model's answer to a compiled context
    answer: dict[str, Any] | UnsetType = UNSET  # JSON Schema of that answer; unset for free text
    needs: dict[str, Any] | UnsetType = UNSET  # of a model, as its announcement states them
    spec: str  # digest of the announcement that it was checked against

    @property
    def may_be_once(self) -> bool:
        """Whether its effect may be one that happens once only."""
        return self.effect in ("once", "write")


class LinkedChild(Struct, gc=False, frozen=True, kw_only=True):
    """What runs as a child execution: a process, or whichever implements an interface."""

    process: str | None = None
    interface: str | None = None  # exactly one of the two is set
    digest: str  # of the linked process, or of the interface


class Retry(Struct, gc=False, frozen=True, kw_only=True):
    """How often a failed step is tried again, and after how long."""

    attempts: int = 1  # in all, the first one included
    backoff_s: float = 1.0  # before the second attempt
    factor: float = 2.0  # each wait is this much longer than the one before
    max_backoff_s: float = 300.0
    on: tuple[str, ...] = ()  # kinds of failure that are tried again; empty means every kind


class Halt(Struct, gc=False, frozen=True, tag="halt"):
    """The failure ends the execution."""


class Continue(Struct, gc=False, frozen=True, tag="continue"):
    """The failure is recorded and the next step runs."""


class GoTo(Struct, gc=False, frozen=True, tag="step"):
    """Go on at a later step; those between are skipped."""

    step: str


class BackTo(Struct, gc=False, frozen=True, tag="back_to"):
    """Go back to an earlier step; what it and those after it gave is dropped."""

    step: str
    times: int = 1  # at most; then the failure ends the execution


class RunProcess(Struct, gc=False, frozen=True, tag="process"):
    """Run a child process to clean up, then end the execution as failed."""

    child: LinkedChild
    parameters: MapOf


OnFailure: TypeAlias = Halt | Continue | GoTo | BackTo | RunProcess


class Find(Struct, gc=False, frozen=True, kw_only=True):
    """What is looked for in the knowledge store before this step's prompt is compiled."""

    texts: tuple[Template, ...]  # each finds its own; the best of all are shown
    under: tuple[str, ...] = ()  # passages must be in or below one of these topics; empty means all
    passages: int = 100  # at most; tokens decide
    tokens: int | None = None  # of them at most; None: what is usual


class Remembered(Struct, gc=False, frozen=True, kw_only=True):
    """What is looked for in memory before this step's prompt is compiled."""

    texts: tuple[Template, ...]  # each finds its own; the best of all are shown
    history: bool = False  # whether what was replaced is shown, too
    nodes: int = 20  # at most
    tokens: int | None = None  # of them at most; None: what is usual


class Carry(Struct, gc=False, frozen=True, kw_only=True):
    """What this step's context shows of an earlier one."""

    step: str
    field: str | None = None  # None: all of its result


class Needs(Struct, gc=False, frozen=True, kw_only=True):
    """What a step asks of a model; None where it does not mind."""

    reasoning: Level | None = None
    code: Level | None = None
    speed: Level | None = None
    sensitivity: Sensitivity | None = None  # "local": nothing leaves the machine
    context_tokens: int | None = None
    extractive: bool | UnsetType = UNSET  # quotations suffice; left out if not set


class Budget(Struct, gc=False, frozen=True, kw_only=True):
    """What a step may spend; None where nothing is laid down."""

    tokens: int | None = None
    cost: float | None = None  # US dollars
    time_s: float | None = None
    turns: int | None = None
    sections: tuple[tuple[str, int], ...] = ()  # (section, tokens), sorted


class Granted(Struct, gc=False, frozen=True, kw_only=True):
    """What may be done towards a goal: an action, or a process that runs as a child."""

    name: str  # by which it is chosen
    action: LinkedAction | None = None
    child: LinkedChild | None = None  # one of the two is set
    description: str = ""
    parameters: dict[str, Any] = {}  # JSON Schema of an object: of what is chosen
    gates: tuple[LinkedGate, ...] = ()  # evaluated in order, each time before it is done
    breakpoint: bool = False
    given: MapOf = MapOf(())  # parameters that are laid down, and not chosen
    people: tuple[str, ...] = ()  # parameters that only a person chooses

    def for_model(self) -> dict[str, Any]:
        """JSON Schema of what a model chooses."""
        return without(self.parameters, self.people)


def without(schema: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """*schema* of an object, without the properties *names*."""
    properties = schema.get("properties", {})
    kept = {name: each for name, each in properties.items() if name not in names}
    if len(kept) == len(properties):
        return schema
    required = [name for name in schema.get("required", ()) if name in kept]
    return {**schema, "properties": kept, "required": required}


# A model's calls to report on its goal; reserved names.
REACHED_CALL: Final = "goal_reached"
GIVE_UP_CALL: Final = "give_up"


class Goal(Struct, gc=False, frozen=True, kw_only=True):
    """What a step is to reach by actions that are chosen one at a time, and when it is reached."""

    text: Template
    grants: tuple[Granted, ...] = ()
    check: tuple[LinkedGate, ...] = ()  # it is reached when all of them pass; none: by its word
    by_hand: bool = False  # a person chooses, and no model is asked

    def grant(self, name: str) -> Granted | None:
        """What is chosen by *name*; None where that is not granted."""
        return next((each for each in self.grants if each.name == name), None)


class LinkedFan(Struct, gc=False, frozen=True, kw_only=True):
    """What makes a step work on several items at once."""

    over: Template | UnsetType = UNSET  # the list of `for_each:`; its step defines the work
    name: str = "item"  # what an item is called in that step
    at_once: int  # how many items are under way at the same time, at most
    failures: Literal["halt", "collect"] = "halt"  # what follows where an item fails
    branches: tuple[str, ...] = ()  # the steps of `parallel:`


class LinkedStep(Struct, gc=False, frozen=True, kw_only=True):
    """One step, with all that the executor needs."""

    id: str
    action: LinkedAction | None  # None where a child runs, and for an abstract step
    child: LinkedChild | None = None
    goal: Goal | UnsetType = UNSET  # left out of the linked form if there is none
    description: str = ""
    abstract: bool = False  # only ever in an abstract process
    parameters: MapOf = MapOf(())  # of the action, or inputs of the child
    bound: tuple[str, ...] | UnsetType = UNSET  # those of them that the source leaves out
    when: Expression | None = None  # None runs always
    retry: Retry = Retry()
    timeout_s: float | None = None
    on_failure: OnFailure = Halt()
    breakpoint: bool = False
    gates: tuple[LinkedGate, ...] = ()  # evaluated in order before the step
    knowledge: tuple[LinkedTopic, ...] = ()  # what its context is made from; already scoped
    find: Find | UnsetType = UNSET  # left out of the linked form where it is not used
    memory: Remembered | UnsetType = UNSET  # likewise
    carry: tuple[Carry, ...] = ()
    strategy: str | UnsetType = UNSET  # of its prompts; left out if the step has none
    # What the process and the step lay down for its prompts; left out where they say nothing.
    persona: str | UnsetType = UNSET
    instructions: str | UnsetType = UNSET
    needs: Needs = Needs()
    tools: tuple[str, ...] = ()
    # Of those, what must be there when its model is asked. Left out where nothing is promised.
    promised: tuple[str, ...] | UnsetType = UNSET
    # Each tool that they name, and the digest of its description.
    described: tuple[tuple[str, str], ...] | UnsetType = UNSET
    budget: Budget = Budget()
    output: tuple[Field, ...] = ()  # what the step must return, if it declares that itself
    # The same as JSON Schema of an object. Left out of the linked form where it is not used.
    output_schema: dict[str, Any] | UnsetType = UNSET
    # Of steps that work on several items at once, and left out of the linked form of all others.
    fan: LinkedFan | UnsetType = UNSET
    within: str | UnsetType = UNSET  # the `parallel:` that it is a branch of
    sees: tuple[tuple[str, ...], ...] | UnsetType = UNSET  # inputs and results an item is given
    origin: Origin

    @property
    def asks_model(self) -> bool:
        """Whether a model is asked before anything is done."""
        if self.goal is not UNSET:
            return not self.goal.by_hand
        return self.action is not None and self.action.asks_model


class LinkedProcess(Struct, gc=False, frozen=True, kw_only=True):
    """A process in which every reference is resolved."""

    name: str
    version: int
    digest: str  # sha256 of all below but paths and roots; covers parents, interfaces and children
    source_digest: str  # of the document alone; layout, comments and order of keys do not count
    description: str = ""
    abstract: bool = False
    chain: tuple[str, ...]  # itself, its parent, its parent's parent, ...
    parent: str | UnsetType = UNSET  # digest of the linked parent, which covers those above it
    implements: tuple[tuple[str, str], ...] = ()  # (interface, digest), inherited ones included
    triggers: tuple[Trigger, ...] = ()
    inputs: tuple[Field, ...] = ()
    from_trigger: tuple[str, ...] | UnsetType = (
        UNSET  # inputs that no source declares: steps need them
    )
    outputs: tuple[Output, ...] = ()
    gates: tuple[LinkedGate, ...] = ()  # evaluated in order before the first step
    knowledge: tuple[LinkedTopic, ...] = ()
    steps: tuple[LinkedStep, ...]
    # Of what one item carries out, which is never written: all steps, and the one that is its own.
    whole: tuple[LinkedStep, ...] | UnsetType = UNSET
    part: str | UnsetType = UNSET

    def step(self, step_id: str) -> LinkedStep:
        """Return the step *step_id*; KeyError if there is none."""
        for step in self.steps:
            if step.id == step_id:
                return step
        raise KeyError(step_id)


class LinkedInterface(Struct, gc=False, frozen=True, kw_only=True):
    """A contract: what every process that implements it has."""

    name: str
    version: int
    digest: str
    description: str = ""
    extends: tuple[str, ...] = ()
    required_gates: tuple[str, ...] = ()  # all of these include what it extends
    required_steps: tuple[tuple[str, str], ...] = ()  # (id, description)
    required_knowledge: tuple[str, ...] = ()
    inputs: tuple[Field, ...] = ()
    outputs: tuple[Field, ...] = ()
