"""The failures of earlier attempts, as material for the next one."""

from typing import Any, Final

import msgspec

from cortex.bus.events import ContextCompile
from cortex.runtime.context import Item, cut_middle

FAILURES_CHARS: Final = 6_000  # of all of them; usually a character needs at most one token
ERROR_CHARS: Final = 1_000
EVIDENCE_CHARS: Final = 600  # of a gate
LEAST_CHARS: Final = 200  # of an attempt's output; less is not worth the room


def failure_items(asked: ContextCompile, history_tokens: int) -> tuple[Item, ...]:
    """An item for each earlier attempt, oldest first; the newest keep most of their output.

    Each is required: a model that does not know its error repeats it. They take at most
    half of *history_tokens*.
    """
    free = min(FAILURES_CHARS, history_tokens // 2)
    items: list[Item] = []
    for number, failure in reversed(list(enumerate(asked.failures, 1))):
        text = _said(failure, free)
        if len(text) > free:
            break
        free -= len(text)
        items.append(_item(number, failure, text))
    left = len(asked.failures) - len(items)
    if left and items:
        note = f"{left} earlier tries failed, too"
        items.append(Item(id="failures", section="history", kind="failure", text=note))
    return tuple(reversed(items))


def _said(failure: dict[str, Any], free: int) -> str:
    error = cut_middle(str(failure.get("error") or ""), min(ERROR_CHARS, max(free // 2, 1)))
    text = f"{_what(failure)}: {error}"
    if evidence := failure.get("evidence"):
        written = msgspec.json.encode(evidence).decode()
        text += f"\n{written}" if len(written) <= EVIDENCE_CHARS else ""
    excerpt, room = str(failure.get("excerpt") or "").strip("\n"), (free - len(text)) * 2 // 3
    if excerpt and room >= LEAST_CHARS:
        text = f"{text}\n{cut_middle(excerpt, room)}"
    return text


def _what(failure: dict[str, Any]) -> str:
    step, attempt, kind = (failure.get(name, "") for name in ("step", "attempt", "kind"))
    match kind:
        case "gate":
            return f"The gate {failure.get('gate', '')} of {step} did not pass"
        case "result":
            return f"The result of {step} was dropped"
        case _:
            return f"Attempt {attempt} of {step} failed ({kind})"


def _item(number: int, failure: dict[str, Any], text: str) -> Item:
    return Item(
        id=f"failure:{number}",
        section="history",
        kind="failure",
        text=text,
        source=str(failure.get("step", "")),
        must_include=True,
    )
