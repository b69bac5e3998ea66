"""Deadlines that one batch of requests sets, replaces and forgets."""

from collections.abc import Sequence

from .deadlines import kept
from .hub_state import HubState
from .limits import StagedTally
from .log import Batch, Deadline
from .requests import Due, refuse_no_text


class Setting:
    """Stages them in *batch*, and counts what that adds to what each client has the hub keep."""

    def __init__(self, state: HubState, batch: Batch, tally: StagedTally) -> None:
        self._state, self._batch, self._tally = state, batch, tally

    def check(self, client: str, due: Sequence[Due], forget: Sequence[str]) -> None:
        """Refuse what cannot be set, or not by *client*; nothing is staged yet.

        Raises:
            EventInvalidError: A time is out of range, or a name cannot be written.
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
        """Stage them: what is forgotten first, so that a name may be set anew.

        Args:
            client: Whose they are.
            due: Those that are set.
            forget: Names of those that are not wanted any more.
            time_ns: The log's time.
        """
        for name in forget:
            self.forget(name)
        for entry in due:
            self.forget(entry.name)
            self._batch.forgotten.pop(entry.name, None)
            self._tally.add("deadlines", client)
            due_ns, after_ns = entry.due_ns, entry.after_ns
            if after_ns:  # whoever reckons with another clock gets no more than was asked for
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
