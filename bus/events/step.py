"""The steps of an execution, as handlers see them."""

from typing import Any

from ..event import Ephemeral, Event
from .execution import RECORD


class StepExecute(Event, frozen=True, kw_only=True, tag="step.execute"):
    """Ask a handler to carry out one step."""

    belongs = ("execution", "execution_id")
    routing = "action"
    personal = ("parameters", "workspace", "goal", "description", "answer")

    execution_id: str
    step_id: str
    action: str
    attempt: int = 1  # 1 for the first try
    parameters: dict[str, Any] = {}
    workspace: str = ""
    goal: str = ""
    description: str = ""
    answer: dict[str, Any] = {}  # the model's answer, for an action that asks one
    timeout_s: float = 600.0
    component: str = ""  # the component that is asked; answers of others do not count
    host: str = ""  # the client that announced it, whose answers count as well; "" for the owner
    worktree: bool = False  # whether its programs run in a work tree, and files change there alone
    tree: str = ""  # the execution whose work tree that is; "" for its own
    recorded: int = 0  # position of the answer on record that counts; nobody is asked then
    anew: bool = False  # a fork or what-if has an effect that is not on record

    def key(self) -> str | None:
        """The action; `RECORD` if the answer is on record."""
        return RECORD if self.recorded else self.action


class StepPropose(Event, frozen=True, kw_only=True, tag="step.propose"):
    """Ask an execution that is at a goal to do an action towards it, chosen by a person."""

    belongs = ("execution", "execution_id")
    personal = ("parameters", "note")

    execution_id: str
    action: str  # an action or a process that is granted to the step with the goal
    parameters: dict[str, Any] = {}
    note: str = ""
    seen: int = 0  # as in `execution.resume`


class StepProposed(Event, frozen=True, kw_only=True, tag="step.proposed"):
    """An action towards a goal was chosen: it is a step of the execution from now on.

    It is recorded like any step: `step.execute` or `step.delegated`, then
    `step.completed` or `step.failed`.
    """

    belongs = ("execution", "execution_id")
    routing = "action"
    personal = ("goal", "parameters", "note")

    execution_id: str
    step_id: str  # of the new step: "fix.2" is the second that was chosen towards the goal of `fix`
    goal: str  # the step whose goal it is
    attempt: int = 1  # of that step
    turn: int = 0  # of its model, whose answer chose it
    call_id: str = ""  # in that answer; "" if a person chose
    action: str  # the action or the process
    parameters: dict[str, Any] = {}
    timeout_s: float | None = None  # the remaining time for the goal
    by: str = ""  # the model, or the person as the hub authenticated them
    note: str = ""


class StepUnclaimed(Event, frozen=True, kw_only=True, tag="step.unclaimed"):
    """No component can take this step now; it waits, or fails at its timeout."""

    belongs = ("execution", "execution_id")
    routing = "action"
    personal = ()

    execution_id: str
    step_id: str
    action: str
    waited_s: float  # since the request; 0 if no component subscribes to it


class StepCompleted(Event, frozen=True, kw_only=True, tag="step.completed"):
    """A step completed."""

    belongs = ("execution", "execution_id")
    personal = ("result", "summary")

    execution_id: str
    step_id: str
    attempt: int = 1
    result: dict[str, Any] = {}  # fits the action's announced result; large parts are blobs
    summary: str = ""  # one line for people


class StepFailed(Event, frozen=True, kw_only=True, tag="step.failed"):
    """An attempt at a step failed."""

    belongs = ("execution", "execution_id")
    personal = ("error", "excerpt")

    execution_id: str
    step_id: str
    error: str  # one line: what is wrong, what was expected, what to do
    attempt: int = 1
    # "timeout", "interrupted", "refused", "masked", "wrong_answer", "budget", "missing" (tools),
    # "gate" (it did not pass), "given_up" (a goal)
    kind: str = "failed"
    retry: bool = True  # False if a retry cannot help
    excerpt: str = ""  # the most informative output; the next attempt sees it


class StepSkipped(Event, frozen=True, kw_only=True, tag="step.skipped"):
    """A step was skipped, as the process or a person wanted."""

    belongs = ("execution", "execution_id")
    personal = ("reason",)

    execution_id: str
    step_id: str
    reason: str


class StepSettle(Event, frozen=True, kw_only=True, tag="step.settle"):
    """Ask a paused or halted execution to continue with a step skipped, or with a result for it.

    Cortex applies all of it or refuses all of it. Gates are asked as usual, about the new result.
    """

    belongs = ("execution", "execution_id")
    personal = ("result", "note")

    execution_id: str
    step_id: str
    outcome: str  # "skipped" or "replaced"
    result: dict[str, Any] = {}  # as the step declares it, if it is replaced
    note: str = ""
    from_step: str = ""  # go back to this step; "" continues where it is
    seen: int = 0  # as in `execution.resume`
    stepping: bool = False  # likewise


