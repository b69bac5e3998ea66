"""What the collector goes by: when a generation is due, who is promoted, which references keep."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

ObjectKind = Literal["node", "chain", "execution", "package", "artefact"]
Keeps = Literal[
    "target",  # whoever refers keeps what it refers to; so does a kind that is not listed
    "source",  # what is referred to keeps whoever refers to it: an effect keeps its cause
    "while_pinned",  # as "target", while the source is pinned
    "nothing",
]
REFERS = "refers"  # the kind of a reference that names none

KEEPS: dict[str, Keeps] = {
    "led_to": "source",
    "member": "while_pinned",
    "supersedes": "nothing",
}

Count = Annotated[int, Meta(ge=1)]
Collections = Annotated[int, Meta(ge=1, le=255)]  # an age is one byte


class HeapPolicy(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Numbers and a table; docs/gc.md gives the reasons."""

    allocations: Count = 1_000  # generation 0 is due after so many allocations
    minors: Count = 10  # generation 1 is due after so many collections of generation 0 alone
    middles: Count = 10  # generation 2 is due after so many collections of generation 1
    survived: tuple[Collections, Collections] = (2, 5)  # promoted from 0, from 1, after so many
    uses: Collections = 2  # an object of generation 0 that was used so often is promoted
    listed: Count = 250  # most ids in one `Collection`: it fits into an event, and is soon applied
    remembered: Count = 20_000  # collected objects, newest last, that can be restored by their id
    keeps: dict[str, Keeps] = field(default_factory=KEEPS.copy)  # by kind of reference
