"""The state of an execution: the fold of its events, and nothing that is not in them."""

from operator import attrgetter
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from cortex.bus.events import (
    ContextCompiled,
    EffectIntended,
    EffectUnknown,
    ExecutionStarted,
    StepSettled,
)
from cortex.runtime.models import Usage
from cortex.runtime.processes import EvaluationScope

from .failures import Failures
from .items import Fan

Status: TypeAlias = Literal[
    "unknown",  # none of its events was seen
    "requested",  # asked for, and not begun
    "running",
    "paused",  # waits for `execution.resume`
    "halted",  # a gate or a step stopped it; `execution.resume` tries again
    "completed",
    "failed",
    "cancelled",
]
Stage: TypeAlias = Literal[
    "idle",  # nothing is asked: the next thing is to be found
    "gate",  # a gate was asked
    "gate_open",  # the gate said failed or waiting; it is asked again on resume
    "knowledge",  # the knowledge store was asked what the step is to find
    "memory",  # memory was asked what the step is to remember
    "context",  # the context compiler was asked
    "compiled",  # the prompt is ready, the model was not asked
    "model",  # a model was asked
    "waiting",  # the model could not answer and is asked again in a while
    "answered",  # the model answered, the handler was not asked
    "tools",  # tools that the model asked for are at work, or were
    "handler",  # the handler of the step was asked
    "child",  # a child execution carries out the step
    "fan",  # executions carry out the items of the step, several at once
    "failed",  # the attempt failed; a retry may wait for its time
    "cleanup",  # a child execution cleans up after the step failed for good
]

Edits: TypeAlias = tuple[dict[str, str], ...]  # as `context.compile` has them
Ignored: TypeAlias = tuple[str, str, str, int]  # who said it, its topic, step and attempt

EFFECT = "effect"  # reason of a pause: the outcome of an effect is unknown
AGREEMENT = "unrecorded"  # reason of a pause: what is not on record needs a person's agreement
ITEMS = "items"  # reason of a pause: all items of the step that are left wait for somebody
PARENT_PAUSES = "its parent was asked to pause"  # how the reason of such a pause begins
OVER: frozenset[Status] = frozenset(("completed", "failed", "cancelled"))
ATTEMPTING: frozenset[Stage] = frozenset(
    (
        "knowledge",
        "memory",
        "context",
        "compiled",
        "model",
        "waiting",
        "answered",
        "tools",
        "handler",
        "child",
        "fan",
    )
)
_NOTHING_ASKED: Final[dict[str, Any]] = {
    "turn": 0,
    "call": 0,
    "compiled": None,
    "answer": {},
    "stop": "",
    "unclaimed": False,
    "open_calls": {},
    "callees": {},
    "enabled": (),
    "problems": 0,
    "unfit": (),
    "attempt_tokens": 0,
    "attempt_cost": 0.0,
    "effects": {},
    "unknown": {},
}
# Most steps ask no model, and a copy with so many fields named costs more than a look at them.
_OF_ATTEMPT: Final = attrgetter(*_NOTHING_ASKED)
_UNTOUCHED: Final = tuple(_NOTHING_ASKED.values())


class Grown(Struct, frozen=True, kw_only=True):
    """A step that was chosen towards a goal."""

    step_id: str
    goal: str  # the step whose goal it is
    attempt: int  # of that step
    name: str  # of the action or the process
    parameters: dict[str, Any]
    timeout_s: float | None


class Pursuit(Struct, frozen=True, kw_only=True):
    """The work towards a goal in one attempt of its step; kept while other steps are done for it.

    The fields from `turn` on are those of the attempt, as it was when it was left.
    """

    step_id: str
    attempt: int
    gates_passed: int  # those of the step itself; what checks the goal comes after them
    away: bool = False  # whether the execution is at a step that was chosen, or comes from one
    used_ns: int = 0  # working time; it does not count while the execution is stopped
    since_ns: int = 0  # since when time counts; 0 while stopped
    note: str = ""  # what a person said when it was resumed
    turns_before: int = 0  # that its budget counts no more, since it was halted and resumed
    claims: int = 0  # how often in a row it was said that the goal is reached, and it was not
    first_attempt: int = 1
    turn: int = 0
    compiled: ContextCompiled | None = None
    parameters: dict[str, Any] = {}
    found: str = ""
    remembered: str = ""
    enabled: tuple[str, ...] = ()
    problems: int = 0
    unfit: tuple[str, ...] = ()
    tokens: int = 0  # of the attempt, less what the execution had taken when it was left
    cost: float = 0.0  # likewise


DECIDER: Final = 1  # of the decider: raised when equal events lead to other next steps
DELEGATED: frozenset[Stage] = frozenset(("child", "cleanup", "fan"))


