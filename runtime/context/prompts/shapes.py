"""The shapes in which endpoints take a prompt, with breakpoints where its stretches end.

Every byte of the prompt is in each shape exactly once, in the same order but for the tools, which
endpoints want apart. Blocks end where an earlier prompt of the same step may have ended: endpoints
compare whole blocks, so that a history in one block would never be found again.
"""

import re
from typing import Any, Final, NamedTuple

from .parts import Parts, lines_of, split
from .passages import CLOSINGS, heading_of, opens

_TURN = re.compile(r'<\w+ id="turn:(\d+)')
BREAKPOINT: Final = {"cache_control": {"type": "ephemeral"}}


class TextBlock(NamedTuple):
    """A stretch of a prompt that an endpoint compares as one."""

    text: str
    breakpoint: bool  # whether an endpoint should keep what ends here


def blocks_of(user: str) -> tuple[TextBlock, ...]:
    """The part of a prompt behind its stable part, in blocks: epochs, the history, the rest.

    Of the history each turn and each item is a block: an earlier prompt may have ended there.

    A breakpoint stands where the epoch stretch ends and where the history ends.
    """
    texts: list[str] = [""]
    marks: list[int] = []
    fenced, in_history, done = False, False, False
    turn: str | None = None  # of the item before in the history; "" where it is of none
    for line in lines_of(user):
        bare = line.rstrip("\n")
        if fenced:
            fenced = bare not in CLOSINGS
        elif heading := heading_of(bare):
            ends = in_history or heading in ("history", "step")
            if ends and not done:
                _close(texts, marks)
            done = done or in_history or heading == "step"
            in_history = heading == "history"
        else:
            fenced = opens(bare)
            if in_history and fenced:
                turn, before = _turn_of(bare), turn
                # Two items of one turn stand together; others may be what a prompt ended with.
                another = turn != before if turn else before is not None
                if another:
                    _close(texts, [])
        texts[-1] += line
    return tuple(TextBlock(text, at in marks) for at, text in enumerate(texts) if text)


def _turn_of(opening: str) -> str:
    found = _TURN.match(opening)
    return found[1] if found else ""


def _close(texts: list[str], marks: list[int]) -> None:
    if texts[-1]:
        marks.append(len(texts) - 1)
        texts.append("")


def anthropic_shape(text: str) -> dict[str, Any]:
    """System, tools and messages as Anthropic takes them, with at most four breakpoints."""
    parts = split(text)
    body: dict[str, Any] = {
        "messages": [{"role": "user", "content": anthropic_content(parts)}],
    }
    if parts.system and parts.user:
        body["system"] = [{"type": "text", "text": parts.system, **BREAKPOINT}]
    if parts.tools:
        *others, last = [_anthropic_tool(tool) for tool in parts.tools]
        body["tools"] = [*others, {**last, **BREAKPOINT}]
    return body


def anthropic_content(parts: Parts) -> str | list[dict[str, Any]]:
    """What the user says; in blocks where there may be another turn to read them again."""
    blocks = blocks_of(parts.user)
    if not parts.tools or len(blocks) < 2:
        return parts.user or parts.system  # one prompt: what is written to a cache is never read
    return [
        {"type": "text", "text": block.text, **(BREAKPOINT if block.breakpoint else {})}
        for block in blocks
    ]


def openai_shape(text: str) -> dict[str, Any]:
    """Messages and tools as OpenAI takes them; it keeps prefixes without being told where."""
    parts = split(text)
    said = (("system", parts.system), ("user", parts.user))
    body: dict[str, Any] = {
        "messages": [{"role": role, "content": each} for role, each in said if each]
    }
    if parts.tools:
        body["tools"] = [{"type": "function", "function": tool} for tool in parts.tools]
    return body


def _anthropic_tool(tool: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": tool["name"],
        "description": tool["description"],
        "input_schema": tool["parameters"],
    }
