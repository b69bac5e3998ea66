"""Parts of an execution as a line each: a context, what its models said, what was chosen."""

from cortex.runtime.kernel import many
from cortex.runtime.models import dollars

from .chosen import Chosen
from .results import brief_value
from .summary import CompiledContext, Dialogue


def context_line(context: CompiledContext) -> str:
    """A compiled context in a line: tokens by section, and the bound they had to keep."""
    sections = ", ".join(
        f"{name} {tokens:,}" for name, tokens in context.sections.items() if tokens
    )
    return (
        f"context of {context.step}: {many(context.tokens, 'token')} ({sections}), "
        f"window {context.window:,}, model {context.model}"
    )


def dialogue_line(dialogue: Dialogue) -> str:
    """What passed between a step and its models in a line."""
    parts = [many(dialogue.turns, "turn")]
    if dialogue.retries:
        parts.append(f"{many(dialogue.calls, 'call')} ({dialogue.retries} to ask again)")
    if dialogue.tools:
        used = ", ".join(f"{name} {count}" for name, count in dialogue.tools.items())
        failed = f", {dialogue.tools_failed} failed" if dialogue.tools_failed else ""
        parts.append(f"tools {used}{failed}")
    parts.append(dollars(dialogue.cost))
    return f"models of {dialogue.step}: {', '.join(dialogue.models)}; {'; '.join(parts)}"


def chosen_line(chosen: Chosen) -> str:
    """Something that was chosen towards a goal, with its parameters and what came of it."""
    given = " ".join(f"{name}={brief_value(value)}" for name, value in chosen.parameters.items())
    told = f": {chosen.said}" if chosen.said else ""
    return f"{chosen.action} {given}".rstrip() + told
