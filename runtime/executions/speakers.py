"""Who says what about an execution: names that the hub authenticated, and no others.

A field of an event that names somebody is void, but where the engine or the process manager wrote
it: they ask in the place of whoever asked them.
"""

from cortex.runtime.access import person_of

ENGINE = "ProcessExecutionEngine"  # the `source` of what the engine says
MANAGER = "ProcessManager"
PEOPLE = "HumanProvider"  # the component of the provider whose models are people
_HAND_ON = frozenset((ENGINE, MANAGER))


def asker(source: str, named: str) -> str:
    """Who asks, where *source* said an event that names somebody."""
    return named if named and source in _HAND_ON else person_of(source)
