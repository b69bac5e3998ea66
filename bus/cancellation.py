"""Finds work that is no longer wanted, by the policy and the events since.

Waiting work is dropped in the transaction that records the end of its stream. Work that a worker
held at that time is dropped when it would be handed out again.
"""

from collections.abc import Iterable, Iterator

from .event import Recorded, decode
from .hub_state import HubState
from .limits import root_of
from .log import Log
from .policy import WorkPolicy

_PAGE = 256
_LOOKED_AT = 4_096  # events of one stream, so that no request of a client takes long


def is_cancelled(
    policy: WorkPolicy,
    record: Recorded,
    log: Log,
    staged: Iterable[Recorded] = (),
    worker: str = "",
) -> bool:
    """Whether nobody wants what *record* asks for.

    Args:
        policy: Knows what events mean for a request.
        record: The request.
        log: What is recorded.
        staged: What the log will have next.
        worker: Who takes it; that it failed counts from there, and from who asked, alone.
    """
    fresh = (each for each in staged if each.stream == record.stream)
    later = (*_stream(log, record.stream, record.version), *fresh)
    parties = frozenset(map(root_of, (record.source, worker)))
    return any(
        policy.takes_back(each, record, parties) for each in later if each.version > record.version
    )


def waiting_of(
    policy: WorkPolicy, stream: str, state: HubState, log: Log, steady_ns: int
) -> Iterator[tuple[str, int]]:
    """Subscription and position of what waits in queues for a stream that ends now."""
    queues = {name: queue for name, queue in state.queues.items() if len(queue)}
    if not queues:
        return
    for record in _stream(log, stream, 0):
        if record.topic not in policy.cancellable:
            continue
        for name, queue in queues.items():
            work = queue.get(record.position)
            free = work is not None and work.not_before_ns <= steady_ns
            if free and state.filters[name].names(record.topic, record.key):
                yield name, record.position


def _stream(log: Log, stream: str, after: int) -> Iterator[Recorded]:
    last = after + _LOOKED_AT
    while after < last and (page := log.read_stream(stream, after, _PAGE)):
        for record in map(decode, page):
            after = record.version
            yield record
