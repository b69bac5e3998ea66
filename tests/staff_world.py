"""A running Cortex for tests: submit sources, run processes, read what the log says."""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from cortex.actors.accessors import ProcessDefinitionAccessor
from cortex.actors.engines import CompilationEngine, ProcessExecutionEngine
from cortex.actors.gates import Approved, BranchClean, Command, ExecutionContextExists, FileExists
from cortex.actors.handlers import AnswerQuestion, Shell, TextFiles
from cortex.actors.managers import ProcessManager
from cortex.actors.providers import ExtractiveProvider
from cortex.bus import Event, Recorded
from cortex.bus.events import (
    ExecutionPaused,
    ExecutionRequest,
    ExecutionResume,
    ProcessCompiled,
    ProcessRejected,
    ProcessSubmit,
    ProcessUnchanged,
)
from cortex.runtime.kernel import Component, Runtime

PATIENCE_S = 120.0  # nothing takes as long; what is lost does
STOPS = frozenset(
    f"execution.{verb}" for verb in ("completed", "failed", "halted", "cancelled", "paused")
)

# Without spawned processes, so that a runtime of these is there at once.
QUICK: Sequence[type[Component]] = (
    ProcessDefinitionAccessor,
    ProcessManager,
    ProcessExecutionEngine,
    Approved,
    BranchClean,
    Command,
    ExecutionContextExists,
    FileExists,
    Shell,
    TextFiles,
)
ANSWERING = (*QUICK, CompilationEngine, ExtractiveProvider, AnswerQuestion)

Kind = TypeVar("Kind", bound=Event)


class Said(msgspec.Struct, frozen=True):
    """An event, and what the log keeps beside it."""

    event: Event
    record: Recorded


class Run(msgspec.Struct, frozen=True):
    """One execution up to where it stopped."""

    execution_id: str
    said: tuple[Said, ...]  # its own events, in order

    @property
    def end(self) -> Event:
        return self.said[-1].event

    @property
    def outcome(self) -> str:
        return self.said[-1].record.topic.removeprefix("execution.")

    def topics(self) -> list[str]:
        return [each.record.topic for each in self.said]

    def all(self, kind: type[Kind]) -> list[Kind]:
        return [each.event for each in self.said if isinstance(each.event, kind)]

    def last(self, kind: type[Kind]) -> Kind:
        return self.all(kind)[-1]


class World:
    """A started runtime and a client of it."""

    _count = itertools.count(1)

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.client = runtime.client("tests")
        self.blobs = runtime.blobs

    def said(self, after: int = 0) -> Iterator[Said]:
        """All that is in the log after position *after*."""
        for record in self.client.read(after=after):
            yield Said(self.runtime.vocabulary.read(record), record)

    def wait(self, accept: Callable[[Said], bool], after: int) -> Said:
        """The first event after position *after* that *accept* takes."""
        feed = self.client.follow(after=after)
        until = time.monotonic() + PATIENCE_S
        try:
            while (left_s := until - time.monotonic()) > 0:
                for record in feed.next(left_s):
                    if record.position and accept(
                        found := Said(self.runtime.vocabulary.read(record), record)
                    ):
                        return found
        finally:
            feed.close()
        heard = [record.topic for record in self.client.read(after=after)]
        raise AssertionError(f"it did not come; after {after} there is {heard}")

    def settled(self, cause: int) -> list[Event]:
        """What the accessor of definitions says about the event at position *cause*."""
        self.wait(lambda said: said.record.causation == cause, cause)
        return [each.event for each in self.said(cause) if each.record.causation == cause]

    def submit(self, *removed: str, **sources: str) -> list[Event]:
        """Submit sources; all that is said about them."""
        return self.submit_files(sources, removed)

    def submit_files(self, sources: dict[str, str], removed: Iterable[str] = ()) -> list[Event]:
        digests = {file: self.blobs.put(text.encode()) for file, text in sources.items()}
        said = self.settled(
            self.client.publish(ProcessSubmit(sources=digests, removed=tuple(removed)))
        )
        answered: set[str] = set()
        for event in said:
            if isinstance(event, ProcessCompiled | ProcessRejected):
                answered.add(event.file)
            elif isinstance(event, ProcessUnchanged):
                answered.update(event.files)
        assert answered >= sources.keys(), "every file is answered"
        return said

    def compiled(self, source: str) -> None:
        """Submit one source that must compile."""
        said = self.submit(**{f"f{next(self._count)}": source})
        assert not [each for each in said if isinstance(each, ProcessRejected)], said

    def run(
        self,
        process: str,
        inputs: dict[str, Any] | None = None,
        *,
        workspace: str = "",
        trigger: str = "t1",
        goal: str = "see it work",
    ) -> Run:
        """Run a process until it stops."""
        execution_id = f"run{next(self._count)}"
        after = self.client.publish(
            ExecutionRequest(
                execution_id=execution_id,
                process=process,
                inputs=inputs or {},
                workspace=workspace,
                trigger=trigger,
                goal=goal,
            )
        )
        return self.stopped(execution_id, after)

    def resume(self, run: Run, answer: str = "", by: str = "") -> Run:
        """Let a stopped execution go on until it stops again."""
        gate = run.last(ExecutionPaused).gate if answer else ""
        seen = self.client.head
        event = ExecutionResume(execution_id=run.execution_id, answer=answer, gate=gate, seen=seen)
        client = self.runtime.client(by) if by else self.client
        return self.stopped(run.execution_id, client.publish(event))

    def stopped(self, execution_id: str, after: int) -> Run:
        """An execution that comes to a stop after position *after*."""
        stream = f"execution/{execution_id}"
        self.wait(
            lambda said: said.record.stream == stream and said.record.topic in STOPS,
            after,
        )
        records = list(self.client.read_stream(stream))
        read = self.runtime.vocabulary.read
        return Run(execution_id, tuple(Said(read(record), record) for record in records))
