"""Objects and the references between them, in columns of numbers.

A *slot* is the row of an object, an *arc* that of a reference: from the object that keeps to the
one that is kept. 1,000,000 objects as instances would take gigabytes, and Python's own collector
would trace them. Slot 0 and arc 0 belong to nobody, so that 0 ends a list.

An id that is referred to before it is there, or after it has gone, has a slot that is not
`PRESENT`. Its arcs are stored; they count from when it comes.

The columns `colour` and `internal` belong to a running collection (cycle.py). Whoever gains a
reference during one is shaded here, by the write barrier, so that no slice can miss it.
"""

from array import array
from collections.abc import Iterator
from typing import Final

PRESENT: Final = 1  # bits of `flags`
ROOT: Final = 2
PINNED: Final = 4
RELEASED: Final = 8
COLLECTIBLE: Final = PRESENT | RELEASED  # the value of whatever may go if nothing keeps it

# Of an object in a running collection: it is no candidate; a candidate whose references are not
# subtracted yet; one that nothing is known to keep; one that is kept; one whose references, too.
OUTSIDE, NEW, WHITE, GREY, BLACK = range(5)


class Interned:
    """Words as numbers, from 1 in the order in which they came."""

    def __init__(self) -> None:
        self.words = [""]
        self._codes = {"": 0}

    def code(self, word: str) -> int:
        """The number of *word*."""
        code = self._codes.setdefault(word, len(self.words))
        if code == len(self.words):
            self.words.append(word)
        return code


