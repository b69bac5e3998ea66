"""The life of an execution: one run of a compiled process, or ad-hoc work towards a goal."""

from typing import Any, ClassVar, Final

import msgspec

from ..event import Event

# The key of a request whose answer is on record: no action, gate or provider has such a name.
RECORD: Final = "(on record)"


class Variation(msgspec.Struct, frozen=True, kw_only=True):
    """What a fork or a what-if takes from the record of another execution, and what it changes.

    Calls of actions and tools that are on record, by name and parameters, take their recorded
    results. In a what-if that holds for prompts, gates and failures, too.
    """

    through: int  # position up to which the record counts
    what_if: bool = False  # only the owner may ask for one
    position: int = 0  # prompts recorded up to here are asked for as they were; 0: none
    models: dict[str, str] = {}  # the model to ask, by step; "" for all steps
    knowledge: dict[str, dict[str, str]] = {}  # "path" and "digest" of other content, by topic
    # Of the prompt compiler, where it is other: "persona", "instructions", "strategy", "tokens"
    # (the effective window) and "sections" (tokens by section).
    policy: dict[str, Any] = {}
    linked: str = ""  # digest of the blob with another version of the process
    prompts: tuple[str, ...] = ()  # digests of prompts that a person agreed to send
    within: dict[str, tuple[str, ...]] = {}  # the same of children and items, by their joined path
    budget: float | None = None  # US dollars for what is sent; None: a person is asked each time
    path: tuple[str, ...] = ()  # of a child: what it and its parents carry out, outermost first
    allow: bool = False  # whether effects that are not on record happen without a question


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What the execution of one item of a step runs, and the values that it knows."""

    step_id: str  # the step of the process that it carries out, and no other
    item: int  # which item of `parent_step`, from 1
    named: dict[str, Any] = {}  # the item, by the name that `as:` gives it
    results: dict[str, dict[str, Any]] = {}  # of the earlier steps that the step refers to
    statuses: dict[str, str] = {}  # of those steps
    requested_by: str = ""  # the client for which it runs
    tree: str = ""  # the execution in whose work tree it works; "" for none
    breaks: tuple[str, ...] | None = None  # breakpoints, if a person changed those of the whole


class ExecutionRequest(Event, frozen=True, kw_only=True, tag="execution.request"):
    """Ask to run a process, or, without a process, for an ad-hoc execution."""

    belongs = ("execution", "execution_id")
    routing = "process"
    subject_field = "subject"
    personal = ("inputs", "goal", "workspace", "step", "variation")

    execution_id: str
    process: str = ""  # a process, or an interface that one process implements; "" for ad-hoc work
    process_version: int = 0  # 0 for the newest
    inputs: dict[str, Any] = {}
    goal: str = ""
    workspace: str = ""  # absolute path of the folder the work is about; "" for none
    trigger: str = ""  # trigger_id, if a trigger caused it
    parent: str = ""  # execution_id of the step that runs this as a child
    parent_step: str = ""
    breakpoints: tuple[str, ...] = ()  # step ids to pause before, besides the process's own
    max_cost: float | None = None  # US dollars that it and its children may spend; None: no bound
    requested_by: str = ""  # the client that the engine or process manager asks for; else ignored
    # The execution in whose work tree it works, as a child of work towards a goal does; "" for
    # none. Only the engine sets it; ignored from others.
    tree: str = ""
    wait_s: float | None = None  # if its process is unlinked; None: as configured, the maximum
    # Guided ad-hoc work: a step with the `goal`, as in a process but without `id`.
    step: dict[str, Any] = {}
    # A fork: the steps before `from_step` take their outcomes from this execution, and its version
    # of the process, inputs and goal are taken, too. "" for none.
    fork_of: str = ""
    from_step: str = ""
    variation: Variation | None = None  # how the fork uses the record; None: it runs everything
    subject: str = ""  # whose personal data it is about; all events that serve it are encrypted


class ExecutionDeferred(Event, frozen=True, kw_only=True, tag="execution.deferred"):
    """A request waits for its process, which is unlinked; it begins when all parts are back.

    If that takes longer than `waits_s`, the execution fails.
    """

    belongs = ("execution", "execution_id")
    personal = ()

    execution_id: str
    process: str
    missing: tuple[str, ...]  # "action write_code", "gate tests_pass", "topic team.rota"
    waits_s: float


class ExecutionStarted(Event, frozen=True, kw_only=True, tag="execution.started"):
    """The execution began on one compiled version; it stays on that version."""

    belongs = ("execution", "execution_id")
    personal = ("inputs", "goal", "workspace", "part", "variation")

    execution_id: str
    process: str  # "" for ad-hoc work
    process_version: int
    digest: str  # of the linked form
    linked: str  # digest of the blob that holds it
    inputs: dict[str, Any]  # checked, with defaults filled in
    goal: str
    workspace: str
    trigger: str
    parent: str = ""
    parent_step: str = ""
    breakpoints: tuple[str, ...] = ()
    max_cost: float | None = None  # US dollars that it and its children may spend; None: no bound
    part: Part | None = None  # of one item of a step: only the engine begins those
    decider: int = 0  # version of the code that decides its next steps; 0: unknown
    fork_of: str = ""  # the execution that it, or its parent, was forked from; "" for none
    from_step: str = ""  # the first step that a fork runs itself
    variation: Variation | None = None  # of a fork or a what-if, and of its children


class ExecutionPause(Event, frozen=True, kw_only=True, tag="execution.pause"):
    """Ask an execution to stop before its next step, or at once for a person who is its model."""

    belongs = ("execution", "execution_id")
    personal = ("reason", "question")

    execution_id: str
    reason: str = ""
    question: str = ""  # the question to a person: it asks for the answer to `model.invoke`
    prompt: str = ""  # digest of the blob that the person is to answer


class ExecutionPaused(Event, frozen=True, kw_only=True, tag="execution.paused"):
    """The execution waits for `execution.resume`."""

    belongs = ("execution", "execution_id")
    personal = ("reason", "question")

    execution_id: str
    reason: str  # "breakpoint", "approval", or the reason in the request
    step_id: str = ""  # the step before which it paused
    question: str = ""  # the question to a person, if approval is required
    prompt: str = ""  # digest of the compiled context that would be sent, at a breakpoint
    gate: str = ""  # "process/gate" that asks: an answer names it
    waits_for: tuple[str, ...] = ()  # scopes of directives with a question that must be answered


class ExecutionResume(Event, frozen=True, kw_only=True, tag="execution.resume"):
    """Ask a paused or halted execution to continue.

    With `gate` it answers the question of that gate and does nothing else. That needs the grant to
    approve the gate; a grant to publish this topic does not include it.
    """

    belongs = ("execution", "execution_id")
    routing = "gate"
    granted_by: ClassVar[str] = "approve"
    personal = ("answer", "note")

    execution_id: str
    answer: str = ""  # "approved" or "denied" to a gate; else an answer in a model's place
    by: str = ""  # who answered, if the engine forwards it to a child; ignored from others
    note: str = ""
    from_step: str = ""  # go back to this step; "" continues where it is
    gate: str = ""  # "process/gate" whose question this answers, as `execution.paused` names it
    # Position up to which the log was read before the decision: it does not answer what the
    # execution says after that. 0: nothing was read.
    seen: int = 0
    stepping: bool = False  # pause again before the next step

    def key(self) -> str | None:
        """The gate; None if it answers none."""
        return self.gate or None


class ExecutionEdit(Event, frozen=True, kw_only=True, tag="execution.edit"):
    """Ask a paused or halted execution to continue with other inputs or a higher cost limit.

    Cortex applies all of it or refuses all of it. Existing results stay; `from_step` runs their
    steps again.
    """

    belongs = ("execution", "execution_id")
    personal = ("inputs", "note")

    execution_id: str
    inputs: dict[str, Any] = {}  # by name; those that are not named stay
    max_cost: float | None = None  # US dollars that it and its children may spend in all
    note: str = ""
    from_step: str = ""  # go back to this step; "" continues where it is
    seen: int = 0  # as in `execution.resume`
    stepping: bool = False  # likewise


class ExecutionEdited(Event, frozen=True, kw_only=True, tag="execution.edited"):
    """A person changed inputs or limits of an execution; steps that begin from now on use it."""

    belongs = ("execution", "execution_id")
    personal = ("inputs", "note")

    execution_id: str
    inputs: dict[str, Any]  # all of them, as they are now
    changed: tuple[str, ...]  # names of inputs; "max_cost" has its own field
    max_cost: float | None  # as it is now
    by: str  # who asked for it, as the hub authenticated them
    note: str = ""


class ExecutionBreak(Event, frozen=True, kw_only=True, tag="execution.break"):
    """Ask an execution to pause before steps, or to pause before them no more.

    It may run meanwhile. Cortex applies all of it or refuses all of it.
    """

    belongs = ("execution", "execution_id")

    execution_id: str
    add: tuple[str, ...] = ()  # steps, or actions that may be chosen towards a goal
    remove: tuple[str, ...] = ()  # likewise; also those that the process itself declares
    by: str = ""  # who asked, if the engine forwards it to an item; ignored from others
    note: str = ""


class ExecutionBreakpointsChanged(
    Event, frozen=True, kw_only=True, tag="execution.breakpoints_changed"
):
    """A person changed the steps before which an execution pauses."""

    belongs = ("execution", "execution_id")

    execution_id: str
    breakpoints: tuple[str, ...]  # all of them, as they are now
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    by: str  # who asked for it, as the hub authenticated them
    note: str = ""


class ExecutionRefused(Event, frozen=True, kw_only=True, tag="execution.refused"):
    """A request about an execution was refused; the execution did not change."""

    belongs = ("execution", "execution_id")
    personal = ("reason",)

    execution_id: str
    asked: str  # topic of the request; its position is the causation
    reason: str  # one line: what is wrong, what was expected, what to do
    by: str = ""  # the client that asked, as the hub authenticated it


class ExecutionIgnored(Event, frozen=True, kw_only=True, tag="execution.ignored"):
    """An answer came from a component that was not asked; it changes nothing.

    It is recorded once for each client, kind of answer and attempt.
    """

    belongs = ("execution", "execution_id")
    personal = ("answer",)

    execution_id: str
    answer: str  # topic of the answer; its position is the causation
    by: str  # the client that sent it, as the hub authenticated it
    asked: str  # the component that was asked
    step_id: str = ""
    attempt: int = 1


class ExecutionResumed(Event, frozen=True, kw_only=True, tag="execution.resumed"):
    """The execution continues."""

    belongs = ("execution", "execution_id")
    personal = ("answer", "note")

    execution_id: str
    step_id: str = ""
    answer: str = ""
    by: str = ""  # who asked for it, as the hub authenticated them
    note: str = ""
    from_step: str = ""
    stepping: bool = False  # it pauses again before the next step


class ExecutionCancel(Event, frozen=True, kw_only=True, tag="execution.cancel"):
    """Ask an execution to end without a result."""

    belongs = ("execution", "execution_id")
    personal = ("reason",)

    execution_id: str
    reason: str = ""


class ExecutionCancelled(Event, frozen=True, kw_only=True, tag="execution.cancelled"):
    """The execution ended on request."""

    belongs = ("execution", "execution_id")
    personal = ("reason",)

    execution_id: str
    reason: str
    tokens: int = 0  # so far, with those of its children
    cost: float = 0.0  # US dollars so far, with those of its children
    usage: dict[str, int] = {}  # tokens by class so far, with those of its children


class ExecutionFinish(Event, frozen=True, kw_only=True, tag="execution.finish"):
    """Ask to end the work towards a goal: the goal is reached, or given up."""

    belongs = ("execution", "execution_id")
    personal = ("outputs", "note")

    execution_id: str
    outputs: dict[str, Any] = {}
    by: str = ""  # ignored: the source is the requester
    gave_up: bool = False
    note: str = ""  # what was reached, or why it is given up
    seen: int = 0  # as in `execution.resume`; ignored by unguided work


class ExecutionHalted(Event, frozen=True, kw_only=True, tag="execution.halted"):
    """A gate or a failed step stopped the process; `execution.resume` tries it again."""

    belongs = ("execution", "execution_id")
    personal = ("reason", "evidence")

    execution_id: str
    reason: str
    step_id: str = ""
    gate: str = ""
    evidence: dict[str, Any] = {}
    tokens: int = 0  # so far, with those of its children
    cost: float = 0.0  # US dollars so far, with those of its children
    usage: dict[str, int] = {}  # tokens by class so far, with those of its children


class ExecutionCompleted(Event, frozen=True, kw_only=True, tag="execution.completed"):
    """Every step is finished; the outcome is recorded."""

    belongs = ("execution", "execution_id")
    personal = ("outputs",)

    execution_id: str
    outputs: dict[str, Any] = {}
    tokens: int = 0  # of all prompts and answers, including those of its children
    duration_s: float = 0.0  # from started to completed, by the hub's clock
    own_tokens: int = 0  # without those of its children
    cost: float = 0.0  # US dollars, including those of its children
    own_cost: float = 0.0
    usage: dict[str, int] = {}  # tokens by class: input, cached_read, cached_write, output
    own_usage: dict[str, int] = {}


class ExecutionFailed(Event, frozen=True, kw_only=True, tag="execution.failed"):
    """The execution cannot continue: it was refused, or a step failed for good."""

    belongs = ("execution", "execution_id")
    personal = ("reason",)

    execution_id: str
    reason: str
    step_id: str = ""
    tokens: int = 0  # so far, with those of its children
    cost: float = 0.0  # US dollars so far, with those of its children
    usage: dict[str, int] = {}  # tokens by class so far, with those of its children


class ExecutionCharged(Event, frozen=True, kw_only=True, tag="execution.charged"):
    """A child execution ended; its cost also counts for its parent."""

    belongs = ("execution", "execution_id")
    personal = ()

    execution_id: str  # of the parent
    child: str
    tokens: int  # of the child and of its own children
    total: int  # of this execution so far, with them
    late: bool = False  # the parent had ended: its last event does not include them
    cost: float = 0.0  # US dollars of the child and of its own children
    total_cost: float = 0.0
    usage: dict[str, int] = {}  # tokens of the child by class


class ExecutionRated(Event, frozen=True, kw_only=True, tag="execution.rated"):
    """A person's verdict on an execution's outcome."""

    belongs = ("execution", "execution_id")
    personal = ("note",)

    execution_id: str
    verdict: str  # "good", "bad" or "mixed"
    note: str = ""
    by: str = ""  # ignored: the source is the reviewer