class StepInherited(Event, frozen=True, kw_only=True, tag="step.inherited"):
    """A fork takes the outcome of a step from the execution that it was forked from.

    The step is not run. It counts before `execution.started`, and from the process manager alone.
    """

    belongs = ("execution", "execution_id")
    personal = ("result",)

    execution_id: str  # the fork
    step_id: str
    status: str  # "completed", "failed" or "skipped"
    result: dict[str, Any] = {}  # as later steps see it
    fork_of: str  # the execution that ran the step
    position: int  # of the event in which the outcome is recorded there


class StepSettled(Event, frozen=True, kw_only=True, tag="step.settled"):
    """A person decided a step's outcome in place of its component.

    For a finished step the result counts at once. For others, `step.skipped` or `step.completed`
    follows when its gates have passed.
    """

    belongs = ("execution", "execution_id")
    personal = ("result", "note")

    execution_id: str
    step_id: str
    outcome: str  # "skipped" or "replaced"
    by: str  # who decided, as the hub authenticated them
    result: dict[str, Any] = {}
    note: str = ""


class StepReopened(Event, frozen=True, kw_only=True, tag="step.reopened"):
    """The execution goes back to a step: results of it and of the steps after it are dropped."""

    belongs = ("execution", "execution_id")
    personal = ("reason",)

    execution_id: str
    step_id: str  # the step at which it continues
    dropped: tuple[str, ...]  # the steps whose status and result no longer count
    by: str = ""  # the step whose `on_failure` requires it; "" if a person does
    times: int = 0  # how often that step went back, this time included
    reason: str = ""
    leaving: tuple[str, ...] = ()  # executions asked to end; it continues when they have


class StepDelegated(Event, frozen=True, kw_only=True, tag="step.delegated"):
    """A step, or one item of it, runs as a child execution, whose end decides the step."""

    belongs = ("execution", "execution_id")
    personal = ()

    execution_id: str
    step_id: str
    attempt: int = 1
    child: str  # execution_id of the child
    purpose: str = "step"  # "step", "item" of one, or "cleanup" after the step failed
    item: int = 0  # which item of the list, or branch, from 1; 0 for the step as a whole
    max_cost: float | None = None  # US dollars of the common rest that the item may spend


class StepFanned(Event, frozen=True, kw_only=True, tag="step.fanned"):
    """A step that works on several items at once begins: `for_each:` or `parallel:`."""

    belongs = ("execution", "execution_id")
    personal = ()

    execution_id: str
    step_id: str
    attempt: int = 1
    items: int  # how many there are
    at_once: int  # how many of them run at the same time, at most
    branches: tuple[str, ...] = ()  # the steps of `parallel:`; none for `for_each:`


class StepItemChanged(Event, frozen=True, kw_only=True, tag="step.item_changed"):
    """An item of a step paused, continued or ended; its own execution has the details."""

    belongs = ("execution", "execution_id")
    personal = ("result", "reason", "question")

    execution_id: str
    step_id: str
    attempt: int = 1
    item: int  # which, from 1
    child: str = ""  # execution_id of the item; "" if it did not begin
    # "paused", "halted", "resuming" if it was asked to continue, "running" again, "ending" if
    # its step continues without it; or ended: "completed", "failed", "skipped".
    status: str
    result: dict[str, Any] = {}  # of a completed item
    bytes: int = 0  # of that result, encoded
    reason: str = ""  # why it failed or paused
    question: str = ""  # the question to a person
    gate: str = ""  # "process/gate" that asks it
    max_cost: float | None = None  # US dollars, if its limit changes from now on


class StepWake(Event, frozen=True, kw_only=True, tag="step.wake"):
    """Ask an execution to check a step: a recorded deadline of the step is due."""

    belongs = ("execution", "execution_id")
    personal = ()

    execution_id: str
    step_id: str
    attempt: int = 1  # the attempt that the deadline is about
    # "timeout" or "budget" of an attempt, "retry" after one, "model" to be asked again, "tools"
    # that did not answer, "gate", "request", or "offers" of servers that had not announced any.
    what: str = "timeout"
    # The gate's place in its step or process, whose `attempt` this is; for "model" how often it was
    # asked, for "tools" how many calls are open, for "offers" how often they were checked.
    index: int = 0
    turn: int = 0  # for "model" and "tools"


class StepProgress(Ephemeral, frozen=True, kw_only=True, tag="step.progress"):
    """The progress of a step; not in the log."""

    belongs = ("execution", "execution_id")
    personal = ("note",)

    execution_id: str
    step_id: str
    note: str
    fraction: float | None = None  # 0 to 1, if it is known


class StepClaimed(Ephemeral, frozen=True, kw_only=True, tag="step.claimed"):
    """A worker took a step; not in the log."""

    belongs = ("execution", "execution_id")
    personal = ()

    execution_id: str
    step_id: str
    worker: str
