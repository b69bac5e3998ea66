"""The result of a compile: the prompt, and the manifest that accounts for it."""

from typing import Literal, TypeAlias

import msgspec

from .blocks import PromptBlock, text_of
from .request import Section, Strategy, Trust
from .segments import Epoch, Prefix, Segment

State: TypeAlias = Literal["in", "partial", "out"]
# "exact": the same data in the CTX notation; "condensed": the same facts in fewer words.
Form: TypeAlias = Literal["", "exact", "condensed"]


class Neutralised(msgspec.Struct, frozen=True):
    """Something in a text that could act on a model or a terminal, and was neutralised."""

    # "<|im_start|>", "ansi", "control", "bidi", "hidden", "fence", "secret"; "order" stays as it is
    what: str
    count: int


class ManifestEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One item that was considered, and the decision about it."""

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
    lines: tuple[tuple[int, int], ...] = ()  # first and last included line, as in the source
    neutralised: tuple[Neutralised, ...] = ()
    form: Form = ""  # of its text, if it is not the original
    saved: int = 0  # tokens that the form saves
    stale: bool = False  # its source has changed since it was locked
    edited: tuple[str, ...] = ()  # the editors


class EditNote(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a person's edit."""

    section: str
    item: str  # "" for the section's own text
    by: str
    note: str
    applied: bool
    why: str = ""  # the reason if it was not applied


class PassedOver(msgspec.Struct, frozen=True):
    """Items of a very large section that Cortex did not check one by one."""

    section: Section
    count: int
    reason: str


class FixedPart(msgspec.Struct, frozen=True):
    """Text of a section that is not an item: its heading, the persona, the step."""

    section: Section
    tokens: int
    neutralised: tuple[Neutralised, ...] = ()
    edited: tuple[str, ...] = ()  # the editors


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Every item considered and every token of the prompt, each exactly once.

    `tokens` is the sum of all `items[].tokens` and `fixed[].tokens`, and of `sections` too.
    """

    position: int  # position of the log at which the view was taken
    encoding: str
    exact: bool = True  # otherwise token counts are upper bounds, because the encoding is unknown
    window: int
    effective_window: int
    headroom: int
    budgets: dict[str, int]
    tokens: int
    sections: dict[str, int]
    items: tuple[ManifestEntry, ...]
    fixed: tuple[FixedPart, ...]
    epochs: int = 0  # how often earlier turns were shortened for later ones
    declared: tuple[Epoch, ...] = ()  # each of them
    segments: tuple[Segment, ...] = ()
    eligible: int = 0  # tokens of stretches that a later prompt may read from a cache
    strategy: Strategy = "pre-assembled"
    passed_over: tuple[PassedOver, ...] = ()
    warnings: tuple[str, ...] = ()
    edits: tuple[EditNote, ...] = ()  # by people, in order
    compiler: int = 1  # version of the compiler; 1 kept a prompt as one text
    framing: int = 0  # tokens that an API adds around what is sent; an estimate, not in `tokens`

    @property
    def prefix(self) -> Prefix:
        """The part that the next prompt can keep: `View.prefix`."""
        return Prefix(segments=self.segments, declared=self.declared)


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled prompt; equal inputs give equal bytes."""

    blocks: tuple[PromptBlock, ...]
    encoded: bytes  # their canonical encoding
    digest: str  # SHA-256 of that
    tokens: int  # of what is sent, exact under manifest.encoding
    sections: dict[str, int]
    manifest: Manifest

    @property
    def text(self) -> str:
        """The prompt as one text."""
        return text_of(self.blocks)
