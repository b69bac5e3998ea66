"""Epochs of a log: who assigned a position, and up to where two histories of one log are the same.

A log that loses its tail (a power cut, a restored backup) assigns the same positions again. So each
opening of a log begins an epoch with a random id, at the position where the log then ends. Whoever
remembers a position remembers the known epochs with it. Take the newest epoch that is in two lists:
the earlier of its two ends is the last position that both histories have in common.
"""

from collections.abc import Sequence

import msgspec

TOLD = 64  # epochs that a client is told of, the newest: an older one is known by its id alone
ID_BITS = 52  # what every language has as a whole number


class Epoch(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The time between two openings of a log."""

    id: int  # random, never 0; nobody gives it out again
    start: int  # head of the log when it began


Epochs = tuple[Epoch, ...]  # in order, the newest last


def last_common(ours: Sequence[Epoch], theirs: Sequence[Epoch], seen: int) -> int:
    """The last position up to *seen* that is the same event in both histories.

    Args:
        ours: The epochs of the log as it is.
        theirs: Those that somebody knew of when he saw the event at *seen*.
        seen: A position of theirs.

    Returns:
        *seen* where nothing of it was lost; 0 where the histories have no epoch in common.
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
    """The same for whoever was refused with *told* by a hub that may not know its epochs."""
    return min(seen, told) if now[-1:] == before[-1:] else last_common(now, before, seen)


def moved_on(epochs: Epochs, after: int, epoch: int) -> Epochs:
    """What to remember when a page of events after *after* came from that epoch.

    The hub has compared: up to *after* its history is the one that is remembered.
    """
    if not epoch or (epochs and epochs[-1].id == epoch):
        return epochs
    return (*epochs[1 - TOLD :], Epoch(epoch, after))


def ends_of(epochs: Sequence[Epoch]) -> dict[int, int]:
    """Where each epoch that is over ended, by its id."""
    ends: dict[int, int] = {}
    upto = epochs[-1].start if epochs else 0
    for epoch in reversed(epochs[:-1]):
        ends[epoch.id] = upto
        upto = min(upto, epoch.start)
    return ends