class Execution(Struct, frozen=True, kw_only=True):
    """One execution; equal events give an equal value."""

    execution_id: str
    status: Status = "unknown"
    parent: str = ""  # execution that runs this one as a child
    parent_step: str = ""
    started: ExecutionStarted | None = None
    started_ns: int = 0
    stage: Stage = "idle"
    requested_by: str = ""  # who asked for it, or for the one that it is a child of
    tree: str = ""  # the execution in whose work tree it works; "" for none, or its own
    step_id: str = ""  # the current step; "" at the gates of the process
    gate: str = ""  # the gate that was asked last
    asked: tuple[str, ...] = ()  # whose answer counts; empty for anybody's, as in older logs
    asked_at: str = ""  # "process/gate" of a child whose question it waits with
    gates_passed: int = 0  # of the process or of the current step, in order
    gate_attempt: int = 0  # the number of the question to the gate after those
    gate_attempts: dict[str, int] = {}  # how often each gate was asked, by "step/index"
    gate_answer: tuple[str, str] = ("", "")  # what a person answered to that gate, and who
    attempt: int = 0  # of the current step; 0 before the first
    attempts: dict[str, int] = {}  # the newest of each step, by id: they are counted through
    first_attempt: int = 1  # where the count for `retry:` began: a resume after a halt starts anew
    parameters: dict[str, Any] = {}  # of the attempt, as they were filled in
    found: str = ""  # digest of the blob with what the attempt's `find:` brought
    remembered: str = ""  # likewise, its `memory:`
    turn: int = 0  # of the attempt: the number of its prompt
    call: int = 0  # how often that prompt was sent
    compiled: ContextCompiled | None = None  # the prompt
    answer: dict[str, Any] = {}  # of the model, to this prompt
    stop: str = ""  # why that answer ends
    unclaimed: bool = False  # the hub reported that no worker takes the step of the attempt
    open_calls: dict[str, str] = {}  # tools that were asked in this turn and are at work, by call
    callees: dict[str, tuple[str, ...]] = {}  # whose answer counts, by call that is at work
    call_ids: frozenset[str] = frozenset()  # of every call so far
    enabled: tuple[str, ...] = ()  # packs, in this attempt
    problems: int = 0  # answers of this attempt that did not fit
    unfit: tuple[str, ...] = ()  # the models that gave them, where a better one was asked then
    attempt_tokens: int = 0
    attempt_cost: float = 0.0  # US dollars
    child: str = ""  # execution that carries out the attempt, or cleans up
    fan: Fan | None = None  # the items of the step, where it works on several
    results: dict[str, dict[str, Any]] = {}  # of completed steps, by id
    statuses: dict[str, str] = {}  # of settled steps, by id: completed, failed, skipped
    stopped: tuple[str, ...] = ()  # steps whose breakpoint was reached
    shown: tuple[str, ...] = ()  # those of them whose prompt was shown, and nothing changed since
    broke_at: str = ""  # the last of them
    breaks: tuple[str, ...] | None = None  # all breakpoints, once a person changed them
    stepping: str | None = None  # the step from which it goes on by one, which is to be the last
    pausing: str | None = None  # reason of a pause that was asked for and not yet taken
    reason: str = ""  # why it is paused, halted, failed or cancelled
    question: str = ""  # what a person is asked
    outputs: dict[str, Any] = {}
    tokens: int = 0  # of prompts that were sent and of their answers, here and in its children
    own_tokens: int = 0  # without those of its children
    usage: Usage = Usage()  # the same by class
    own_usage: Usage = Usage()
    cost: float = 0.0  # US dollars, with those of its children
    own_cost: float = 0.0
    failures: Failures = ()  # shown to later tries of a step
    went_back: dict[str, int] = {}  # how often each step went back, by id
    effects: dict[str, EffectIntended] = {}  # begun, may happen once only, no outcome is recorded
    unknown: dict[str, EffectUnknown] = {}  # those of them that a person is asked about
    stood: int = 0  # position at which it was last recorded that it is paused or halted
    unrecorded: int = 0  # of its pauses and halts: said, and their positions are not known yet
    pursuit: Pursuit | None = None  # the goal that is being worked towards
    suspended: Pursuit | None = None  # one whose attempt failed: a resume continues it
    grown: tuple[Grown, ...] = ()  # steps that were chosen towards goals, in order
    chosen: int = 0  # how many were, those among them that do not count any more
    children: frozenset[str] = frozenset()  # every execution that it asked for
    leaving: frozenset[str] = frozenset()  # those of them that end, and say what they took, first
    observed: frozenset[tuple[str, int]] = frozenset()  # ad hoc: (step, attempt) that ended
    ignored: frozenset[Ignored] = frozenset()  # recorded answers of sources that were not asked
    edits: dict[str, Edits] = {}  # what people changed in the prompts of steps, by step
    new_edits: int = 0  # of the step at hand, the last ones: whether they fit is not known yet
    editing: ContextCompiled | None = None  # the prompt without them, while it is compiled anew
    settled: dict[str, StepSettled] = {}  # by step: its result, valid once its gates have passed
    recalled: frozenset[int] = frozenset()  # positions of answers that were taken from the record
    anew: bool = False  # of a fork or what-if: whether it had an effect that is not on record
    agreed: bool = False  # a person agreed to what it asks for next and is not on record
    sent: float = 0.0  # US dollars for prompts that were sent unplanned, in a what-if
    sent_prompts: tuple[str, ...] = ()  # digests of those that a what-if sent, planned or not

    @property
    def over(self) -> bool:
        """Whether nothing can happen to it any more."""
        return self.status in OVER

    @property
    def apart(self) -> bool:
        """Whether it changes files in a work tree and nowhere else: what it does is for a goal."""
        return bool(self.tree) or self.pursuit is not None

    @property
    def adhoc(self) -> bool:
        """Whether it is ad-hoc work: no process leads it, and any permitted client acts."""
        return self.started is not None and not (self.started.process or self.started.linked)

    @property
    def decider(self) -> int | None:
        """Version of the decider that it began with; 0: not recorded, None: it has not started."""
        return None if self.started is None else self.started.decider

    @property
    def open_gate(self) -> str:
        """The "process/gate" that asks a person at the moment, here or in a child; "" for none."""
        if self.status not in ("paused", "halted"):
            return ""
        if self.stage == "gate_open":
            return f"{self.begun().process}/{self.gate}"
        return self.asked_at

    @property
    def alive(self) -> tuple[str, ...]:
        """The executions that carry out its current step."""
        if self.fan is not None:
            return tuple(self.fan.live)
        return (self.child,) if self.child else ()

    def begun(self) -> ExecutionStarted:
        """The event it started with.

        Raises:
            LookupError: It has not started.
        """
        if self.started is None:
            raise LookupError(f"execution {self.execution_id} has not started")
        return self.started

    def scope(self, attempt: int = 1) -> EvaluationScope:
        """What expressions and templates may refer to in the *attempt* of a step."""
        begun = self.begun()
        scope = EvaluationScope(
            inputs=begun.inputs,
            steps=self.results,
            statuses=self.statuses,
            execution={"id": self.execution_id, "attempt": attempt},
        )
        part = begun.part
        if part is None:
            return scope
        return replace(scope, execution={**scope.execution, "item": part.item}, named=part.named)


