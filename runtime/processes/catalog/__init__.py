"""The processes in a log, and those that cannot run."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .catalog import Catalog, Compiled
    from .demands import as_written, condition_as_written, demands_of, diff_as_written, needs_line
    from .gates import Gates, gates_of, gates_within, wrong_gate
    from .not_ready import NotReady, not_ready_lines, not_ready_of, ways_back
else:
    lazily(__name__)

__all__ = [
    "Catalog",
    "Compiled",
    "Gates",
    "NotReady",
    "as_written",
    "condition_as_written",
    "demands_of",
    "diff_as_written",
    "gates_of",
    "gates_within",
    "needs_line",
    "not_ready_lines",
    "not_ready_of",
    "ways_back",
    "wrong_gate",
]