class Graph:
    """The columns, and what changes them."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}  # slot by id
        self.ids = {0: ""}  # by slot; no list, which Python's collector would walk over
        self.flags = bytearray(1)
        self.generation = bytearray(1)
        self.age = bytearray(1)  # collections survived in its generation
        self.uses = bytearray(1)  # 255 for more
        self.kind = array("I", [0])  # codes
        self.reason = array("I", [0])  # codes: why its owner released it
        self.weight = array("q", [0])  # bytes
        self.count = array("I", [0])  # arcs that keep it now
        self.inbound = array("I", [0])  # arcs to it, also those that do not count now
        self.first = array("I", [0])  # its first arc
        self.colour = bytearray(1)
        self.internal = array("I", [0])  # of `count`, from candidates
        self.source = array("I", [0])  # columns of arcs; 0 for one that is free
        self.target = array("I", [0])
        self.next = array("I", [0])  # arc of the same source
        self.reference = array("I", [0])  # codes
        self.words = Interned()
        self.while_pinned: set[int] = set()  # codes of such references
        self.grey: list[int] = []  # shaded slots whose references have to be followed
        self.revivals = 0  # how often something collectible gained a reference or became kept
        self._free_slots: list[int] = []
        self._free_arcs: list[int] = []

    def slot(self, object_id: str) -> int:
        """The slot of an id, which is made where there is none."""
        slot = self.index.get(object_id)
        if slot is None:
            slot = self.index[object_id] = self._new_slot()
            self.ids[slot] = object_id
        return slot

    def _new_slot(self) -> int:
        if self._free_slots:
            return self._free_slots.pop()
        for small in (self.flags, self.generation, self.age, self.uses, self.colour):
            small.append(0)
        for column in (self.kind, self.reason, self.weight, self.count, self.inbound):
            column.append(0)
        self.first.append(0)
        self.internal.append(0)
        return len(self.flags) - 1

    def appear(self, slot: int, kind: str, weight: int) -> None:
        """The object of *slot* comes, into generation 0, and its stored arcs begin to count."""
        self.flags[slot] = PRESENT
        self.generation[slot] = self.age[slot] = self.uses[slot] = 0
        self.reason[slot] = 0
        self.kind[slot] = self.words.code(kind)
        self.weight[slot] = weight
        for arc in self.arcs(slot):
            if self.keeps(arc):
                self._gain(self.target[arc])

    def remove(self, slot: int) -> list[tuple[str, str]]:
        """The object of *slot* goes; the ids that it kept come back, and how it referred to them.

        Arcs to it stay: they count again if it is restored.
        """
        found: list[tuple[str, str]] = []
        for arc in self.arcs(slot):
            found.append((self.ids[self.target[arc]], self.words.words[self.reference[arc]]))
            self._cut(arc)
        self.first[slot] = self.flags[slot] = self.colour[slot] = 0
        self._free(slot)
        return sorted(found)

    def link(self, source: int, target: int, reference: int) -> None:
        """A new arc: *source* keeps *target*, if the kind of *reference* does now."""
        if self._free_arcs:
            arc = self._free_arcs.pop()
        else:
            arc = len(self.next)
            for column in (self.source, self.target, self.next, self.reference):
                column.append(0)
        self.source[arc], self.target[arc], self.reference[arc] = source, target, reference
        self.next[arc], self.first[source] = self.first[source], arc
        self.inbound[target] += 1
        if self.keeps(arc):
            self._gain(target)

    def unlink(self, source: int, target: int, reference: int) -> bool:
        """Whether there was such an arc, of which one is gone now."""
        before = 0
        for arc in self.arcs(source):
            if self.target[arc] == target and self.reference[arc] == reference:
                break
            before = arc
        else:
            return False
        if before:
            self.next[before] = self.next[arc]
        else:
            self.first[source] = self.next[arc]
        self._cut(arc)
        if source != target:
            self._free(source)
        return True

    def arcs(self, slot: int) -> Iterator[int]:
        """The arcs from *slot*."""
        arc = self.first[slot]
        while arc:
            after = self.next[arc]
            yield arc
            arc = after

    def keeps(self, arc: int) -> bool:
        """Whether *arc* counts now."""
        flags = self.flags[self.source[arc]]
        return bool(flags) and (
            bool(flags & PINNED) or self.reference[arc] not in self.while_pinned
        )

    def strengthen(self, slot: int, *, gained: int = 0, lost: int = 0) -> None:
        """Set and clear bits of an object, one of which keeps it by itself."""
        if self.flags[slot] == COLLECTIBLE:
            self._revive(slot)
        self.flags[slot] = self.flags[slot] & ~lost | gained

    def pin(self, slot: int) -> None:
        """The object is kept by itself, and keeps its members."""
        if not self.flags[slot] & PINNED:
            self.strengthen(slot, gained=PINNED)
            for arc in self.arcs(slot):
                if self.reference[arc] in self.while_pinned:
                    self._gain(self.target[arc])

    def unpin(self, slot: int) -> None:
        """The opposite of `pin`."""
        if self.flags[slot] & PINNED:
            self.flags[slot] &= ~PINNED
            for arc in self.arcs(slot):
                if self.reference[arc] in self.while_pinned:
                    self.count[self.target[arc]] -= 1

    def begin_marks(self) -> None:
        """Nobody is a candidate."""
        self.colour = bytearray(len(self.flags))
        self.internal = array("I", bytes(4 * len(self.flags)))
        self.grey.clear()

    def shade(self, slot: int) -> None:
        """A candidate stays, with all that it keeps: this is found out in the next slice."""
        if NEW <= self.colour[slot] <= WHITE:
            self.colour[slot] = GREY
            self.grey.append(slot)

    def _gain(self, target: int) -> None:
        self.count[target] += 1
        if self.flags[target] == COLLECTIBLE:
            self._revive(target)

    def _revive(self, slot: int) -> None:
        self.revivals += 1
        self.shade(slot)

    def _cut(self, arc: int) -> None:
        """Free an *arc* that is in no list any more."""
        source, target = self.source[arc], self.target[arc]
        self.inbound[target] -= 1
        if self.keeps(arc):
            self.count[target] -= 1
            if self.colour[source] == WHITE and NEW <= self.colour[target] <= WHITE:
                self.internal[target] -= 1  # where a later arc would not be in it, it is shaded
            elif self.colour[source] == GREY:
                self.shade(target)  # whether the arc was subtracted is not known
        self.source[arc] = self.target[arc] = self.next[arc] = 0
        self._free_arcs.append(arc)
        self._free(target)

    def _free(self, slot: int) -> None:
        """Take the slot back, if nobody is there, and nothing refers to it or waits for it."""
        if not (self.inbound[slot] or self.flags[slot] or self.first[slot]):
            del self.index[self.ids.pop(slot)]
            self._free_slots.append(slot)
