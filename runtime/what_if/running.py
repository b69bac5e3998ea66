"""Runs a what-if as an execution of its own: kill it, and it goes on from its events."""

from collections.abc import Callable

from msgspec.structs import replace

from cortex.bus import Client
from cortex.bus.events import ExecutionRequest
from cortex.runtime.executions import Execution, fork_request, run_request
from cortex.runtime.executions.view import History
from cortex.runtime.kernel import Config, RefusedError

from .changes import Changes, WhatIf, prepared, with_request
from .plans import Plan


def request_of(
    what_if: WhatIf, new_id: Callable[[], str], breaks: tuple[str, ...] = ()
) -> ExecutionRequest:
    """The request for *what_if*."""
    request = fork_request(
        what_if.started,
        what_if.from_step,
        new_id,
        breakpoints=breaks,
        variation=what_if.variation,
        subject=what_if.subject,
    )
    return replace(request, inputs=what_if.inputs)


def agreed(
    what_if: WhatIf, plan: Plan, put: Callable[[bytes], str], *, budget: float | None, allow: bool
) -> WhatIf:
    """*what_if*, now that a person agreed to *plan*.

    Args:
        what_if: As it was planned.
        plan: Its prompts are sent without another question.
        put: Stores a blob in the home, and returns its digest.
        budget: US dollars for everything that is sent; None: a person is asked about each later
            prompt.
        allow: Whether effects that are not on record happen without a question.

    Raises:
        RefusedError: The plan costs more than *budget*, or nobody knows what it costs.
    """
    left = budget
    if budget is not None:
        most = plan.most
        if most is None:
            raise RefusedError(
                "the price of a planned prompt is not known, so that no budget can bound it: "
                "leave the budget out, or set the model's price_input and price_output"
            )
        if most > budget:
            raise RefusedError(
                f"the planned prompts may cost ${most:.4f}, and the budget is ${budget:.4f}: "
                "nothing was sent"
            )
        left = budget - most
    places = sorted({each.within for each in plan.prompts})
    prompts = {
        place: tuple(each.prompt for each in plan.prompts if each.within == place)
        for place in places
    }
    return with_request(
        what_if,
        prompts=prompts.pop("", ()),
        within=prompts,
        budget=left,
        allow=allow,
        linked=put(what_if.other) if what_if.other else "",
    )


def what_if(
    client: Client,
    history: History,
    config: Config,
    execution_id: str,
    changes: Changes,
    *,
    agree: Callable[[Plan], bool],
    budget: float | None = None,
    allow: bool = False,
    timeout_s: float = 600.0,
) -> Execution:
    """Run an execution again with *changes*, and wait until that is over, halted or paused.

    Only prompts that are not on record are sent. Everything else is answered from the record.

    Args:
        client: A client of the home's owner.
        history: Of the home, open.
        config: Of the home.
        execution_id: The execution that it is about; it does not change.
        changes: What is other than it was.
        agree: Gets the plan, and returns whether its prompts are to be sent. It is not asked if
            there are none.
        budget: US dollars for everything that is sent; None: the what-if pauses before each
            prompt that was not planned.
        allow: Whether effects that are not on record happen; otherwise the what-if pauses.
        timeout_s: How long to wait here; the what-if itself continues.

    Returns:
        The new execution as it then stands.

    Raises:
        RefusedError: It cannot run, or *agree* returned False; nothing was recorded.
        AskTimeoutError: It has not come to a stop in time.
        CortexError: As `prepared` and `plan_of` raise.
    """
    from .planning import plan_of  # which needs the request that is made here

    asked = prepared(history, execution_id, changes)
    plan = plan_of(history, config, asked)
    ready = agreed(asked, plan, history.blobs.put, budget=budget, allow=allow)
    if plan.prompts and not agree(plan):
        raise RefusedError("nobody agreed to send the prompts: nothing was sent")
    return run_request(client, request_of(ready, client.new_id), timeout_s)
