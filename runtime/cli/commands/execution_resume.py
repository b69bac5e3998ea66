"""`cortex execution resume`: go on, with an answer, a change, or from an earlier step."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from cortex.bus.events import ExecutionEdit, ExecutionResume, StepSettle
from cortex.runtime import sessions  # not its names: what only reads gets along without a runtime
from cortex.runtime.kernel import Home

from .. import running  # as sessions
from ..amounts import DOLLARS
from ..completing import execution_ids
from ..options import with_home, with_screen
from ..screen import Screen

if TYPE_CHECKING:
    from ..running import Session


@click.command()
@click.argument("execution_id", metavar="EXECUTION", shell_complete=execution_ids)
@click.option("--approve", is_flag=True, help="Answer the question with yes.")
@click.option("--deny", is_flag=True, help="Answer the question with no.")
@click.option("--answer", "text", default="", metavar="TEXT", help="Answer in a model's place.")
@click.option(
    "--it-happened", "result", metavar="RESULT", help="The effect that began has this result."
)
@click.option("--do-it-again", "again", is_flag=True, help="Start the effect again.")
@click.option("--skip", default="", metavar="STEP", help="Continue without this step.")
@click.option(
    "--result", "given", default="", metavar="STEP=RESULT", help="Use this as the step's result."
)
@click.option("--from", "from_step", default="", metavar="STEP", help="Go back to this step.")
@click.option(
    "-i", "--input", "inputs", multiple=True, metavar="NAME=VALUE", help="Change an input."
)
@click.option("--max-cost", type=DOLLARS, metavar="USD", help="Set the cost limit to this.")
@click.option("--note", default="", help="Why, for the record.")
@with_home
@with_screen
def resume(
    execution_id: str,
    approve: bool,
    deny: bool,
    text: str,
    result: str | None,
    again: bool,
    skip: str,
    given: str,
    from_step: str,
    inputs: tuple[str, ...],
    max_cost: float | None,
    note: str,
    home: Home,
    screen: Screen,
) -> int:
    """Continue a paused, halted or interrupted execution.

    With --from it goes back to an earlier step: Cortex drops the results of that step and of all
    later ones, and runs them again. `--answer -` reads the answer from standard input.

    If a `once` effect began and nobody recorded how it ended, the execution asks. --it-happened
    uses RESULT (JSON, or text) as its result; --do-it-again starts it again.

    With -i and --max-cost it continues with other inputs, or may spend more; Cortex records that as
    your edit. Completed steps keep their results, unless --from runs them again.

    --skip continues without a step that is not done. --result uses RESULT (JSON, or text) as the
    result of a step, whether it is done or not; the gates of the current step are asked again.
    Cortex records both with your name and passes over no gate.
    """
    edits = bool(inputs) or max_cost is not None
    _refuse_mixtures(
        (approve, deny, text, result is not None, again), (edits, skip, given), from_step
    )
    text = running.input_text() if text == "-" else text
    with running.Session.open(home, screen) as session:
        found = session.known(execution_id)
        if result is not None or again:
            gave = running.input_text() if result == "-" else result
            said = sessions.settlement_of(
                session.client, session.history, found, gave, session.seen
            )
            return session.run(found, replace(said, note=note))
        if edits:
            changed = _edit(session, found, running.pairs_of(inputs, "NAME"), max_cost)
            running.refuse_secrets(changed.inputs, running.mask_of(home))
            return session.edit(found, replace(changed, note=note, from_step=from_step))
        if skip or given:
            settle = _settlement(session, found, skip, given)
            running.refuse_secrets(settle.result, running.mask_of(home))
            return session.edit(found, replace(settle, note=note, from_step=from_step))
        answer = "approved" if approve else "denied" if deny else text
        event = ExecutionResume(execution_id=found, answer=answer, note=note, from_step=from_step)
        return session.resume(found, event)


def _refuse_mixtures(answers: Sequence[object], changes: Sequence[object], from_step: str) -> None:
    """See that a resume says one thing.

    Raises:
        click.UsageError: It says several.
    """
    if sum(map(bool, (*answers, from_step))) > 1:
        raise click.UsageError(
            "give one of --approve, --deny, --answer, --it-happened, --do-it-again and --from"
        )
    if any(changes) and any(answers):
        raise click.UsageError("answer what is asked first, then say what is to be changed")
    if sum(map(bool, changes)) > 1:
        raise click.UsageError("give one of --skip, --result, and -i with --max-cost")


def _edit(
    session: "Session", execution_id: str, pairs: dict[str, str], max_cost: float | None
) -> ExecutionEdit:
    """Other inputs for an execution, or more to spend."""
    return ExecutionEdit(
        execution_id=execution_id,
        inputs=running.edited_inputs(session.history, execution_id, pairs),
        max_cost=max_cost,
        seen=session.seen,
    )


def _settlement(session: "Session", execution_id: str, skip: str, given: str) -> StepSettle:
    """That a step is skipped, or gave a result."""
    said = running.pairs_of((given,), "STEP") if given else {skip: None}
    ((step_id, result),) = said.items()
    client, history = session.client, session.history
    settle = sessions.step_settlement(client, history, execution_id, step_id, result)
    return replace(settle, seen=session.seen)
