"""What a step's result may offer to the contexts of the steps that carry it."""

from typing import Any

import msgspec

from .request import Item, Trust

OFFERS = "context"  # the field of a result that holds them


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a step's result, in the form in which a model should see it."""

    kind: str  # "evidence", "code", "output", ...
    id: str = ""  # such as a path; what the prompt calls it is "<step>/<id>"
    text: str
    source: str = ""  # path or URL it was taken from
    line_numbers: tuple[int, ...] = ()  # one a line, of an excerpt; end its text with "\n"
    first_line: int = 1  # where it is one run of lines
    trust: Trust = "untrusted"


def items_of(step_id: str, result: dict[str, Any]) -> tuple[Item, ...]:
    """The items that a carried *result* comes to: what it offers, or the whole of it as JSON."""
    offers = _offers(result)
    if not offers:
        text = msgspec.json.format(msgspec.json.encode(result), indent=1).decode()
        offers = (Offer(kind="output", text=text),)
    named: dict[str, Offer] = {}
    for n, offer in enumerate(offers, 1):
        item_id = f"{step_id}/{offer.id or n}" if offer.id or n > 1 else step_id
        while item_id in named:  # an action may offer two pieces of one file
            item_id += "+"
        named[item_id] = offer
    return tuple(_item(step_id, item_id, offer) for item_id, offer in named.items())


def _offers(result: dict[str, Any]) -> tuple[Offer, ...]:
    try:
        return msgspec.convert(result.get(OFFERS) or (), tuple[Offer, ...])
    except msgspec.ValidationError:
        return ()  # a field like others, of an action that knows nothing of offers


def _item(step_id: str, item_id: str, offer: Offer) -> Item:
    return Item(
        id=item_id,
        section="history",
        kind=offer.kind,
        text=offer.text,
        source=offer.source,
        line_numbers=offer.line_numbers,
        first_line=offer.first_line,
        produced_by=step_id,
        trust=offer.trust,
    )
