"""The log of a home with the executions that its events tell of."""

from collections.abc import Iterable

from cortex.bus import Recorded
from cortex.runtime.kernel import NotFoundError
from cortex.runtime.projections import REQUESTS, STREAM, HomeLog

from .. import Execution, fold


class History(HomeLog):
    """What was recorded in a home, and its executions."""

    def execution(self, execution_id: str) -> Execution:
        """The execution as its events tell it."""
        return self.folded(execution_id, self.stream(STREAM + execution_id))

    def folded(self, execution_id: str, records: Iterable[Recorded]) -> Execution:
        """The same, of events of its own and others that were read already."""
        own = [record for record in records if record.stream == STREAM + execution_id]
        return fold(execution_id, own, self.vocabulary)

    def newest_execution_id(self) -> str:
        """The execution that was requested last, and not by another one.

        Raises:
            NotFoundError: There is none.
        """
        for record in self.newest(REQUESTS):
            found = record.correlation
            if record.version == 1 and found and not self.execution(found).parent:
                return found
        raise NotFoundError("execution", "", "there is none yet, `cortex run PROCESS` makes one")
