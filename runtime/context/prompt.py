"""What a compile gives back: the prompt, and the manifest that accounts for it."""

from typing import Literal, TypeAlias

import msgspec

from .request import Section, Strategy, Trust

State: TypeAlias = Literal["in", "partial", "out"]
# "exact": the same data in the CTX notation; "condensed": the same facts in fewer words.
Form: TypeAlias = Literal["", "exact", "condensed"]
Stretch: TypeAlias = Literal["stable", "epoch", "append", "volatile"]


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


class PassedOver(msgspec.Struct, frozen=True):
    """Items of a very large section that were not looked at one by one."""

    section: Section
    count: int
    reason: str


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """One stretch of the prompt; the stretches in order are all of it."""

    stretch: Stretch
    tokens: int
    end: int  # bytes of the prompt up to its end: a breakpoint may stand there
    digest: str  # sha256 of the prompt up to its end: equal ones can be read from a cache


class Epoch(msgspec.Struct, frozen=True, kw_only=True):
    """Earlier bytes were written anew, from this prompt on."""

    number: int  # from 1
    turn: int  # of the step, before which it was declared
    why: Literal["room", "price"]
    shed: int  # tokens that the prompt lost
    rewritten: int  # tokens behind the first changed byte, which no cache can have


class FixedPart(msgspec.Struct, frozen=True):
    """Text of a section that is no item: its heading, the persona, the step."""

    section: Section
    tokens: int
    neutralised: tuple[Neutralised, ...] = ()


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """Every item considered and every token of the prompt, each exactly once.

    `tokens` is the sum of all `items[].tokens` and `fixed[].tokens`, and of `sections` too.
    """

    position: int  # of the log, where the view was taken
    encoding: str
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


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled prompt; equal inputs give equal bytes."""

    text: str
    digest: str  # sha256 of the text in UTF-8
    tokens: int  # of the text, exact under manifest.encoding
    sections: dict[str, int]
    manifest: Manifest
