"""A home as a program works with it: its hub or a runtime, its sources, and rehearsals."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .ailments import Ailments, listen
    from .errors import RejectedError, WaitingError
    from .home_registry import (
        announced_elsewhere,
        knowledge_roots,
        knowledge_topics,
        listed_tools,
        moved,
        preferred_for,
        symbols_of,
        topics_of,
    )
    from .open_home import OpenHome, opened_home
    from .rehearsal import DryRunDocument, GateReport, Rehearsal, StepReport, stage_of
    from .rejections import by_file, in_passing, refuse_older, standing, stands_in_the_way
    from .settlements import (
        refuse_step,
        refuse_unanswered,
        refuse_unsettled,
        settlement_of,
        step_settlement,
    )
    from .source_gates import gates_of_sources
    from .sources import changed, gone, is_path, source_at, sources_of
else:
    lazily(__name__)

__all__ = [
    "Ailments",
    "DryRunDocument",
    "GateReport",
    "OpenHome",
    "Rehearsal",
    "RejectedError",
    "StepReport",
    "WaitingError",
    "announced_elsewhere",
    "by_file",
    "changed",
    "gates_of_sources",
    "gone",
    "in_passing",
    "is_path",
    "knowledge_roots",
    "knowledge_topics",
    "listed_tools",
    "listen",
    "moved",
    "opened_home",
    "preferred_for",
    "refuse_older",
    "refuse_step",
    "refuse_unanswered",
    "refuse_unsettled",
    "settlement_of",
    "source_at",
    "sources_of",
    "stage_of",
    "standing",
    "stands_in_the_way",
    "step_settlement",
    "symbols_of",
    "topics_of",
]
