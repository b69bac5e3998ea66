"""Who acts on an execution: names that the hub authenticated, and no others.

A field of an event that names a person has no effect unless the engine or the process manager
published the event: these two act for the client that asked them.
"""

from cortex.runtime.access import person_of

ENGINE = "ProcessExecutionEngine"  # the `source` of what the engine says
MANAGER = "ProcessManager"
PEOPLE = "HumanProvider"  # the component of the provider whose models are people
_HAND_ON = frozenset((ENGINE, MANAGER))


def asker(source: str, named: str) -> str:
    """Who asks, where *source* said an event that names somebody."""
    return named if named and source in _HAND_ON else person_of(source)
