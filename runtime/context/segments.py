"""The stretches of a prompt, the epochs that wrote some anew, and what the next prompt can keep."""

from typing import Literal, TypeAlias

import msgspec

Stretch: TypeAlias = Literal["stable", "epoch", "append", "volatile"]
# "room", "price": turns of the step had to be, or might as well be, shortened. "stable": persona,
# instructions or tools are others. "gone", "changed": so is material that stood in it. "order":
# what came since is more than what would be written anew. "room" too where it has no room behind.
Why: TypeAlias = Literal["room", "price", "stable", "gone", "changed", "order"]


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch of the prompt; the stretches in order are all of it."""

    stretch: Stretch
    tokens: int
    end: int  # bytes of the prompt up to its end: a breakpoint may stand there
    digest: str  # sha256 of the prompt up to its end: equal ones can be read from a cache
    items: tuple[str, ...] = ()  # ids, in the order in which they stand


class Epoch(msgspec.Struct, frozen=True, kw_only=True):
    """From this prompt on, earlier bytes were written again."""

    number: int  # from 1
    turn: int  # of the step, before which it was declared
    why: Why
    shed: int  # tokens that the prompt lost
    rewritten: int  # tokens behind the first changed byte, which no cache can have
    about: str = ""  # the item that is gone, or the stretch that changed
    of_turns: bool = True  # of the turns alone; else of a prompt beside the one before

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
    """What the next prompt can keep of one: its stretches but the last, and how they came to be."""

    segments: tuple[Segment, ...] = ()
    declared: tuple[Epoch, ...] = ()

    @property
    def kept(self) -> tuple[Segment, ...]:
        """Those that a cache may hold."""
        return tuple(each for each in self.segments if each.stretch != "volatile")
