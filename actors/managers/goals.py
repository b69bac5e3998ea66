"""Guided ad-hoc work: the request has a goal and the allowed actions."""

from collections.abc import Callable, Iterator
from itertools import chain

from cortex.bus import Recorded, Vocabulary
from cortex.bus.events import (
    ExecutionRequest,
    StepPropose,
)
from cortex.runtime.access import GRANTS, OWNER, grants_in, person_of
from cortex.runtime.processes import (
    LinkedProcess,
    ProcessTable,
    linked_goal,
    problem_of,
)
from cortex.runtime.registry import STREAM, registry_of

from .choosing import Refusal

PUBLISH = "publish"


class Goals:
    """Links the goal of a request with the announcements at the time of the request."""

    def __init__(
        self,
        history: Callable[[str], Iterator[Recorded]],
        vocabulary: Vocabulary,
        servers: tuple[str, ...] = (),
    ) -> None:
        self._history = history
        self._vocabulary = vocabulary
        self._servers = servers  # configured tool servers

    def linked(
        self, event: ExecutionRequest, table: ProcessTable, position: int
    ) -> LinkedProcess | Refusal:
        """The process of one step that works towards the goal of *event*, or the error."""
        servers = (f"tools/{server}" for server in self._servers)
        records = chain.from_iterable(map(self._history, (STREAM, *servers)))
        registry = registry_of(records, self._vocabulary.read, before=position)
        symbols = registry.symbols(servers=self._servers)
        known = {name: found for name in table.names() if (found := table.get(name)) is not None}
        process, diagnostics = linked_goal(event.goal, event.step, symbols, known)
        problem = problem_of(diagnostics)
        return Refusal(f"its goal cannot be worked towards: {problem}") if problem else process

    def refused(self, source: str, now_ns: int) -> str:
        """Why *source* may not choose actions of an execution; "" if it may.

        Its request chooses actions and pays for a model, without a process.
        """
        client = person_of(source)
        if client == OWNER:
            return ""
        grants = grants_in(self._history(GRANTS), self._vocabulary)
        topic = StepPropose.topic_name()
        # A source that was never admitted is inside: the owner's own program, or a component.
        if not grants.knows(client) or grants.allows(client, PUBLISH, topic, now_ns):
            return ""
        return f"{client} may not choose actions: its grant does not name {topic} under publish"
