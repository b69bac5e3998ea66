"""Prompts after the compile: edited by people, stored, and parsed from texts."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .editing import Edits, edits_between
    from .inputs import Inputs, compiler_of_inputs, keep_inputs, read_inputs
    from .passages import Passage, ReadPrompt, ShownTexts, passages_of, shown_texts
    from .texts import prompt_text, read_prompt, read_text
else:
    lazily(__name__)

__all__ = [
    "Edits",
    "Inputs",
    "Passage",
    "ReadPrompt",
    "ShownTexts",
    "compiler_of_inputs",
    "edits_between",
    "keep_inputs",
    "passages_of",
    "prompt_text",
    "read_inputs",
    "read_prompt",
    "read_text",
    "shown_texts",
]
