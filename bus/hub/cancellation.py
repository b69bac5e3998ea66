"""Finds work that is no longer wanted, by the policy and the events since.

Waiting work is dropped in the transaction that records the end of its stream. Work that a worker
held at that time is dropped when it would be handed out again.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..event import Recorded, decode
from ..limits import root_of
from ..log import Log, Work
from ..policy import WorkPolicy
from .hub_state import HubState

if TYPE_CHECKING:
    from .transaction import Transaction

_PAGE = 256
_LOOKED_AT = 4_096  # events of one stream: this bounds the time of one request


def drop_cancelled(transaction: "Transaction", work: Work, record: Recorded) -> bool:
    """End *work*, requested by *record*, if it is no longer wanted; return whether so."""
    seen, policy = transaction.state.filters[work.subscription], transaction.policy
    staged = transaction.records
    if (
        record.topic not in policy.cancellable
        or not seen.names(record.topic, record.key)  # an observer still gets it
        or transaction.version(record.stream) == record.version  # the stream has no later event
        or not is_cancelled(policy, record, transaction.log, staged, work.subscription)
    ):
        return False
    transaction.end((work.subscription, work.position))
    return True


def is_cancelled(
    policy: WorkPolicy,
    record: Recorded,
    log: Log,
    staged: Iterable[Recorded] = (),
    worker: str = "",
) -> bool:
    """Whether the work that *record* requests is no longer wanted.

    Args:
        policy: Knows what events mean for a request.
        record: The request.
        log: The events recorded so far.
        staged: Events of the current transaction, which the log does not have yet.
        worker: Who takes the work. A failure counts only if the worker or the requester reports it.
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
    """Subscription and position of the queued work of a stream that ends now."""
    queues = {name: queue for name, queue in state.queues.items() if queue.may_have_free(steady_ns)}
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
