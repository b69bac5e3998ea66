"""Prompts after the compile: read back, edited by people, in the shapes of endpoints, kept."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .editing import Edits, edits_between
    from .inputs import Inputs, keep_inputs, read_inputs
    from .parts import Parts, split
    from .passages import Passage, ReadPrompt, ShownTexts, read_prompt, shown_texts
    from .shapes import TextBlock, anthropic_content, anthropic_shape, blocks_of, openai_shape
else:
    lazily(__name__)

__all__ = [
    "Edits",
    "Inputs",
    "Parts",
    "Passage",
    "ReadPrompt",
    "ShownTexts",
    "TextBlock",
    "anthropic_content",
    "anthropic_shape",
    "blocks_of",
    "edits_between",
    "keep_inputs",
    "openai_shape",
    "read_inputs",
    "read_prompt",
    "shown_texts",
    "split",
]
