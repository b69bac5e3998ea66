"""Nodes as the log has them: for what left memory, and for what rules derive from executions."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

from cortex.bus import Recorded, Vocabulary
from cortex.bus.events import VOCABULARY, MemoryRecorded

from .nodes import Node, node_of
from .rules import EVENTS, derived_of, execution_of

# A node by its id, as it was recorded; None if there is none, or its subject was erased.
Past: TypeAlias = Callable[[str], Node | None]
_DERIVING = frozenset(each.topic_name() for each in EVENTS)


def no_past(node_id: str) -> Node | None:  # noqa: ARG001  # as `Past` is called
    """Read no log."""
    return None


class PastNodes:
    """Reads nodes from the streams of a log."""

    def __init__(
        self,
        history: Callable[[str], Iterable[Recorded]],
        vocabulary: Vocabulary = VOCABULARY,
    ) -> None:
        self._history, self._vocabulary = history, vocabulary

    def __call__(self, node_id: str) -> Node | None:
        """The node *node_id*; see `Past`."""
        execution = execution_of(node_id)
        if execution:
            return self._derived(node_id, execution)
        for record in self._history(f"memory/{node_id}"):
            # What was erased may have been imported again since, under its id.
            if record.topic == MemoryRecorded.topic_name() and not record.erased:
                event = self._vocabulary.read(record)
                return node_of(record, event) if isinstance(event, MemoryRecorded) else None
        return None

    def _derived(self, node_id: str, execution: str) -> Node | None:
        records = (
            (record, self._vocabulary.read(record))
            for record in self._history(f"execution/{execution}")
            if record.topic in _DERIVING and not record.erased
        )
        for derived in derived_of(records):
            for node in derived.nodes:
                if node.id == node_id:
                    return node
        return None
