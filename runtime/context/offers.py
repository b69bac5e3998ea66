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
    line_numbers: tuple[int, ...] = ()  # of every line, where it is an excerpt of something
    first_line: int = 1  # where it is one run of lines
    trust: Trust = "untrusted"


def items_of(step_id: str, result: dict[str, Any]) -> tuple[Item, ...]:
    """The items that a carried *result* comes to: what it offers, or the whole of it as JSON."""
    offers = result.get(OFFERS)
    if not offers:
        text = msgspec.json.format(msgspec.json.encode(result), indent=1).decode()
        return (_item(step_id, 1, Offer(kind="output", text=text)),)
    parsed = msgspec.convert(offers, tuple[Offer, ...])
    return tuple(_item(step_id, n, offer) for n, offer in enumerate(parsed, 1))


def _item(step_id: str, n: int, offer: Offer) -> Item:
    return Item(
        id=f"{step_id}/{offer.id or n}" if offer.id or n > 1 else step_id,
        section="history",
        kind=offer.kind,
        text=offer.text,
        source=offer.source,
        line_numbers=offer.line_numbers,
        first_line=offer.first_line,
        produced_by=step_id,
        trust=offer.trust,
    )
