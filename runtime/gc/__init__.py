"""The collector: a heap of objects in three generations, marked and swept in slices."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .collection import Collection
    from .errors import (
        CollectionOrderError,
        CollectionRunningError,
        GcError,
        ObjectExistsError,
        ObjectUnknownError,
    )
    from .explanation import Explanation, Hop
    from .generations import GenerationSize
    from .heap import STEP, Heap
    from .policy import REFERS, HeapPolicy, Keeps, ObjectKind
    from .retention import ObjectFacts, RetentionRules, reason_to_release, strength
    from .schedule import Counts
else:
    lazily(__name__)

__all__ = [
    "REFERS",
    "STEP",
    "Collection",
    "CollectionOrderError",
    "CollectionRunningError",
    "Counts",
    "Explanation",
    "GcError",
    "GenerationSize",
    "Heap",
    "HeapPolicy",
    "Hop",
    "Keeps",
    "ObjectExistsError",
    "ObjectFacts",
    "ObjectKind",
    "ObjectUnknownError",
    "RetentionRules",
    "reason_to_release",
    "strength",
]
