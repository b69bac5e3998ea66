"""The errors of the collector.

CortexError
└── GcError
    ├── ObjectUnknownError       the object was never here, or is gone
    ├── ObjectExistsError        the object is here already
    ├── CollectionRunningError   a collection goes on
    └── CollectionOrderError     a recorded collection is not the next one
"""

from cortex.bus import CortexError, with_fields


class GcError(CortexError):
    """The heap cannot do what it is asked for; it is unchanged."""


@with_fields
class ObjectUnknownError(GcError, LookupError):
    """The object was never allocated, or was collected and is not remembered any more."""

    id: str

    says = (
        "the heap has no object {id}: allocate it first; if a collection removed it, restore it, "
        "or allocate it again if the heap does not remember it"
    )


@with_fields
class ObjectExistsError(GcError):
    """The object is in the heap, so that it can be neither allocated nor restored."""

    id: str

    says = "the object {id} is in the heap already: to change its references, refer and unrefer"


@with_fields
class CollectionRunningError(GcError):
    """One collection goes on at a time."""

    generation: int

    says = (
        "a collection of generation {generation} is under way: step until it has ended, "
        "or abandon it"
    )


@with_fields
class CollectionOrderError(GcError):
    """A recorded collection was skipped: this heap is not at its place in the log."""

    number: int
    expected: int

    says = (
        "collection {number} cannot follow: the next one is {expected}; fold the events in the "
        "order of the log"
    )
