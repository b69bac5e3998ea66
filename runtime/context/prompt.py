"""What a compile gives back: the prompt, and the manifest that accounts for it."""

from typing import Literal, TypeAlias

import msgspec

from .request import Section, Strategy, Trust
from .segments import Epoch, Prefix, Segment

State: TypeAlias = Literal["in", "partial", "out"]
# "exact": the same data in the CTX notation; "condensed": the same facts in fewer words.
Form: TypeAlias = Literal["", "exact", "condensed"]


class Neutralised(msgspec.Struct, frozen=True):
    """Something in a text that could act on a model or a terminal, and was made harmless."""

    # "<|im_start|>", "ansi", "control", "bidi", "hidden", "fence", "secret"; "order" stays as it is
    what: str
    count: int


class ManifestEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one item that was considered."""

    id: str
    section: Section
    kind: str
    state: State
    reason: str
    tokens: int  # of the prompt, fence included; 0 when out
    whole_tokens: int  # of the item alone, uncut; 0 when it was not counted
    score: float
    priority: int
    must_include: bool
    trust: Trust
    source: str
    digest: str
    lines: tuple[tuple[int, int], ...] = ()  # first and last line of what is in, as in the source
    neutralised: tuple[Neutralised, ...] = ()
    form: Form = ""  # in which its text stands, where that is not its own
    saved: int = 0  # tokens that the form takes less than the text
    stale: bool = False  # its source is not as it was when it was locked
    edited: tuple[str, ...] = ()  # by whom


class EditNote(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an edit by a person."""

    section: str
    item: str  # "" for the section's own text
    by: str
    note: str
    applied: bool
    why: str = ""  # it was not


class PassedOver(msgspec.Struct, frozen=True):
    """Items of a very large section that were not looked at one by one."""

    section: Section
    count: int
    reason: str


class FixedPart(msgspec.Struct, frozen=True):
    """Text of a section that is no item: its heading, the persona, the step."""

    section: Section
    tokens: int
    neutralised: tuple[Neutralised, ...] = ()
    edited: tuple[str, ...] = ()  # by whom


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Every item considered and every token of the prompt, each exactly once.

    `tokens` is the sum of all `items[].tokens` and `fixed[].tokens`, and of `sections` too.
    """

    position: int  # of the log, where the view was taken
    encoding: str
    exact: bool = True  # else each count of tokens is an upper bound: nobody knows the encoding
    window: int
    effective_window: int
    headroom: int
    budgets: dict[str, int]
    tokens: int
    sections: dict[str, int]
    items: tuple[ManifestEntry, ...]
    fixed: tuple[FixedPart, ...]
    epochs: int = 0  # how often earlier turns were shortened to make room for later ones
    declared: tuple[Epoch, ...] = ()  # each of them
    segments: tuple[Segment, ...] = ()
    eligible: int = 0  # tokens of stretches that a later prompt may read from a cache
    strategy: Strategy = "pre-assembled"
    passed_over: tuple[PassedOver, ...] = ()
    warnings: tuple[str, ...] = ()
    edits: tuple[EditNote, ...] = ()  # by people, in order

    @property
    def prefix(self) -> Prefix:
        """What the next prompt can keep of this one: `View.prefix`."""
        return Prefix(segments=self.segments, declared=self.declared)


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled prompt; equal inputs give equal bytes."""

    text: str
    digest: str  # sha256 of the text in UTF-8
    tokens: int  # of the text, exact under manifest.encoding
    sections: dict[str, int]
    manifest: Manifest
