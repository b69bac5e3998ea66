"""Managers: what is to run, and when."""

from .choosing import Chosen, Refusal, for_request, for_trigger
from .preferences import Preferences
from .process_manager import ProcessManager
from .schedules import Firing, firing, next_due_ns

__all__ = [
    "Chosen",
    "Firing",
    "Preferences",
    "ProcessManager",
    "Refusal",
    "firing",
    "for_request",
    "for_trigger",
    "next_due_ns",
]
