"""The process compiler and the execution state machine."""

from .evaluate import Scope, evaluate, fill
from .linked import LinkedProcess, LinkedStep
from .registry import ActionSpec, Ambiguous, GateSpec, Registry, Resolved, Topics

__all__ = [
    "ActionSpec",
    "Ambiguous",
    "GateSpec",
    "LinkedProcess",
    "LinkedStep",
    "Registry",
    "Resolved",
    "Scope",
    "Topics",
    "evaluate",
    "fill",
]
