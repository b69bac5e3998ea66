"""A runtime inside a command: sources compiled, executions followed, people asked."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .ailments import Ailments
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
    from .registry import (
        announced_elsewhere,
        knowledge_roots,
        knowledge_topics,
        listed_tools,
        preferred_for,
        symbols_of,
        topics_of,
    )
    from .rehearsal import DryRunDocument, GateReport, Rehearsal, StepReport, stage_of
    from .settlements import settlement_of, step_settlement
    from .shelf import open_shelf
    from .source_gates import gates_of_sources
    from .sources import changed, gone, is_path, source_at, sources_of
    from .station import Station
    from .tally import Tally
    from .telling import Teller, Told
    from .trusting import asked_for_trust, show_acting, trusted_when_asked
    from .untaken import untaken_action, waiting_for
else:
    lazily(__name__)

__all__ = [
    "NO_CHECKOUT",
    "NO_MODEL",
    "ActionItem",
    "Ailments",
    "DryRunDocument",
    "GateReport",
    "Interrupts",
    "Keyboard",
    "LiveView",
    "Progress",
    "Rehearsal",
    "Station",
    "StepReport",
    "Tally",
    "Teller",
    "Terminated",
    "Told",
    "actions_of",
    "announced_elsewhere",
    "answer_to",
    "asked_for_trust",
    "changed",
    "edited_inputs",
    "gates_of_sources",
    "goal_at_hand_of",
    "goal_step",
    "gone",
    "has_person",
    "in_order",
    "input_text",
    "inputs_of",
    "is_in_checkout",
    "is_path",
    "knowledge_roots",
    "knowledge_topics",
    "listed_tools",
    "mask_of",
    "most_of",
    "open_shelf",
    "pairs_of",
    "preferred_for",
    "proposal",
    "refuse_breaks",
    "refuse_secrets",
    "refuse_wrong",
    "scalar",
    "settlement_of",
    "show_acting",
    "source_at",
    "sources_of",
    "stage_of",
    "step_settlement",
    "symbols_of",
    "told_to_end",
    "topics_of",
    "trusted_when_asked",
    "typed",
    "untaken_action",
    "wait_for",
    "waiting_for",
    "written_answer",
]
