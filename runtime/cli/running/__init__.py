"""A runtime inside a command: sources compiled, executions followed, people asked."""

from .checks import checks_of
from .endpoints import ModelCheck, check_model
from .findings import Check
from .inputs import inputs_of, pairs_of, refuse_wrong, scalar, typed
from .live import LiveView
from .people import answer_to, has_person, user_name, written_answer
from .progress import in_order
from .recorded import blobs_of
from .registry import registry_of, topics_of
from .rehearsal import DryRunDocument, GateReport, Rehearsal, StepReport, stage_of
from .shelf import open_shelf
from .sources import Sources, changed, gone, is_path, source_at, sources_of
from .station import Station
from .tally import Tally
from .telling import Teller, Told

__all__ = [
    "Check",
    "DryRunDocument",
    "GateReport",
    "LiveView",
    "ModelCheck",
    "Rehearsal",
    "Sources",
    "Station",
    "StepReport",
    "Tally",
    "Teller",
    "Told",
    "answer_to",
    "blobs_of",
    "changed",
    "check_model",
    "checks_of",
    "gone",
    "has_person",
    "in_order",
    "inputs_of",
    "is_path",
    "open_shelf",
    "pairs_of",
    "refuse_wrong",
    "registry_of",
    "scalar",
    "source_at",
    "sources_of",
    "stage_of",
    "topics_of",
    "typed",
    "user_name",
    "written_answer",
]
