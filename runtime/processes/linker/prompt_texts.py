"""The texts of a process for the prompts of a step: its model's persona, and instructions."""

from typing import NamedTuple

from msgspec import UNSET, UnsetType

from ..syntax.definitions import ResolvedProcess, StepDefinition
from ..syntax.nodes import Reporter

KEYS = ("persona", "instructions")


class PromptTexts(NamedTuple):
    """The texts of one step; left out if there are none."""

    persona: str | UnsetType = UNSET
    instructions: str | UnsetType = UNSET


def prompt_texts(
    definition: StepDefinition, process: ResolvedProcess, reporter: Reporter, *, asks_model: bool
) -> PromptTexts:
    """The nearest persona, and all instructions, the general first.

    A step that asks no model has no prompt; if it has either text itself, that is reported.
    """
    if not asks_model:
        for key in KEYS:
            if key in definition.node.entries:
                message = f"`{key}:` has no effect: this step asks no model, and has no prompt"
                reporter.report("P221", message, definition.node.entries[key][0])
        return PromptTexts()
    persona = (definition.persona or process.persona).strip()
    texts = (*process.instructions, definition.instructions or "")
    instructions = "\n".join(filter(None, map(str.strip, texts)))
    return PromptTexts(persona or UNSET, instructions or UNSET)
