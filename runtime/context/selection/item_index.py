"""Indexes very many items in columns, cached with their view.

A history grows by appending: its index adds the new items, so that a compile costs only those and
the examined ones, not the whole history.
"""

from array import array
from collections.abc import Iterator, Sequence
from operator import is_
from threading import Lock
from typing import Final, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from ..errors import ItemRepeatedError
from ..request import SECTIONS, Item
from .word_places import WordPlaces

VIEWS: Final = 2  # whose indexes are kept
FEWEST: Final = 1_000  # items of a view, below which making its index anew is as cheap

_PLACES: Final = {section: place for place, section in enumerate(SECTIONS)}
Mask = npt.NDArray[np.bool_]


class Columns(NamedTuple):
    """One value per item, in order."""

    section: npt.NDArray[np.int8]  # its place in SECTIONS
    producer: npt.NDArray[np.int32]  # by `ItemIndex.producers`
    must: Mask  # must_include
    raised: Mask  # of a higher priority
    score: npt.NDArray[np.float64]

    def followed_by(self, others: "Columns") -> "Columns":
        """These followed by *others*."""
        return Columns(
            np.concatenate([self.section, others.section]),
            np.concatenate([self.producer, others.producer]),
            np.concatenate([self.must, others.must]),
            np.concatenate([self.raised, others.raised]),
            np.concatenate([self.score, others.score]),
        )


class TextsOf(Sequence[str]):
    """The texts of items, without a list of them: the garbage collector would look at each."""

    def __init__(self, items: tuple[Item, ...] = ()) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, int):
            return self.items[place].text
        return [item.text for item in self.items[place]]

    def __iter__(self) -> Iterator[str]:
        return (item.text for item in self.items)


class ItemIndex:
    """Items in order, with the columns that passes need.

    Raises:
        ItemRepeatedError: Two items have the same id.
    """

    def __init__(self, items: tuple[Item, ...]) -> None:
        self.items: tuple[Item, ...] = ()
        self.texts = TextsOf()
        self.places: dict[str, int] = {}  # by id
        self.superseded: dict[str, str] = {}  # ids, each with that of what supersedes it
        self.producers: dict[str, int] = {}
        self.words = WordPlaces()  # in `texts`
        self._sections = array("b")
        self._producers = array("i")
        self._must = array("b")
        self._raised = array("b")
        self._scores = array("d")
        self.grow(items)

    def begins(self, items: tuple[Item, ...]) -> bool:
        """Whether the first of *items* are those of this index."""
        size = len(self.items)
        # Nearly always they are the same objects. A slice would be a copy, which touches each item.
        return len(items) >= size and (
            all(map(is_, self.items, items)) or items[:size] == self.items
        )

    def grow(self, whole: tuple[Item, ...]) -> None:
        """Append those of *whole* that are new; its first items are those of this index."""
        items = whole[len(self.items) :]
        for item in items:
            if item.id in self.places:
                raise ItemRepeatedError(item.id)
            self.places[item.id] = len(self.places)
        self.items = self.texts.items = whole  # the same tuple: a copy touches every item
        producers = self.producers
        self._sections.extend([_PLACES[item.section] for item in items])
        self._producers.extend(
            [producers.setdefault(item.produced_by, len(producers)) for item in items]
        )
        self._must.extend([item.must_include for item in items])
        self._raised.extend([item.priority > 0 for item in items])
        self._scores.extend([item.score for item in items])
        linked = [item for item in items if item.links]
        self.superseded.update(
            (link.to, item.id)
            for item in linked
            for link in item.links
            if link.edge == "supersedes" and link.to != item.id
        )

    def columns(self) -> Columns:
        """A copy of all columns, which later growth does not change."""
        return Columns(
            np.array(self._sections, np.int8),
            np.array(self._producers, np.int32),
            np.array(self._must, np.bool_),
            np.array(self._raised, np.bool_),
            np.array(self._scores, np.float64),
        )


class Views:
    """Indexes of the last compiled views; equal views have equal indexes."""

    def __init__(self) -> None:
        self.lock = Lock()  # held while an index is used: it grows
        self._known: list[ItemIndex] = []  # the newest last

    def index(self, items: tuple[Item, ...]) -> ItemIndex:
        """The index of *items*; if all but the last ones are known, reads only these.

        Raises:
            ItemRepeatedError: Two items have the same id.
        """
        if len(items) < FEWEST:
            return ItemIndex(items)
        for known in reversed(self._known):
            if known.begins(items):
                self._known.remove(known)
                known.grow(items)
                self._known.append(known)
                return known
        made = ItemIndex(items)
        self._known = [*self._known, made][-VIEWS:]
        return made
