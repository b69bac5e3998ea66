"""Other text in the prompt that a breakpoint shows."""

from collections.abc import Callable, Iterable

from cortex.bus.events import ContextEdit
from cortex.runtime.context import EditUnfitError
from cortex.runtime.executions import Execution, edit_prompt
from cortex.runtime.executions.view import History, waiting_child
from cortex.runtime.kernel import RefusedError, many
from cortex.runtime.processes import SettlementError
from cortex.runtime.secrets import Mask

SHOWN_ITEMS = 5  # that are named
SHOWN_LETTERS = 60  # of a text that does not stand there


def prompt_edit(
    history: History,
    execution_id: str,
    edited: Callable[[str], str],
    mask: Mask,
    *,
    seen: int,
    note: str = "",
) -> ContextEdit:
    """The request that changes the prompt at whose breakpoint an execution stands.

    Args:
        history: Where it is recorded.
        execution_id: The execution, or one that waits for it.
        edited: Gives the whole new text, from the present one.
        mask: Hides what is secret.
        seen: Position up to which the person can have read.
        note: Why, for the record.

    Raises:
        RefusedError: There is no such prompt, or it cannot be changed so.
    """
    state = _standing(history, execution_id)
    if state.over:
        raise RefusedError(f"execution {execution_id} is {state.status}: it sends no more prompts")
    before = history.blobs.get(state.compiled.prompt).decode() if state.compiled else ""
    try:
        text = edited(before)
        event = edit_prompt(history.blobs, state, text, seen=seen, note=note)
    except (EditUnfitError, SettlementError) as error:
        raise RefusedError(str(error)) from None
    if any(mask.text(each["new"]) != each["new"] for each in event.edits):
        raise RefusedError("the new text holds a secret, which is neither recorded nor sent")
    return event


def replaced(text: str, pairs: Iterable[tuple[str, str]]) -> str:
    """*text* with each first one of *pairs* replaced by its second one.

    Raises:
        EditUnfitError: One does not stand there exactly once.
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
    """The execution, that or the child that it waits for, which stands at a breakpoint.

    Raises:
        RefusedError: Several items of it stand.
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
