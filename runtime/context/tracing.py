"""What each pass of a compile saw, did and why: the compile itself is the same without it."""

from collections.abc import Iterable

import msgspec

from .prompt import Prompt


class Note(msgspec.Struct, frozen=True):
    """What a pass did with one item, and why."""

    item: str
    did: str  # "kept", "left out", "neutralised", "scored", "compressed", "chosen", "placed", ...
    why: str = ""


class PassTrace(msgspec.Struct, frozen=True):
    """One pass."""

    name: str
    saw: int  # items, or what the pass is about
    kept: int
    notes: tuple[Note, ...] = ()


class ScoredChunk(msgspec.Struct, frozen=True):
    """One chunk of an item, and what it is worth a token to the step."""

    item: str
    lines: tuple[int, ...]  # their numbers in the source, ascending
    heading: str
    score: float


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """A compile by its passes; `refused` says why there is no prompt."""

    passes: tuple[PassTrace, ...]
    chunks: tuple[ScoredChunk, ...] = ()  # in the order of their items and lines
    prompt: Prompt | None = None
    refused: str = ""

    def of(self, name: str) -> PassTrace:
        """The pass called *name*.

        Raises:
            KeyError: It did not come to that pass.
        """
        for each in self.passes:
            if each.name == name:
                return each
        raise KeyError(name)


class Watch:
    """Takes down what passes tell; a pass that runs again replaces what it told before."""

    def __init__(self) -> None:
        self._passes: dict[str, PassTrace] = {}
        self.chunks: tuple[ScoredChunk, ...] = ()

    def tell(self, name: str, saw: int, kept: int, notes: Iterable[Note]) -> None:
        """Take down a pass."""
        self._passes[name] = PassTrace(name, saw, kept, tuple(notes))

    @property
    def passes(self) -> tuple[PassTrace, ...]:
        """All that was told."""
        return tuple(self._passes.values())
