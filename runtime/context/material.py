"""Gather, scope and deduplicate: which items are looked at for this step at all."""

import hashlib
from typing import NamedTuple

from .errors import ItemRepeatedError
from .prompt import Neutralised
from .request import Item, Request, View, tool_id
from .sanitise import sanitise


class Clean(NamedTuple):
    """An item with its text made harmless."""

    item: Item
    text: str
    neutralised: tuple[Neutralised, ...]


class Left(NamedTuple):
    """An item that is not in the prompt, and why."""

    item: Item
    reason: str
    neutralised: tuple[Neutralised, ...] = ()
    whole_tokens: int = 0
    score: float = 0.0


def gather(request: Request, view: View) -> tuple[Item, ...]:
    """Everything that may be in: what the store holds, in log order, then what the step names.

    Raises:
        ItemRepeatedError: Two items have the same id, so that no manifest could tell them apart.
    """
    items = (*view.items, *request.items)
    ids = [item.id for item in items]
    ids += [tool_id(tool) for tool in request.tools]
    ids += [said.id for turn in request.turns for said in turn.said]
    seen: set[str] = set()
    for item_id in ids:
        if item_id in seen:
            raise ItemRepeatedError(item_id)
        seen.add(item_id)
    return items


def scope(items: tuple[Item, ...], request: Request) -> tuple[list[Item], list[Left]]:
    """Leave out what earlier steps made and this one does not carry; what must be in stays."""
    kept: list[Item] = []
    left: list[Left] = []
    for item in items:
        foreign = item.produced_by not in ("", request.step.id, *request.carry)
        if foreign and not item.must_include:
            left.append(Left(item, f"output of step {item.produced_by}, which is not carried"))
        else:
            kept.append(item)
    return kept, left


def clean(items: list[Item]) -> tuple[list[Clean], list[Left]]:
    """Sanitise every text; an item without text is left out."""
    kept: list[Clean] = []
    left: list[Left] = []
    for item in items:
        text, neutralised = sanitise(item.text)
        if text.strip():
            kept.append(Clean(item, text, neutralised))
        else:
            left.append(Left(item, "empty", neutralised))
    return kept, left


def deduplicate(items: list[Clean]) -> tuple[list[Clean], list[Left]]:
    """Keep one of several items with the same words: what must be in, then the first.

    What must be in is never left out, even where two such items are equal.
    """
    first: dict[str, str] = {}
    for entry in sorted(items, key=lambda entry: not entry.item.must_include):
        first.setdefault(_fingerprint(entry.text), entry.item.id)
    kept: list[Clean] = []
    left: list[Left] = []
    for entry in items:
        twin = first[_fingerprint(entry.text)]
        if twin == entry.item.id or entry.item.must_include:
            kept.append(entry)
        else:
            left.append(Left(entry.item, f"same text as {twin}", entry.neutralised))
    return kept, left


def _fingerprint(text: str) -> str:
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()
