"""Who is behind the source that the hub recorded with an event."""

from typing import Final

from .limits import root_of

OWNER: Final = "owner"  # whoever holds the token in the home's keys/; may do everything
# Sources of the hub's own process, and the owner.
RESERVED: Final = frozenset({OWNER, "bus", "cli", "cortex", "hub", "runtime"})


def person_of(source: str) -> str:
    """Who is behind a *source* that the hub recorded: a client's name, or `OWNER`."""
    root = root_of(source)
    return OWNER if root in RESERVED else root
