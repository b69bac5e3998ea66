"""Recorded calls: what the record of an execution answers, for its forks and what-ifs.

A call is identified by what was asked for: name and parameters, or model and prompt. Who asked, in
which step and attempt, does not matter, but for gates: an answer to a gate is about its step.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from cortex.bus import Event, Recorded, Vocabulary
from cortex.bus.events import (
    ContextCompiled,
    ExecutionResumed,
    GateEvaluate,
    GateEvaluated,
    KnowledgeRequest,
    KnowledgeRequested,
    MemoryRequest,
    MemoryRequested,
    ModelFailed,
    ModelInvoke,
    ModelResponded,
    StepCompleted,
    StepDelegated,
    StepExecute,
    StepFailed,
    ToolCall,
    ToolDenied,
    ToolFailed,
    ToolReturned,
)

from .asked import counted, question_of

Path = tuple[str, ...]  # what an execution and its parents carry out, outermost first
Place = tuple[Path, str, int, int]  # execution, step, attempt and turn of a prompt
_ANSWERS: Final = (
    *(GateEvaluated, ModelResponded, ModelFailed, StepCompleted, StepFailed),
    *(ToolReturned, ToolFailed, ToolDenied),
)
_FAILURES: Final = (ModelFailed, StepFailed, ToolFailed, ToolDenied)
# Who carries it out, where, and for how long: the answer does not follow from it.
_PLACE: Final = ("execution_id", "step_id", "attempt", "index", "turn", "call", "call_id")


class RecordedCall(msgspec.Struct, frozen=True):
    """One answer on record."""

    position: int
    failed: bool  # whether the call failed
    path: Path  # of the execution that called
    step: str  # in which it called


class RecordedCalls:
    """What the record of an execution, and of those that it called, answers.

    Args:
        executions: The records of each of them, by its path, which is empty for the first.
        vocabulary: Reads them.
    """

    def __init__(
        self, executions: Iterable[tuple[Path, list[Recorded]]], vocabulary: Vocabulary
    ) -> None:
        self._calls: defaultdict[bytes, list[RecordedCall]] = defaultdict(list)
        self._found: dict[bytes, str] = {}
        self.compiled: dict[Place, tuple[int, ContextCompiled]] = {}  # with their positions
        for path, records in executions:
            reader = _RecordedExecution(path, self._calls, self._found, self.compiled)
            reader.read(counted(records, vocabulary))

    def answers(self, request: Event) -> tuple[RecordedCall, ...]:
        """The recorded answers to *request*, in order."""
        call = call_of(request)
        return tuple(self._calls.get(call, ())) if call is not None else ()

    def search(self, request: KnowledgeRequest | MemoryRequest) -> str:
        """The digest of what the same search brought; "" if it is not on record."""
        return self._found.get(_search(request), "")


class _RecordedExecution:
    """Reads one execution of the record."""

    def __init__(
        self,
        path: Path,
        calls: defaultdict[bytes, list[RecordedCall]],
        found: dict[bytes, str],
        compiled: dict[Place, tuple[int, ContextCompiled]],
    ) -> None:
        self._calls, self._found, self._compiled = calls, found, compiled
        self._open: dict[tuple[Any, ...], bytes] = {}
        self._searches: dict[tuple[str, str, int], bytes] = {}
        self._path = path
        self._stopped_by: bytes | None = None  # the last call, if it failed or waits
        self._overruled: dict[bytes, int] = {}  # how many answers a person went on from

    def read(self, rows: Iterable[tuple[Recorded, Event]]) -> None:
        for record, event in rows:
            match event:
                case KnowledgeRequest() | MemoryRequest():
                    place = _family(event), event.step_id, event.attempt
                    self._searches[place] = _search(event)
                case KnowledgeRequested() | MemoryRequested() if not event.call_id and event.found:
                    search = self._searches.get((_family(event), event.step_id, event.attempt))
                    if search is not None:
                        self._found[search] = event.found
                case ContextCompiled():
                    place_of = self._path, event.step_id, event.attempt, event.turn
                    self._compiled[place_of] = record.position, event
                case ExecutionResumed() if self._stopped_by is not None:
                    self._overruled[self._stopped_by] = len(self._calls[self._stopped_by])
                case _:
                    self._call(record, event)

    def _call(self, record: Recorded, event: Event) -> None:
        call = call_of(event)
        if call is not None:
            self._open[question_of(event)] = call
        elif isinstance(event, _ANSWERS) and (asked := self._open.pop(question_of(event), None)):
            self._add(asked, record, event)

    def _add(self, call: bytes, record: Recorded, event: Any) -> None:
        answers = self._calls[call]
        if overruled := self._overruled.pop(call, 0):
            del answers[overruled - 1]  # a person made it try again, and this came of it
        judged = isinstance(event, GateEvaluated)
        failed = event.outcome != "passed" if judged else isinstance(event, _FAILURES)
        self._stopped_by = call if failed else None
        answers.append(RecordedCall(record.position, failed, self._path, event.step_id))


def part_of_path(step_id: str, attempt: int, purpose: str, item: int) -> str:
    """What a child execution carries out for its parent."""
    return f"{purpose} {step_id}/{attempt}/{item}"


def joined_path(path: Path) -> str:
    """*path* as one text."""
    return " / ".join(path)


def call_of(event: Event) -> bytes | None:
    """What identifies a call, as a digest; None if *event* is no call."""
    match event:
        case StepExecute():
            return _digest("action", event.action, event.parameters, event.answer)
        case ToolCall():
            return _digest("tool", event.tool, event.arguments)
        case GateEvaluate():
            return _digest("gate", event.gate, event.step_id, event.parameters)
        case ModelInvoke():
            return _digest("model", event.model, event.prompt)
        case _:
            return None


def repeated(request: Any, answer: Any) -> Event | None:
    """*answer* from the record, as the answer to *request*; None if it is no answer."""
    if not isinstance(answer, _ANSWERS):
        return None
    place: dict[str, Any] = {
        name: getattr(request, name)
        for name in _PLACE
        if name in answer.__struct_fields__ and name in request.__struct_fields__
    }
    if isinstance(answer, ModelResponded | ModelFailed):
        place["recorded"] = request.recorded
    said: Event = replace(answer, **place)
    return said


def family(
    execution_id: str,
    through: int,
    history: Callable[[str], Iterable[Recorded]],
    vocabulary: Vocabulary,
) -> Iterator[tuple[Path, list[Recorded]]]:
    """The records of an execution, and of those that it called up to a position, by their paths."""
    paths: dict[str, Path] = {execution_id: ()}
    ids = [execution_id]
    for each in ids:
        records = [r for r in history(f"execution/{each}") if r.position <= through]
        yield paths[each], records
        for record in records:
            if record.topic != StepDelegated.topic_name():
                continue
            event = vocabulary.read(record)
            if isinstance(event, StepDelegated) and event.child not in paths:
                part = part_of_path(event.step_id, event.attempt, event.purpose, event.item)
                paths[event.child] = (*paths[each], part)
                ids.append(event.child)


def _family(event: Event) -> str:
    return event.topic_name().partition(".")[0]


def _search(request: KnowledgeRequest | MemoryRequest) -> bytes:
    # The scope of the execution itself is another one in each what-if.
    where = request.under if isinstance(request, KnowledgeRequest) else request.scopes[1:]
    history = isinstance(request, MemoryRequest) and request.history
    asked = (request.texts, where, request.limit, request.tokens)
    return _digest(_family(request), *asked, *((history,) if history else ()))


def _digest(*parts: Any) -> bytes:
    return sha256(msgspec.msgpack.encode(parts, order="deterministic")).digest()