def other_decider(began: int | None) -> str:
    """That another version of the decider began an execution; "" where this one did."""
    if began is None or began == DECIDER:
        return ""
    if not began:
        return f"it began before the version of the decider was recorded, this is {DECIDER}"
    return f"decider version {began} began it, this is {DECIDER}"


def entered(state: Execution, step_id: str) -> Execution:
    """*state* at another step, without the data of the last one.

    If the last one works towards a goal, its attempt continues after this step.
    """
    if state.pursuit is not None and step_id != state.pursuit.step_id:
        state = put_aside(state)
    if state.fan is not None:
        state = without_fan(state)
    return replace(
        anew(state),
        stage="idle",
        step_id=step_id,
        gates_passed=0,
        gate_attempt=0,
        gate_answer=("", ""),
        attempt=0,
        first_attempt=state.attempts.get(step_id, 0) + 1,
        parameters={},
        child="",
    )


def afresh(state: Execution, step_id: str) -> Execution:
    """*state* at *step_id* without open requests, whether it was there already or not."""
    return anew(without_fan(state)) if step_id == state.step_id else entered(state, step_id)


def put_aside(state: Execution) -> Execution:
    """*state*, with the attempt kept whose goal is worked towards, if it is at that."""
    pursuit = state.pursuit
    if pursuit is None or (state.step_id, state.attempt) != (pursuit.step_id, pursuit.attempt):
        return state
    left = replace(
        pursuit,
        away=True,
        first_attempt=state.first_attempt,
        turn=state.turn,
        compiled=state.compiled,
        parameters=state.parameters,
        found=state.found,
        remembered=state.remembered,
        enabled=state.enabled,
        problems=state.problems,
        unfit=state.unfit,
        tokens=state.attempt_tokens - state.tokens,
        cost=state.attempt_cost - state.cost,
    )
    return replace(state, pursuit=left)


def without_fan(state: Execution) -> Execution:
    """*state*, done with the items of its step; late events of one count as of a child."""
    if state.fan is None:
        return state
    return replace(state, fan=None, children=state.children | state.fan.children())


def anew(state: Execution) -> Execution:
    """*state*, with nothing asked of a model and nothing spent in the attempt."""
    return state if _OF_ATTEMPT(state) == _UNTOUCHED else replace(state, **_NOTHING_ASKED)


def answers(state: Execution, event: Any, *stages: Stage) -> bool:
    """Whether *event* is about the current attempt and turn of *state*, which is in *stages*."""
    return (
        state.status == "running"
        and state.stage in stages
        and state.step_id == event.step_id
        and state.attempt == event.attempt
        and getattr(event, "turn", state.turn) == state.turn
    )


def without(by_step: dict[str, Any], step_id: str) -> dict[str, Any]:
    """*by_step* less one step; the same object where it is not in there."""
    if step_id not in by_step:
        return by_step
    return {key: value for key, value in by_step.items() if key != step_id}
