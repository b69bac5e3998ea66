"""Gather and scope: all candidate items, and those that this step may see."""

from functools import cached_property
from typing import Final

import numpy as np

from cortex.runtime.retrieval import Places

from ..errors import ItemRepeatedError
from ..material import Left
from ..prompt import PassedOver
from ..request import SECTIONS, Item, Request, tool_id
from .item_index import Columns, ItemIndex

LISTED: Final = 1_000  # items that are out of scope and listed one by one; more are counted


class Gathered:
    """Items of the store, in log order, then those that the step names; by index, from 0."""

    def __init__(self, held: ItemIndex, named: ItemIndex) -> None:
        self.held = held
        self.named = named
        self.columns = held.columns().followed_by(self._named_columns())

    def __len__(self) -> int:
        return len(self.held.items) + len(self.named.items)

    def item(self, place: int) -> Item:
        """The item at index *place*."""
        held = self.held.items
        return held[place] if place < len(held) else self.named.items[place - len(held)]

    def place(self, item_id: str) -> int | None:
        """The index of the item with that id; None if there is none."""
        if item_id in self.named.places:
            return len(self.held.items) + self.named.places[item_id]
        return self.held.places.get(item_id)

    def producer(self, step_id: str) -> int:
        """What `columns.producer` has for a step; -1 if no item is its output."""
        return self._producers.get(step_id, -1)

    @cached_property
    def superseded(self) -> dict[str, str]:
        """Ids of superseded items, each with that of what supersedes it."""
        return {**self.held.superseded, **self.named.superseded}

    @cached_property
    def _producers(self) -> dict[str, int]:
        more = dict(self.held.producers)
        for producer in self.named.producers:
            more.setdefault(producer, len(more))
        return more

    def _named_columns(self) -> Columns:
        columns = self.named.columns()
        numbers = [self.producer(name) for name in self.named.producers]
        renumbered = np.array(numbers, np.int32)[columns.producer] if numbers else columns.producer
        return columns._replace(producer=renumbered)


def gather(request: Request, held: ItemIndex) -> Gathered:
    """All candidate items.

    Raises:
        ItemRepeatedError: Two items have the same id, so that no manifest could tell them apart.
    """
    named = ItemIndex(request.items)
    seen = set(named.places)
    others = [tool_id(tool) for tool in request.tools]
    others += [said.id for turn in request.turns for said in turn.said]
    for item_id in others:
        if item_id in seen:
            raise ItemRepeatedError(item_id)
        seen.add(item_id)
    for item_id in seen:
        if item_id in held.places:
            raise ItemRepeatedError(item_id)
    return Gathered(held, named)


def scope(
    gathered: Gathered, request: Request
) -> tuple[Places, list[Left], tuple[PassedOver, ...]]:
    """Leave out outputs of earlier steps that this one does not carry, and superseded items.

    Required items stay.

    Returns:
        Indexes of the remaining items, ascending; the removed ones; and how many more.
    """
    columns = gathered.columns
    mine = [gathered.producer(step) for step in ("", request.step.id, *request.carry)]
    foreign = ~np.isin(columns.producer, mine) & ~columns.must
    old = np.zeros(len(gathered), np.bool_)
    old[[at for each in gathered.superseded if (at := gathered.place(each)) is not None]] = True
    old &= ~foreign & ~columns.must
    out = np.flatnonzero(foreign | old)
    left = [_left(gathered, int(at), bool(foreign[at])) for at in out[:LISTED]]
    return np.flatnonzero(~(foreign | old)), left, _counted(columns, out[LISTED:])


def _left(gathered: Gathered, place: int, foreign: bool) -> Left:
    item = gathered.item(place)
    if foreign:
        return Left(item, f"output of step {item.produced_by}, which is not carried")
    return Left(item, f"superseded by {gathered.superseded[item.id]}")


def _counted(columns: Columns, out: Places) -> tuple[PassedOver, ...]:
    counts = np.bincount(columns.section[out], minlength=len(SECTIONS))
    return tuple(
        PassedOver(section, int(count), "output of a step that is not carried, or superseded")
        for section, count in zip(SECTIONS, counts, strict=True)
        if count
    )
