"""The stretches of a prompt, the epochs that rewrote some, and what the next prompt can keep."""

from typing import Literal, TypeAlias

import msgspec

Stretch: TypeAlias = Literal["stable", "epoch", "append", "volatile"]
# "room", "price": turns of the step were shortened for lack of room, or to save. "stable": persona,
# instructions or tools changed. "gone", "changed": so did its material. "order":
# newer material is larger than a rewrite. "room" also if it has no room at the end.
Why: TypeAlias = Literal["room", "price", "stable", "gone", "changed", "order"]


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch of the prompt; the stretches in order are the whole prompt."""

    stretch: Stretch
    tokens: int
    end: int  # bytes of the prompt up to its end: a breakpoint may be there
    digest: str  # sha256 of the prompt up to its end: equal ones can be read from a cache
    items: tuple[str, ...] = ()  # ids, in their order


class Epoch(msgspec.Struct, frozen=True, kw_only=True):
    """From this prompt on, earlier bytes were written again."""

    number: int  # from 1
    turn: int  # of the step, before which it was declared
    why: Why
    shed: int  # tokens that the prompt lost
    rewritten: int  # tokens after the first changed byte, which no cache can have
    about: str = ""  # the item that is gone, or the stretch that changed
    of_turns: bool = True  # only of the turns; False: from a comparison with the previous prompt

    @property
    def because(self) -> str:
        """Why, in words."""
        if self.of_turns:
            return f"for {'its ' if self.why == 'price' else ''}{self.why}"
        return {
            "stable": "because persona, instructions or tools are others",
            "gone": f"because {self.about} is gone",
            "changed": f"because material of the {self.about} stretch has changed",
            "order": "so that newer material takes its place",
        }.get(self.why, f"for {self.why}")


class Prefix(msgspec.Struct, frozen=True, kw_only=True):
    """What the next prompt can keep: all stretches but the last, with their epochs."""

    segments: tuple[Segment, ...] = ()
    declared: tuple[Epoch, ...] = ()

    @property
    def kept(self) -> tuple[Segment, ...]:
        """The cacheable stretches."""
        return tuple(each for each in self.segments if each.stretch != "volatile")
