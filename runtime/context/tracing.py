"""Records what each pass of a compile saw, did and why, without changing the compile."""

from collections.abc import Iterable

import msgspec

from .prompt import Prompt


class Note(msgspec.Struct, frozen=True):
    """The action of a pass on one item, and why."""

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
    """One chunk of an item, and its value per token for the step."""

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
            KeyError: The compile ended before that pass.
        """
        for each in self.passes:
            if each.name == name:
                return each
        raise KeyError(name)


class Watch:
    """Records the notes of passes; a pass that runs again replaces its earlier notes."""

    def __init__(self) -> None:
        self._passes: dict[str, PassTrace] = {}
        self.chunks: tuple[ScoredChunk, ...] = ()

    def tell(self, name: str, saw: int, kept: int, notes: Iterable[Note]) -> None:
        """Record a pass."""
        self._passes[name] = PassTrace(name, saw, kept, tuple(notes))

    @property
    def passes(self) -> tuple[PassTrace, ...]:
        """All records."""
        return tuple(self._passes.values())
