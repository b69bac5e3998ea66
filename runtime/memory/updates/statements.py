"""What is compared: a dated statement, and that one replaces another."""

from typing import Final

import msgspec

SURE: Final = 0.95  # certainty from which an edge may be recorded without a person
LIKELY: Final = 0.5  # from which a newer statement is ranked above the older one


class Statement(msgspec.Struct, frozen=True, gc=False):
    """Something that was said, decided or seen at a time."""

    id: str
    text: str
    time_ns: int
    speaker: str = ""  # who "I" and "my" are; "" where that is not known
    kind: str = "observation"


class Replacement(msgspec.Struct, frozen=True, gc=False):
    """That an older statement is no longer current."""

    old_id: str
    certainty: float  # from 0 to 1; from `SURE` on it may be recorded as an edge
    reason: str  # for a person: what was compared


class Hit(msgspec.Struct, frozen=True, gc=False):
    """A statement that was found for a question."""

    statement: Statement
    score: float
    replaced_by: str = (
        ""  # id of what is current in its place, at the end of its `supersedes` edges
    )
