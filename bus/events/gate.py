"""Preconditions: asked before a process or a step begins, answered with evidence."""

from typing import Any

from ..event import Event
from .execution import RECORD


class GateEvaluate(Event, frozen=True, kw_only=True, tag="gate.evaluate"):
    """Ask whether a gate passes."""

    belongs = ("execution", "execution_id")
    routing = "gate"
    personal = ("parameters", "workspace", "goal", "answer")

    execution_id: str
    gate: str
    index: int = 0  # place among the gates of its step or process, from 0
    step_id: str = ""  # "" for a gate of the process
    attempt: int = 1  # counts how often this gate was asked at this place
    parameters: dict[str, Any] = {}
    workspace: str = ""
    goal: str = ""
    trigger: str = ""
    answer: str = ""  # a person's "approved" or "denied", if there is one
    by: str = ""  # who gave that answer, as the hub authenticated them
    timeout_s: float = 60.0
    requested_by: str = ""  # who asked for the execution, or for the one above it; likewise
    component: str = ""  # the component that is asked; answers of others do not count
    worktree: bool = False  # whether its programs run in a work tree, and files change there alone
    tree: str = ""  # the execution whose work tree that is; "" for its own
    recorded: int = 0  # position of the answer on record that counts; nobody is asked then

    def key(self) -> str | None:
        """The gate; `RECORD` if the answer is on record."""
        return RECORD if self.recorded else self.gate


class GateEvaluated(Event, frozen=True, kw_only=True, tag="gate.evaluated"):
    """The answer of a gate."""

    belongs = ("execution", "execution_id")
    routing = "gate"
    personal = ("reason", "evidence")

    execution_id: str
    gate: str
    outcome: str  # "passed", "failed", or "waiting" if a person must answer first
    index: int = 0
    step_id: str = ""
    attempt: int = 1
    reason: str = ""
    evidence: dict[str, Any] = {}
