"""ARC, the adaptive replacement cache of Megiddo and Modha (FAST '03), with weights in bytes.

Four lists, each from the least to the most recently used: `T1` holds what was used once of late,
`T2` what was used at least twice; `B1` and `B2` are their ghosts, keys of what was evicted. `p` is
the share that `T1` should have: a hit among the ghosts of a list says that the list was too short.

Where the paper counts pages, this adds weights, and where it makes room for one page, this makes
room for as many bytes as the new entry has. With weights of 1 it decides as the paper does, page
by page. A key that was dropped leaves no ghost.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

K = TypeVar("K")
V = TypeVar("V")


T1, T2, B1, B2 = range(4)
NO_TAGS: Final = ()


class ArcEntry(NamedTuple, Generic[V]):
    """A value and its weight; of a ghost, only the weight."""

    value: V | None
    weight: int
    tags: tuple[bytes, ...]  # whose it is: `forget` finds it by these, also as a ghost


class ArcCounts(msgspec.Struct):
    """What happened in one cache so far."""

    hits: int = 0
    misses: int = 0
    ghost_hits: int = 0  # values that came back while their key was a ghost
    evictions: int = 0


class Arc(Generic[K, V]):
    """Values by key, together at most *capacity*; one thread at a time may use it.

    Args:
        capacity: Of all values; so much again is remembered as ghosts.
        most_ghosts: Fewer ghosts than the paper has, since many light ones take memory, too.
    """

    def __init__(self, capacity: int, most_ghosts: int | None = None) -> None:
        self.capacity, self.most_ghosts = capacity, most_ghosts
        self.counts = ArcCounts()
        self.p = 0.0  # the weight that T1 should have, from 0 to the capacity
        self._lists: tuple[OrderedDict[K, ArcEntry[V]], ...] = tuple(
            OrderedDict() for _ in range(4)
        )
        self._weights = [0, 0, 0, 0]
        self._t1, self._t2, self._b1, self._b2 = self._lists

    def __len__(self) -> int:
        return len(self._t1) + len(self._t2)

    def __contains__(self, key: K) -> bool:
        return key in self._t1 or key in self._t2

    @property
    def weight(self) -> int:
        """Of all values that are held."""
        return self._weights[T1] + self._weights[T2]

    @property
    def weights(self) -> tuple[int, ...]:
        """Of T1, T2, B1 and B2."""
        return tuple(self._weights)

    @property
    def ghosts(self) -> int:
        """How many keys of evicted values are remembered."""
        return len(self._b1) + len(self._b2)

    def lists(self) -> tuple[list[K], ...]:
        """The keys in T1, T2, B1 and B2, the least recently used first."""
        return tuple(list(each) for each in self._lists)

    def get(self, key: K) -> V | None:
        """The value of *key*, which counts as used; None if it is not held."""
        held = self._t2.get(key)
        if held is not None:
            self._t2.move_to_end(key)
        else:
            held = self._t1.pop(key, None)
            if held is None:
                self.counts.misses += 1
                return None
            self._t2[key] = held
            self._weights[T1] -= held.weight
            self._weights[T2] += held.weight
        self.counts.hits += 1
        return held.value

    def put(self, key: K, value: V, weight: int = 1, tags: tuple[bytes, ...] = NO_TAGS) -> bool:
        """Hold *value*, after a `get` that found nothing; False if it is heavier than the capacity.

        A key that is held gets the new value, and does not count as used.
        """
        held = ArcEntry(value, weight, tags)
        if weight > self.capacity:
            self.drop(key)
            return False
        if key in self:
            self._renew(key, held)
        elif key in self._b1:
            self._adapt(weight, B1)
            self._return(key, held, B1)
        elif key in self._b2:
            self._adapt(-weight, B2)
            self._return(key, held, B2)
        else:
            self._admit(key, held)
        if self.most_ghosts is not None:
            self._bound_ghosts(self.most_ghosts)
        return True

    def drop(self, key: K) -> bool:
        """Forget *key*, also as a ghost; whether its value was held."""
        for number, each in enumerate(self._lists):
            if (found := each.pop(key, None)) is not None:
                self._weights[number] -= found.weight
                return number in (T1, T2)
        return False

    def forget(self, is_meant: Callable[[tuple[bytes, ...]], bool]) -> int:
        """Forget all whose tags are meant, ghosts too; returns how many values were held."""
        keys = [key for each in self._lists for key, held in each.items() if is_meant(held.tags)]
        return sum(map(self.drop, keys))

    def clear(self) -> None:
        """Forget everything but the counts."""
        for each in self._lists:
            each.clear()
        self._weights[:], self.p = [0, 0, 0, 0], 0.0

    def _adapt(self, weight: int, hit: int) -> None:
        """Move `p` towards the list that had the ghost: cases II and III of the paper."""
        own, other = self._weights[hit], self._weights[B1 + B2 - hit]
        step = weight * (1.0 if own >= other else other / own)
        self.p = min(max(self.p + step, 0.0), float(self.capacity))
        self.counts.ghost_hits += 1

    def _return(self, key: K, held: ArcEntry[V], ghosts: int) -> None:
        """Hold what is a ghost: it was used twice."""
        _, ghost = self._pop(ghosts, key)
        held = held._replace(tags=_together(ghost.tags, held.tags))
        while self.weight + held.weight > self.capacity:
            self._replace(from_b2=ghosts == B2)
        self._add(T2, key, held)
        self._trim()

    def _admit(self, key: K, held: ArcEntry[V]) -> None:
        """Hold what is neither held nor remembered: case IV of the paper."""
        weights = self._weights
        while weights[T1] + weights[B1] + held.weight > self.capacity:
            if self._b1:
                self._pop(B1)
            else:  # T1 is full: its oldest value goes without a ghost
                self._pop(T1)
                self.counts.evictions += 1
        while self._b2 and sum(weights) + held.weight > 2 * self.capacity:
            self._pop(B2)
        while self.weight + held.weight > self.capacity:
            self._replace(from_b2=False)
        self._add(T1, key, held)

    def _replace(self, *, from_b2: bool) -> None:
        """Evict one value, whose key becomes a ghost: `REPLACE` of the paper."""
        weight = self._weights[T1]
        is_first = weight > self.p or (from_b2 and weight == self.p)
        evicted = T1 if self._t1 and (is_first or not self._t2) else T2
        key, held = self._pop(evicted)
        self._add(evicted + B1, key, held._replace(value=None))
        self.counts.evictions += 1

    def _renew(self, key: K, held: ArcEntry[V]) -> None:
        number = T1 if key in self._t1 else T2
        before = self._lists[number][key]
        self._weights[number] += held.weight - before.weight
        self._lists[number][key] = held._replace(tags=_together(before.tags, held.tags))
        while self.weight > self.capacity:
            self._replace(from_b2=False)
        self._trim()

    def _trim(self) -> None:
        """Forget the oldest ghosts beyond the bounds, which only unequal weights can pass."""
        while self._b1 and self._weights[T1] + self._weights[B1] > self.capacity:
            self._pop(B1)
        while self._b2 and sum(self._weights) > 2 * self.capacity:
            self._pop(B2)

    def _bound_ghosts(self, most: int) -> None:
        while self.ghosts > most:
            self._pop(B1 if len(self._b1) > len(self._b2) else B2)

    def _add(self, number: int, key: K, held: ArcEntry[V]) -> None:
        self._lists[number][key] = held
        self._weights[number] += held.weight

    def _pop(self, number: int, key: K | None = None) -> tuple[K, ArcEntry[V]]:
        """Take *key* out of a list, or the least recently used."""
        each = self._lists[number]
        found, held = each.popitem(last=False) if key is None else (key, each.pop(key))
        self._weights[number] -= held.weight
        return found, held


def _together(one: tuple[bytes, ...], other: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Whose a value is that was made from the data of both."""
    return other if one == other else tuple({*one, *other})
