"""Bugs that are planted on purpose, each in the place of one function of the hub."""

from collections.abc import Generator, Sequence
from importlib import import_module
from typing import Any

import msgspec

from cortex.bus import (
    Appended,
    Attempted,
    Claimed,
    Done,
    Epoch,
    LeaseLostError,
    Page,
    Refused,
    Subscribed,
    last_common,
)

settled: Any = import_module("cortex.runtime.kernel.shells.intents").settled


def no_deduplication(turn: Any, client: str, request: Any) -> Any:
    return turn.take(client, request.events, request.due, request.forget)


def no_compare_and_set(turn: Any, client: str, request: Any, head: int = 0) -> Any:
    standing = turn.standing(request.subscription, "ordered")
    answer = turn.take(client, request.events, request.due, request.forget)
    turn.batch.standings[standing.name] = msgspec.structs.replace(
        standing, cursor=request.through, attempts=0
    )
    return answer


def no_fencing(turn: Any, request: Any) -> Any:
    name, position = request.subscription, request.position
    queue = turn.state.queues.get(name)
    work = turn.batch.work.get((name, position)) or (queue.get(position) if queue else None)
    if work is None or (name, position) in turn.gone:
        raise LeaseLostError(name, position, request.epoch)
    return work


def claims_are_lost_with_a_failed_write(turn: Any) -> None:
    """Leave what was claimed out of the queue."""


def lapsed_leases_wake_nobody(queue: Any, now_ns: int) -> bool:
    return False


def an_empty_claim(turn: Any, request: Any) -> Any:
    return Claimed(())


def frames_are_done_again(client: str, request: Any, staged: Any, known: Any) -> None:
    """Know of no frame that was done before."""


def only_the_newest_frame_is_known(client: str, request: Any, staged: Any, known: Any) -> Any:
    last = next(
        (r for r in (*staged.values(), *known.values()) if r.number == request.number), None
    )
    return Done(msgspec.msgpack.decode(last.answer, type=_Kept).answers) if last else None


def a_lost_tail_is_not_noticed(known: Any, epoch: int, position: int) -> None:
    """Take every position for one of the log as it is."""


def a_lost_tail_leaves_its_last(ours: Sequence[Epoch], theirs: Sequence[Epoch], seen: int) -> int:
    common = last_common(ours, theirs, seen)
    return common + 1 if common < seen else common


def effects_are_begun_without_a_word(contract: Any, record: Any) -> Generator[Any, Any, str]:
    """Record nothing before an effect begins."""
    yield from ()
    return "new"


def intents_are_taken_twice(*_: Any) -> None:
    """Look for no intent that was recorded before."""


def what_was_begun_is_begun_again(
    contract: Any, host: Any, record: Any, attempt: int, intent: str
) -> Any:
    outcome = host.handle((record,), attempt, begun=intent == "begun")
    return settled(contract, record, outcome)


def a_lost_commit_is_not_noticed(
    feeding: Any, cursor: int, log_epoch: int
) -> Generator[Any, Any, Any]:
    """Go on at another hub, wherever the cursor is there."""
    yield from ()
    return msgspec.structs.replace(feeding, log_epoch=log_epoch)


keys_of_what_may_be_lost = property(lambda _: False)  # of a claim: whether it is to be synced


class _Kept(msgspec.Struct, frozen=True, array_like=True, tag="done"):
    answers: tuple[Appended | Subscribed | Attempted | Refused, ...]


def a_page_forgets_its_last(
    pages: Any, request: Any, seen: Any, records: Any, through: int, epoch: int
) -> Page:
    kept = tuple(records[:-1] if len(records) > 1 else records)
    return Page(kept, through, log_epoch=epoch)


def what_came_before_is_passed_over(asked: Any) -> bool:
    ready: bool = asked._feed.idle
    return ready


def what_was_not_written_counts(asked: Any) -> None:
    if asked._through:
        asked._feed.moved(asked._through)
    asked._through = 0
    asked.turn.release()
