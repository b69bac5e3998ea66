"""The prompt as messages of typed blocks, as it is sent; the text form is only a view.

The canonical encoding is lines of JSON: the format, each block, and
the places of breakpoints. So a prompt that begins with the blocks of another begins with its
bytes, independent of breakpoints.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from .request import ANSWER_TOKENS, MESSAGE_TOKENS, Item, Section, Trust
from .segments import Stretch

# Version of the compiler: 1 rendered and stored one text, 2 had fewer rules that condense prose, 3
# was given carried results without their positions, links and confidence, 4 condensed prose by
# fewer rules, of which some could say something else.
COMPILER: Final = 5
HEAD: Final = b'{"cortex.prompt":2}\n'

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
# "heading" of a section; its "own" text; a "tool" that may be called; an "item"; in turns, what
# the model "said", a "call", and its "result".
BlockKind: TypeAlias = Literal["heading", "own", "tool", "item", "said", "call", "result"]

CALL_TOKENS: Final = 6  # for the id of a call, in the call and in its result


class TurnItem(Item, frozen=True, kw_only=True):
    """One part of a turn as the passes see it; its role follows from its event."""

    role: Role
    turn: int
    tool: str = ""  # that was called
    call: str = ""  # id that joins a call and its result
    failed: bool = False  # a call without a result


class PromptBlock(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One part of a prompt; the blocks in order are the whole prompt."""

    role: Role
    kind: BlockKind
    section: Section
    stretch: Stretch
    trust: Trust = "trusted"  # of the text: untrusted text is in a fence, or part of a turn
    item: str = ""  # id in the manifest; "" if it is not an item
    material: str = ""  # kind of the item
    opening: str = ""  # line that opens its fence
    text: str  # without the fence; for a call its arguments, a JSON object
    closing: str = ""
    lines: tuple[tuple[int, int], ...] = ()  # first and last source line of each included run
    turn: int | None = None  # turn of the step
    tool: str = ""  # the called tool
    call: str = ""  # id that joins a call and its result
    failed: bool = False  # a call without a result
    breakpoint: bool = False  # an endpoint should cache the prompt up to its end

    @property
    def sent(self) -> str:
        """The text that a model reads, without the API's framing."""
        return "".join(self.pieces)

    @property
    def pieces(self) -> tuple[str, str, str]:
        """What is sent: before the text, the text, and behind it."""
        if self.role != "assistant":
            return self.opening, self.text, self.closing
        return f"{self.tool} " if self.kind == "call" else "", self.text, ""

    @property
    def shown(self) -> str:
        """Its part of the text view, in which answers of a model are fenced, too."""
        return f"{self.opening}{self.text}{self.closing}"


class Message(NamedTuple):
    """Consecutive blocks of one role."""

    role: Role
    blocks: tuple[PromptBlock, ...]


class Parts(NamedTuple):
    """A prompt's parts; every block is in `system`, in `user` or is a tool."""

    system: str  # persona, instructions, and the text of the section of tools
    tools: tuple[dict[str, Any], ...]  # "name", "description" and "parameters" of each
    user: str  # everything after that, including turns


def messages_of(blocks: Iterable[PromptBlock], *, calls: bool = True) -> tuple[Message, ...]:
    """The messages of a prompt, without the offered tools.

    Without *calls*, calls and their results become texts: endpoints accept them as calls
    and results only together with tools.
    """
    spoken = (block for block in blocks if block.kind != "tool")
    told = spoken if calls else map(_in_words, spoken)
    return tuple(Message(role, tuple(run)) for role, run in groupby(told, lambda b: b.role))


def _in_words(block: PromptBlock) -> PromptBlock:
    if block.kind == "result":
        return replace(block, role="user", kind="item")
    if block.kind == "call":
        text = f"(called {block.tool} with {block.text.rstrip()})\n"
        return replace(block, kind="said", text=text)
    return block


def text_of(blocks: Iterable[PromptBlock]) -> str:
    """The prompt as one text, for people and for models that need one."""
    return "".join(block.shown for block in blocks)


def parts_of(blocks: Sequence[PromptBlock]) -> Parts:
    """The parts of a prompt."""
    spoken = [block for block in blocks if block.kind != "tool"]
    return Parts(
        text_of(block for block in spoken if block.role == "system"),
        tools_of(blocks),
        text_of(block for block in spoken if block.role != "system"),
    )


def tools_of(blocks: Sequence[PromptBlock]) -> tuple[dict[str, Any], ...]:
    """The tools that a model may call, each with "name", "description" and "parameters"."""
    return tuple(msgspec.json.decode(block.text) for block in blocks if block.kind == "tool")


def framing_tokens(blocks: Sequence[PromptBlock]) -> int:
    """An estimate of the tokens that an API adds, since each API frames messages in its own way."""
    messages, joined, before = 0, 0, ""
    for block in blocks:
        if block.kind == "tool":
            continue
        # Each result is a message of its own.
        messages += block.role != before or block.kind == "result"
        joined += block.kind in ("call", "result")
        before = block.role
    return ANSWER_TOKENS + MESSAGE_TOKENS * messages + CALL_TOKENS * joined


def with_breakpoints(blocks: Sequence[PromptBlock], *, lasting: bool) -> tuple[PromptBlock, ...]:
    """*blocks* with breakpoints where an earlier prompt may have ended, or a later one will.

    They are at the end of each stretch, and of the turn before the newest one.

    Args:
        blocks: Without breakpoints.
        lasting: Whether another turn may reuse the prompt; otherwise only its stable stretch is.
    """
    ends = {block.stretch: at for at, block in enumerate(blocks)}
    ends.pop("volatile", None)
    marked = {at for stretch, at in ends.items() if lasting or stretch == "stable"}
    turns = [block.turn for block in blocks if block.turn is not None]
    if lasting and turns:
        before = [at for at, each in enumerate(blocks) if each.turn not in (None, turns[-1])]
        marked.update(before[-1:])
    return tuple(
        replace(block, breakpoint=True) if at in marked else block
        for at, block in enumerate(blocks)
    )


class _Places(msgspec.Struct):
    breakpoints: tuple[int, ...]  # of blocks, from 0


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(PromptBlock).decode


def line_of(block: PromptBlock) -> bytes:
    """A block in the canonical encoding, without its breakpoint."""
    return _encode(replace(block, breakpoint=False) if block.breakpoint else block) + b"\n"


def encode(blocks: Sequence[PromptBlock], data: bytes = b"") -> bytes:
    """The canonical encoding of a prompt; its digest is over these bytes.

    Args:
        blocks: All blocks.
        data: The encoding without the breakpoints, if it exists already.
    """
    begun = data or b"".join((HEAD, *map(line_of, blocks)))
    places = _Places(tuple(at for at, block in enumerate(blocks) if block.breakpoint))
    return begun + _encode(places) + b"\n"


def decode(data: bytes) -> tuple[PromptBlock, ...]:
    """The inverse of `encode`.

    Raises:
        msgspec.DecodeError: *data* is not an encoded prompt.
    """
    head, *lines = data.removesuffix(b"\n").split(b"\n")
    if head + b"\n" != HEAD or not lines:
        raise msgspec.DecodeError("it does not begin as a prompt does")
    marked = msgspec.json.decode(lines.pop(), type=_Places).breakpoints
    blocks = map(_decode, lines)
    return tuple(
        replace(block, breakpoint=True) if at in marked else block
        for at, block in enumerate(blocks)
    )
