"""Changes the text of a prompt at a breakpoint."""

from collections.abc import Callable, Iterable

from cortex.bus import serving
from cortex.bus.events import ContextEdit
from cortex.runtime.context import EditUnfitError, prompt_text
from cortex.runtime.executions import Execution, edit_prompt
from cortex.runtime.executions.view import History, waiting_child
from cortex.runtime.kernel import RefusedError, many
from cortex.runtime.processes import SettlementError
from cortex.runtime.secrets import Mask

SHOWN_ITEMS = 5  # that are named
SHOWN_LETTERS = 60  # of a text that was not found


def prompt_edit(
    history: History,
    execution_id: str,
    edited: Callable[[str], str],
    mask: Mask,
    *,
    seen: int,
    note: str = "",
) -> ContextEdit:
    """The request that changes the prompt at an execution's breakpoint.

    Args:
        history: Of its home.
        execution_id: The execution, or one that waits for it.
        edited: Makes the whole new text from the present one.
        mask: Hides secrets.
        seen: Log position up to which the person can have read.
        note: Why, for the record.

    Raises:
        RefusedError: There is no such prompt, or it cannot be changed so.
    """
    state = _standing(history, execution_id)
    if state.over:
        raise RefusedError(f"execution {execution_id} is {state.status}: it sends no more prompts")
    before = prompt_text(history.blobs.get(state.compiled.prompt)) if state.compiled else ""
    try:
        text = edited(before)
        with serving(history.subject_of(state.execution_id)):
            event = edit_prompt(history.blobs, state, text, seen=seen, note=note)
    except (EditUnfitError, SettlementError) as error:
        raise RefusedError(str(error)) from None
    if any(mask.text(each["new"]) != each["new"] for each in event.edits):
        raise RefusedError("the new text holds a secret, which is neither recorded nor sent")
    return event


def replaced(text: str, pairs: Iterable[tuple[str, str]]) -> str:
    """*text* with the first text of each of *pairs* replaced by the second.

    Raises:
        EditUnfitError: A first text does not occur exactly once.
    """
    for old, new in pairs:
        times = text.count(old) if old else 0
        if times != 1:
            more = f"occurs {many(times, 'time')}: give more of the text around it"
            there = more if times else "does not occur"
            raise EditUnfitError("the prompt", f"{old[:SHOWN_LETTERS]!r} {there}")
        text = text.replace(old, new)
    return text


def _standing(history: History, execution_id: str) -> Execution:
    """The execution at a breakpoint: this one, or the child that it waits for.

    Raises:
        RefusedError: Several items of it are stopped.
    """
    state = history.execution(execution_id)
    while inner := waiting_child(state):
        state = history.execution(inner)
    if state.fan is not None:
        standing = [child for child, live in state.fan.live.items() if live.stands]
        shown = ", ".join(standing[:SHOWN_ITEMS])
        if standing:
            raise RefusedError(
                f"{len(standing)} items of {state.step_id} wait, each with its own prompt: "
                f"edit that of one of them ({shown}{', ...' * (len(standing) > SHOWN_ITEMS)})"
            )
    return state
