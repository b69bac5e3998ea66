"""`cortex execution resume`, `break`, `edit` and `approve`: continue, and change what comes."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import IO

import click
from msgspec.structs import replace

from cortex.bus import connect
from cortex.bus.events import ExecutionBreak, ExecutionEdit, ExecutionResume, StepSettle
from cortex.runtime.access import read_token
from cortex.runtime.kernel import Home
from cortex.runtime.serving import hub_of
from cortex.runtime.sessions import (
    Session,
    answer_gate,
    edited_inputs,
    mask_of,
    pairs_of,
    prompt_edit,
    refuse_secrets,
    replaced,
    settlement_of,
    steering,
    step_settlement,
)

from ..completing import with_execution
from ..exits import OK, WAITING, exit_code
from ..options import DOLLARS, FILE_THERE, at_home, with_note
from ..screen import Screen
from ..terminal import edited_text, has_person, input_text, open_session


@click.command()
@with_execution
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
@click.option("--step", "stepping", is_flag=True, help="Pause again before the next step.")
@with_note
@at_home
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
    stepping: bool,
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

    With --step it carries out one step, and pauses before the next one as at a breakpoint; a step
    that asks a model pauses with its prompt. It does not pause in a child execution, nor in items.
    """
    edits = bool(inputs) or max_cost is not None
    _refuse_mixtures(
        (approve, deny, text, result is not None, again), (edits, skip, given), from_step
    )
    if stepping and (text or result is not None or again):
        raise click.UsageError("--step goes with no --answer, --it-happened or --do-it-again")
    text = input_text() if text == "-" else text
    with open_session(home, screen) as session:
        found = session.known(execution_id)
        if result is not None or again:
            return _settle_effect(session, found, result, note)
        if edits or skip or given:
            change = (
                _edit(session, found, pairs_of(inputs, "NAME"), max_cost)
                if edits
                else _settlement(session, found, skip, given)
            )
            change = replace(change, note=note, from_step=from_step, stepping=stepping)
            return _go_on_with(session, change, home)
        answer = "approved" if approve else "denied" if deny else text
        event = ExecutionResume(
            execution_id=found, answer=answer, note=note, from_step=from_step, stepping=stepping
        )
        return exit_code(steering.resume(session, event))


@click.command()
@with_execution
@click.option(
    "--file",
    "whole",
    type=click.File(encoding="utf-8"),
    help="The whole new prompt; - reads standard input.",
)
@click.option(
    "--replace",
    "pairs",
    type=(str, str),
    multiple=True,
    metavar="OLD NEW",
    help="Replace OLD, which must occur once, by NEW.",
)
@with_note
@at_home
def edit(
    execution_id: str,
    whole: IO[str] | None,
    pairs: tuple[tuple[str, str], ...],
    note: str,
    home: Home,
    screen: Screen,
) -> int:
    """Change the prompt that a breakpoint shows.

    `resume` then sends it. Without --file and --replace, the command opens it in your editor.
    Cortex records your change with your name, compiles the prompt again with it, and shows it
    again. You cannot change headings, the lines that open and close a quotation, tools and masked
    secrets. Later prompts of the step have the change, too.
    """
    if whole and pairs:
        raise click.UsageError("give --file or --replace, not both")
    with open_session(home, screen) as session:
        event = prompt_edit(
            session.history,
            session.known(execution_id),
            lambda before: _edited(before, whole, pairs),
            mask_of(home),
            seen=session.seen,
            note=note,
        )
        code = exit_code(steering.edit(session, event))
    return OK if code == WAITING else code


@click.command(name="break")
@with_execution
@click.argument("steps", metavar="STEP...", nargs=-1, required=True)
@click.option("--remove", is_flag=True, help="Pause before these steps no more.")
@with_note
@at_home
def break_(
    execution_id: str, steps: tuple[str, ...], remove: bool, note: str, home: Home, screen: Screen
) -> int:
    """Pause before steps, or no longer.

    The execution may run meanwhile. STEP is a step of the process, or an action that may be chosen
    towards its goal. --remove also removes a breakpoint of the process (`breakpoint: true`), for
    this execution. Cortex records the change with your name. `cortex debug` shows the breakpoints,
    and what waits at one.
    """
    with open_session(home, screen) as session:
        event = ExecutionBreak(
            execution_id=session.known(execution_id),
            add=() if remove else steps,
            remove=steps if remove else (),
            note=note,
        )
        found, ending = steering.set_breakpoints(session, event)
        if ending is not None:
            return exit_code(ending)
    screen.document(found)
    told = ", ".join(found.breakpoints)
    screen.line(f"pauses before {told}" if told else "it has no breakpoints any more")
    return OK


