"""Epochs of a log: who assigned a position, and up to where two histories of one log are the same.

A log that loses its tail (a power cut, a restored backup) assigns the same positions again. So each
opening of a log begins an epoch with a random id, at the position where the log then ends. A client
that stores a position stores the known epochs with it. Take the newest epoch that is in two lists:
the earlier of its two ends is the last position that both histories have in common.
"""

from collections.abc import Sequence

import msgspec

TOLD = 64  # the newest epochs, which a hub sends to a client; of older ones only the id is known
ID_BITS = 52  # every language has integers of this size


class Epoch(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The time between two openings of a log."""

    id: int  # random, never 0, never used again
    start: int  # head of the log when it began


Epochs = tuple[Epoch, ...]  # in order, the newest last


def last_common(ours: Sequence[Epoch], theirs: Sequence[Epoch], seen: int) -> int:
    """The last position up to *seen* that is the same event in both histories.

    Args:
        ours: The epochs of the log as it is.
        theirs: The epochs that a client knew when it saw the event at *seen*.
        seen: A position of theirs.

    Returns:
        *seen* if nothing of it was lost; 0 if the histories have no epoch in common.
    """
    ends = ends_of(ours)
    upto = seen
    for epoch in reversed(theirs):
        if ours and epoch.id == ours[-1].id:
            return upto
        if epoch.id in ends:
            return min(upto, ends[epoch.id])
        upto = min(upto, epoch.start)
    return 0 if theirs else seen


def common_when_told(now: Epochs, before: Epochs, seen: int, told: int) -> int:
    """The same for a client that a hub refused with *told* and that may not know its epochs."""
    return min(seen, told) if now[-1:] == before[-1:] else last_common(now, before, seen)


def moved_on(epochs: Epochs, after: int, epoch: int) -> Epochs:
    """The epochs to store after a page of events after *after* came from that epoch.

    The hub has compared: up to *after* its history is the stored one.
    """
    if not epoch or (epochs and epochs[-1].id == epoch):
        return epochs
    return (*epochs[1 - TOLD :], Epoch(epoch, after))


def ends_of(epochs: Sequence[Epoch]) -> dict[int, int]:
    """The end of each finished epoch, by its id."""
    ends: dict[int, int] = {}
    upto = epochs[-1].start if epochs else 0
    for epoch in reversed(epochs[:-1]):
        ends[epoch.id] = upto
        upto = min(upto, epoch.start)
    return ends
