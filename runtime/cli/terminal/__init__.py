"""The terminal of a command: progress as it comes, the keyboard, and questions to a person."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .debugging import show_debug
    from .front import Terminal, open_session
    from .keyboard import Interrupts, Keyboard, told_to_end, wait_for
    from .live import LiveView, health_pictures
    from .people import (
        answer_to,
        asked_for_trust,
        edited_text,
        has_person,
        input_text,
        show_acting,
        trusted_when_asked,
        written_answer,
    )
    from .waterfall import waterfall_lines
else:
    lazily(__name__)

__all__ = [
    "Interrupts",
    "Keyboard",
    "LiveView",
    "Terminal",
    "answer_to",
    "asked_for_trust",
    "edited_text",
    "has_person",
    "health_pictures",
    "input_text",
    "open_session",
    "show_acting",
    "show_debug",
    "told_to_end",
    "trusted_when_asked",
    "wait_for",
    "waterfall_lines",
    "written_answer",
]
