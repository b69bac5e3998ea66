"""What happens to a state: one class for each kind of change, typed so that it is recorded.

A change names items by their identity, as `step` makes them. Folding recorded changes with `apply`
gives the state again. The classes are those of the events.
"""

from typing import Final

from cortex.bus.events import (
    Answered,
    Asked,
    Change,
    FactCleared,
    FactSet,
    Pending,
    PoliciesReset,
    PolicyRemoved,
    PolicySet,
    QuestionKind,
    Rule,
    StateCleared,
)

PREMISE: Final = "premise"  # the fact that the dialogue and the strict profile have
DEVICE: Final = "focus.device"  # the fact that the seed profile has

__all__ = [
    "DEVICE",
    "PREMISE",
    "Answered",
    "Asked",
    "Change",
    "FactCleared",
    "FactSet",
    "Pending",
    "PoliciesReset",
    "PolicyRemoved",
    "PolicySet",
    "QuestionKind",
    "Rule",
    "StateCleared",
]
