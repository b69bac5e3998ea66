"""A runtime inside a command: sources compiled, executions followed, people asked."""

from .checks import Check, checks_of
from .inputs import inputs_of, pairs_of, refuse_wrong, scalar, typed
from .people import answer_to, has_person, new_id, user_name
from .registry import registry_of, topics_of
from .rehearsal import DryRunDocument, GateReport, Rehearsal, StepReport, stage_of
from .shelf import open_shelf
from .sources import Sources, changed, gone, is_path, source_at, sources_of
from .station import Station
from .submission import Submitted, submit

__all__ = [
    "Check",
    "DryRunDocument",
    "GateReport",
    "Rehearsal",
    "Sources",
    "Station",
    "StepReport",
    "Submitted",
    "answer_to",
    "changed",
    "checks_of",
    "gone",
    "has_person",
    "inputs_of",
    "is_path",
    "new_id",
    "open_shelf",
    "pairs_of",
    "refuse_wrong",
    "registry_of",
    "scalar",
    "source_at",
    "sources_of",
    "stage_of",
    "submit",
    "topics_of",
    "typed",
    "user_name",
]
