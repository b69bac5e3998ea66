"""The steps of an execution, as handlers see them."""

from typing import Any

from ..event import Ephemeral, Event


class StepExecute(Event, frozen=True, kw_only=True, tag="step.execute"):
    """Ask a handler to carry out one step."""

    belongs = ("execution", "execution_id")
    routing = "action"

    execution_id: str
    step_id: str
    action: str
    attempt: int = 1  # 1 for the first try
    parameters: dict[str, Any] = {}
    workspace: str = ""
    goal: str = ""
    description: str = ""
    answer: dict[str, Any] = {}  # what the model answered, for an action that asks one
    timeout_s: float = 600.0
    component: str = ""  # who is asked; the answer of anybody else does not count
    host: str = ""  # the client that announced it, whose answer counts, too; "" for the owner's
    worktree: bool = False  # whether its programs run in a work tree, and files change there alone
    tree: str = ""  # the execution whose work tree that is; "" for its own


class StepPropose(Event, frozen=True, kw_only=True, tag="step.propose"):
    """Ask an execution that stands at a goal to do something towards it, as a person chose it."""

    belongs = ("execution", "execution_id")

    execution_id: str
    action: str  # an action or a process that is granted to the step with the goal
    parameters: dict[str, Any] = {}
    note: str = ""
    seen: int = 0  # as in `execution.resume`


class StepProposed(Event, frozen=True, kw_only=True, tag="step.proposed"):
    """Something was chosen to be done towards a goal: it is a step of the execution from now on.

    What becomes of it is recorded as of any step: `step.execute` or `step.delegated`, then
    `step.completed` or `step.failed`.
    """

    belongs = ("execution", "execution_id")
    routing = "action"

    execution_id: str
    step_id: str  # of the new step: "fix.2" is the second that was chosen towards the goal of `fix`
    goal: str  # the step whose goal it is
    attempt: int = 1  # of that step
    turn: int = 0  # of its model, whose answer chose it
    call_id: str = ""  # in that answer; "" where a person chose
    action: str  # the action or the process
    parameters: dict[str, Any] = {}
    timeout_s: float | None = None  # what is left of the time for the goal
    by: str = ""  # the model, or the person as the hub authenticated them
    note: str = ""


class StepUnclaimed(Event, frozen=True, kw_only=True, tag="step.unclaimed"):
    """Nobody can take this step at the moment; it waits, or fails by its timeout."""

    belongs = ("execution", "execution_id")
    routing = "action"

    execution_id: str
    step_id: str
    action: str
    waited_s: float  # since it was asked for; 0 where nobody subscribed to it


class StepCompleted(Event, frozen=True, kw_only=True, tag="step.completed"):
    """A step completed."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1
    result: dict[str, Any] = {}  # fits the action's announced result; large parts are blobs
    summary: str = ""  # one line for people


class StepFailed(Event, frozen=True, kw_only=True, tag="step.failed"):
    """A try of a step failed."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    error: str  # one line: what is, what was expected, what to do
    attempt: int = 1
    # "timeout", "interrupted", "refused", "masked", "wrong_answer", "budget", "missing" (tools),
    # "gate" (it did not pass), "given_up" (a goal)
    kind: str = "failed"
    retry: bool = True  # False where trying again cannot help
    excerpt: str = ""  # the most informative output; the next attempt sees it


class StepSkipped(Event, frozen=True, kw_only=True, tag="step.skipped"):
    """A step was not carried out, and that is in order."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    reason: str


class StepSettle(Event, frozen=True, kw_only=True, tag="step.settle"):
    """Ask a paused or halted execution to go on with a step skipped, or with a result for it.

    It is followed whole or refused whole. Gates are asked as ever, over the new result.
    """

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    outcome: str  # "skipped" or "replaced"
    result: dict[str, Any] = {}  # as the step declares it, where it is replaced
    note: str = ""
    from_step: str = ""  # go back to this step; "" continues where it is
    seen: int = 0  # as in `execution.resume`


class StepSettled(Event, frozen=True, kw_only=True, tag="step.settled"):
    """A person said what becomes of a step in place of whoever carries it out.

    Of a step that is done the result counts at once; of another `step.skipped` or `step.completed`
    follows once its gates have passed.
    """

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    outcome: str  # "skipped" or "replaced"
    by: str  # who said it, as the hub authenticated them
    result: dict[str, Any] = {}
    note: str = ""


class StepReopened(Event, frozen=True, kw_only=True, tag="step.reopened"):
    """The execution goes back to a step: what it and the steps after it gave is dropped."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str  # the step at which it continues
    dropped: tuple[str, ...]  # the steps whose status and result count no more
    by: str = ""  # the step whose `on_failure` says so; "" where a person does
    times: int = 0  # how often that step went back, this time included
    reason: str = ""
    leaving: tuple[str, ...] = ()  # executions that are asked to end; it goes on once they have


class StepDelegated(Event, frozen=True, kw_only=True, tag="step.delegated"):
    """A step, or one item of it, is carried out by a child execution; how that ends settles it."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1
    child: str  # execution_id of the child
    purpose: str = "step"  # "step", "item" of one, or "cleanup" after the step failed
    item: int = 0  # which item of the list, or branch, from 1; 0 where it is the step as a whole
    max_cost: float | None = None  # US dollars that the item may spend of what is left for all


class StepFanned(Event, frozen=True, kw_only=True, tag="step.fanned"):
    """A step that works on several items at once begins: `for_each:` or `parallel:`."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1
    items: int  # how many there are
    at_once: int  # how many of them are carried out at the same time, at most
    branches: tuple[str, ...] = ()  # the steps of `parallel:`; none for `for_each:`


class StepItemChanged(Event, frozen=True, kw_only=True, tag="step.item_changed"):
    """An item of a step stands, goes on, or is over; its own execution says more."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1
    item: int  # which, from 1
    child: str = ""  # execution_id of the item; "" where it was not begun
    # "paused", "halted", "resuming" where it was asked to go on, "running" again, "ending" where
    # its step goes on without it; or over: "completed", "failed", "skipped".
    status: str
    result: dict[str, Any] = {}  # of a completed item
    bytes: int = 0  # of that result, encoded
    reason: str = ""  # why it failed or stands
    question: str = ""  # what a person is asked
    gate: str = ""  # "process/gate" that asks it
    max_cost: float | None = None  # US dollars, where it may spend another amount from now on


class StepWake(Event, frozen=True, kw_only=True, tag="step.wake"):
    """Ask an execution to look at a step again: a recorded deadline of it came."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    attempt: int = 1  # the attempt that the deadline is about
    # "timeout" or "budget" of an attempt, "retry" after one, "model" to be asked again, "tools"
    # that did not answer, "gate", "request", or "offers" of servers that had not said theirs yet.
    what: str = "timeout"
    # Of the gate, in its step or process, whose `attempt` it then is; for "model" how often it was
    # asked, for "tools" how many calls are open, for "offers" how often it was looked.
    index: int = 0
    turn: int = 0  # for "model" and "tools"


class StepProgress(Ephemeral, frozen=True, kw_only=True, tag="step.progress"):
    """How far a step has come; not in the log."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    note: str
    fraction: float | None = None  # 0 to 1, if it is known


class StepClaimed(Ephemeral, frozen=True, kw_only=True, tag="step.claimed"):
    """A worker took a step; not in the log."""

    belongs = ("execution", "execution_id")

    execution_id: str
    step_id: str
    worker: str
