"""A runtime inside a command: sources compiled, executions followed, people asked."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .ending import told_to_end, wait_for
    from .goal_actions import ActionItem, actions_of
    from .goals import (
        NO_CHECKOUT,
        NO_MODEL,
        goal_at_hand_of,
        goal_step,
        is_in_checkout,
        most_of,
        proposal,
    )
    from .home_processes import open_shelf
    from .inputs import (
        edited_inputs,
        inputs_of,
        mask_of,
        pairs_of,
        refuse_breaks,
        refuse_secrets,
        refuse_wrong,
        scalar,
        typed,
    )
    from .keyboard import Interrupts, Keyboard, Terminated
    from .live import LiveView
    from .people import answer_to, has_person, input_text, written_answer
    from .progress import Progress, in_order
    from .session import Session
    from .trusting import asked_for_trust, show_acting, trusted_when_asked
    from .untaken import untaken_action, waiting_for
else:
    lazily(__name__)

__all__ = [
    "NO_CHECKOUT",
    "NO_MODEL",
    "ActionItem",
    "Interrupts",
    "Keyboard",
    "LiveView",
    "Progress",
    "Session",
    "Terminated",
    "actions_of",
    "answer_to",
    "asked_for_trust",
    "edited_inputs",
    "goal_at_hand_of",
    "goal_step",
    "has_person",
    "in_order",
    "input_text",
    "inputs_of",
    "is_in_checkout",
    "mask_of",
    "most_of",
    "open_shelf",
    "pairs_of",
    "proposal",
    "refuse_breaks",
    "refuse_secrets",
    "refuse_wrong",
    "scalar",
    "show_acting",
    "told_to_end",
    "trusted_when_asked",
    "typed",
    "untaken_action",
    "wait_for",
    "waiting_for",
    "written_answer",
]
