"""Deadlines that one batch of requests sets, replaces and forgets."""

from collections.abc import Sequence

from ..limits import StagedTally
from ..log import Batch, Deadline
from ..requests import Due, refuse_no_text
from .deadlines import kept
from .hub_state import HubState


class Setting:
    """Stages deadlines in *batch*, and counts them against the limits of their clients."""

    def __init__(self, state: HubState, batch: Batch, tally: StagedTally) -> None:
        self._state, self._batch, self._tally = state, batch, tally

    def check(self, client: str, due: Sequence[Due], forget: Sequence[str]) -> None:
        """Refuse deadlines that are invalid, or not allowed to *client*; stages nothing.

        Raises:
            EventInvalidError: A time is out of range, or a name cannot be stored.
            LimitError: The client would have more than it may.
        """
        for entry in due:
            entry.check()
        for name in forget:
            refuse_no_text("deadline", name)
        if due:
            named = {entry.name for entry in due}
            before = (self._find(name) for name in named.union(forget))
            own = sum(1 for each in before if each and each.source == client)
            self._tally.refuse_over(client, "deadlines", len(named) - own)

    def take(self, client: str, due: Sequence[Due], forget: Sequence[str], time_ns: int) -> None:
        """Stage them, forgotten ones first, so that a name may be set again.

        Args:
            client: Their owner.
            due: Deadlines to set.
            forget: Names of deadlines to remove.
            time_ns: The log's time.
        """
        for name in forget:
            self.forget(name)
        for entry in due:
            self.forget(entry.name)
            self._batch.forgotten.pop(entry.name, None)
            self._tally.add("deadlines", client)
            due_ns, after_ns = entry.due_ns, entry.after_ns
            if after_ns:  # a client with another clock must not get more than it asked for
                due_ns = min(due_ns, time_ns + after_ns)
            draft = kept(entry.draft, after_ns)
            self._batch.deadlines[entry.name] = Deadline(entry.name, due_ns, draft, client)

    def forget(self, name: str) -> None:
        """Remove the deadline of that name, if there is one."""
        before = self._find(name)
        if before is not None:
            self._tally.add("deadlines", before.source, -1)
        self._batch.deadlines.pop(name, None)
        self._batch.forgotten[name] = None

    def _find(self, name: str) -> Deadline | None:
        staged = self._batch.deadlines.get(name)
        if staged is None and name not in self._batch.forgotten:
            return self._state.deadlines.get(name)
        return staged
