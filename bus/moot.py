"""Work that nobody wants any more: a step or a tool call of an execution that has ended.

Whoever carried it out could still write. What waits is dropped in the transaction that records the
end; what a worker held at that time is dropped when it would be handed out again, and so is the
step of an attempt that failed meanwhile, as by its timeout: the next attempt has a request of its
own.
"""

from collections.abc import Iterable, Iterator

import msgspec

from .event import Recorded, decode
from .events.execution import ExecutionCancelled, ExecutionCompleted, ExecutionFailed
from .events.step import StepExecute, StepFailed
from .events.tool import ToolCall
from .known import Known
from .limits import root_of
from .log import Log

ENDS = frozenset(e.topic_name() for e in (ExecutionCancelled, ExecutionCompleted, ExecutionFailed))
_ASKED = frozenset((StepExecute.topic_name(), ToolCall.topic_name()))
_STEP, _FAILED = StepExecute.topic_name(), StepFailed.topic_name()
_PAGE = 256
_LOOKED_AT = 4_096  # events of one stream, so that no request of a client takes long


class _Try(msgspec.Struct):
    """What the bodies of `step.execute` and `step.failed` have in common."""

    step_id: str
    attempt: int = 1


_READ_TRY = msgspec.msgpack.Decoder(_Try).decode


def can_be_moot(record: Recorded) -> bool:
    """Whether what follows in the stream of *record* could take it back."""
    return record.topic in _ASKED


def is_moot(record: Recorded, log: Log, staged: Iterable[Recorded] = (), worker: str = "") -> bool:
    """Whether nobody wants what *record* asks for.

    Args:
        record: The request.
        log: What is recorded.
        staged: What the log will have next.
        worker: Who takes it; that it failed counts from there, and from who asked, alone.
    """
    asked = _READ_TRY(record.body) if record.topic == _STEP else None
    fresh = (each for each in staged if each.stream == record.stream)
    later = (*_stream(log, record.stream, record.version), *fresh)
    parties = frozenset(map(root_of, (record.source, worker)))
    return any(_takes_back(each, asked, parties) for each in later if each.version > record.version)


def takes_back(later: Recorded, record: Recorded) -> bool:
    """Whether who asked for *record* says *later*, in its stream, that nobody wants it."""
    asked = _READ_TRY(record.body) if record.topic == _STEP else None
    return _takes_back(later, asked, frozenset((root_of(record.source),)))


def waiting_of(stream: str, known: Known, log: Log, steady_ns: int) -> Iterator[tuple[str, int]]:
    """Subscription and position of what waits in queues for an execution that ends now."""
    queues = {name: queue for name, queue in known.queues.items() if len(queue)}
    if not queues:
        return
    for record in _stream(log, stream, 0):
        if record.topic not in _ASKED:
            continue
        for name, queue in queues.items():
            work = queue.get(record.position)
            free = work is not None and work.not_before_ns <= steady_ns
            if free and known.filters[name].names(record.topic, record.key):
                yield name, record.position


def _takes_back(later: Recorded, asked: _Try | None, parties: frozenset[str]) -> bool:
    if later.topic in ENDS:
        return True
    if asked is None or later.topic != _FAILED or root_of(later.source) not in parties:
        return False
    failed = _READ_TRY(later.body)
    return failed.step_id == asked.step_id and failed.attempt >= asked.attempt


def _stream(log: Log, stream: str, after: int) -> Iterator[Recorded]:
    last = after + _LOOKED_AT
    while after < last and (page := log.read_stream(stream, after, _PAGE)):
        for record in map(decode, page):
            after = record.version
            yield record