@click.command()
@with_execution
@click.option("--deny", is_flag=True, help="Answer the question with no.")
@click.option(
    "--token-file",
    "path",
    type=FILE_THERE,
    required=True,
    metavar="FILE",
    help="File with the token of the client that answers; only its owner may read it.",
)
@click.option("--url", default="", help="The hub's address [default: the home's own hub].")
@with_note
@at_home
def approve(
    execution_id: str, deny: bool, path: Path, url: str, note: str, home: Home, screen: Screen
) -> None:
    """Answer a gate as the client whose token you have.

    It answers the gate at which the execution waits. `resume --approve` answers as the owner of the
    home; use this command for a gate that does not accept the owner's answer. (A gate may say who
    may answer, and may exclude the requester of the execution.) The client needs
    `--approve PROCESS/GATE`, and `--read` and `--subscribe` of 'execution.*' and 'gate.*'.
    """
    answer, style = ("denied", "yellow") if deny else ("approved", "green")
    with closing(connect(url or hub_of(home).url, token=read_token(path))) as client:
        document = answer_gate(client, execution_id, answer, note)
    screen.document(document)
    screen.line(document.question)
    screen.line(f"{answer} by {document.by}", style)


def _refuse_mixtures(answers: Sequence[object], changes: Sequence[object], from_step: str) -> None:
    """Check that a resume names one change only.

    Raises:
        click.UsageError: It names several.
    """
    if sum(map(bool, (*answers, from_step))) > 1:
        raise click.UsageError(
            "give one of --approve, --deny, --answer, --it-happened, --do-it-again and --from"
        )
    if any(changes) and any(answers):
        raise click.UsageError("answer what is asked first, then say what is to be changed")
    if sum(map(bool, changes)) > 1:
        raise click.UsageError("give one of --skip, --result, and -i with --max-cost")


def _settle_effect(session: Session, execution_id: str, result: str | None, note: str) -> int:
    """Go on after an effect of unknown end: it gave *result*, or with None is started again."""
    gave = input_text() if result == "-" else result
    said = settlement_of(session.client, session.history, execution_id, gave, session.seen)
    return exit_code(session.run(execution_id, replace(said, note=note)))


def _go_on_with(session: Session, change: ExecutionEdit | StepSettle, home: Home) -> int:
    """Go on with what a person changed, if it holds no secret."""
    holds = change.inputs if isinstance(change, ExecutionEdit) else change.result
    refuse_secrets(holds, mask_of(home))
    return exit_code(steering.edit(session, replace(change, seen=session.seen)))


def _edit(
    session: Session, execution_id: str, pairs: dict[str, str], max_cost: float | None
) -> ExecutionEdit:
    """Other inputs for an execution, or more to spend."""
    inputs = edited_inputs(session.history, execution_id, pairs)
    return ExecutionEdit(execution_id=execution_id, inputs=inputs, max_cost=max_cost)


def _settlement(session: Session, execution_id: str, skip: str, given: str) -> StepSettle:
    """That a step is skipped, or gave a result."""
    said = pairs_of((given,), "STEP") if given else {skip: None}
    ((step_id, result),) = said.items()
    return step_settlement(session.client, session.history, execution_id, step_id, result)


def _edited(before: str, whole: IO[str] | None, pairs: tuple[tuple[str, str], ...]) -> str:
    """The prompt after the edit.

    Raises:
        click.UsageError: No new text was given.
        RefusedError: Nothing was saved in the editor.
    """
    if whole is not None:
        try:
            return whole.read()
        except ValueError:
            raise click.UsageError(f"{whole.name} is not UTF-8") from None
    if pairs or not before:
        return replaced(before, pairs)
    if not has_person():
        raise click.UsageError("say what to change: --replace OLD NEW, or --file FILE")
    return edited_text(before)
