"""What a step asks of the compiler: which material must or may appear, and how much room there is.

Nothing here can say *where* something appears: order belongs to the compiler.
"""

from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from cortex.runtime.models import Caching, Price

from .segments import Prefix

Section: TypeAlias = Literal[
    "persona", "instructions", "tools", "knowledge", "memory", "history", "step"
]
ItemSection: TypeAlias = Literal["tools", "knowledge", "memory", "history", "step"]
Trust: TypeAlias = Literal["trusted", "untrusted"]
Strategy: TypeAlias = Literal["pre-assembled", "just-in-time"]
Edge: TypeAlias = Literal["supersedes", "refines", "contradicts", "led_to", "caused_by"]
# The prefix law: stable first, then what changes by epochs, then what only grows, then the step.
SECTIONS: Final[tuple[Section, ...]] = (
    "persona",
    "instructions",
    "tools",
    "knowledge",
    "memory",
    "history",
    "step",
)
WINDOW_SHARE: Final = 0.4  # answers get worse well below the window that a model advertises
EFFECTIVE_WINDOW_TOKENS: Final = 24_000
TOOLS_SHARE: Final = 0.1  # what tools take above this share lowers the effective window
OFFERS = "context"  # the field of a result that holds them


class Link(msgspec.Struct, frozen=True):
    """An edge from one item to another; to one that is not considered it says nothing."""

    edge: Edge
    to: str  # id of the other item


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of material: a knowledge file, an earlier output, an excerpt, a memory, a turn."""

    id: str  # unique in one compile; what the manifest and citations call it
    section: ItemSection
    kind: str  # "knowledge", "output", "evidence", "code", "memory", "tool", "turn", ...
    text: str
    source: str = ""  # event id, path or URL that it came from
    digest: str = ""  # sha256 of the source as it was read; of the text when empty
    first_line: int = 1  # number of the first line of text in its source
    line_numbers: tuple[int, ...] = ()  # of every line, ascending, where an excerpt leaves some out
    produced_by: str = ""  # id of the step whose output this is
    must_include: bool = False  # whole, or the compile is refused
    priority: int = 0  # higher classes are fitted first
    score: float = 0.0  # of a retrieval; added to the rest of the score
    trust: Trust = "untrusted"
    logged: int = 0  # its position in the log, where it has one
    confidence: float = 1.0  # 0 to 1: how far its relevance counts
    links: tuple[Link, ...] = ()


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the model may call; what it says of itself is sanitised as every text is."""

    name: str  # as the model calls it
    description: str
    parameters: dict[str, Any]  # JSON Schema
    must_include: bool = True  # or the compile is refused; else it may be left out, whole


TOOL: Final = "tool:"


def tool_id(tool: Tool) -> str:
    """What the manifest calls *tool*; no topic and no step is called so."""
    return TOOL + tool.name


class TurnPart(msgspec.Struct, frozen=True, kw_only=True):
    """One thing of a turn: what the model wrote, or what came of a call."""

    id: str
    kind: str  # "answer", "result", "failed", "denied", "enabled", "problem"
    text: str
    source: str = ""  # the tool
    handle: str = ""  # by which `read_result` gives the whole text again
    extent: str = ""  # of the whole text, in words


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What a model answered to an earlier prompt of the step, and what was observed then."""

    number: int  # of the prompt that was answered, from 0
    said: tuple[TurnPart, ...]


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """What a person changed in a prompt before it was sent."""

    section: str
    item: str = ""  # id of the item; "" for the section's own text
    old: str  # stands there once
    new: str
    by: str = ""
    note: str = ""
    must: bool = False  # else it is passed over where it fits no more


class PromptStep(msgspec.Struct, frozen=True, kw_only=True):
    """The step that the prompt is for."""

    process: str
    id: str
    description: str
    goal: str = ""  # what the whole execution is for
    parameters: dict[str, str] = {}


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """Most tokens a section may take; `headroom` is kept for the answer.

    They are caps and may add up to more than the effective window, which bounds their sum.
    """

    persona: int
    instructions: int
    tools: int
    knowledge: int
    memory: int
    history: int
    step: int
    headroom: int

    @classmethod
    def scaled_to(cls, effective_window: int) -> "Budgets":
        """The default budgets, in proportion to *effective_window*.

        What the author writes (persona, instructions, step) does not get shorter in a smaller
        window, so that those three only grow.
        """
        scale = effective_window / EFFECTIVE_WINDOW_TOKENS
        return cls(
            persona=round(300 * max(scale, 1)),
            instructions=round(1_200 * max(scale, 1)),
            tools=round(3_000 * scale),
            knowledge=round(12_000 * scale),
            memory=round(6_000 * scale),
            history=round(12_000 * scale),
            step=round(3_000 * max(scale, 1)),
            headroom=round(1_500 * scale),
        )


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt to compile."""

    step: PromptStep
    window: int  # tokens that the model takes at most
    persona: str = ""
    instructions: str = ""
    items: tuple[Item, ...] = ()  # named by the process: knowledge, evidence, tools
    carry: tuple[str, ...] = ()  # ids of earlier steps whose outputs this step sees
    tools: tuple[Tool, ...] = ()  # in the order in which they are shown
    answer_schema: dict[str, Any] = {}  # JSON Schema of the answer; free text where it is empty
    turns: tuple[Turn, ...] = ()  # of this step, in order; they end the history
    effective_window: int | None = None  # None: min(0.4 x window, 24,000), lower beside many tools
    budgets: Budgets | None = None  # None: scaled to the effective window
    # Whether what was retrieved stands in front, to be read from a cache again, or at the end,
    # where it may change with every prompt.
    strategy: Strategy = "pre-assembled"
    locked: dict[str, str] = {}  # digests of items when they were locked: others are stale now
    price: Price = Price()  # of the model, for what a rewrite would cost
    caching: Caching = Caching()  # of the model's endpoint
    edits: tuple[Edit, ...] = ()  # of the prompt as it would be without them, one after the other


class View(msgspec.Struct, frozen=True, kw_only=True):
    """Read-only snapshot of what the store holds for this execution at a log position."""

    position: int = 0
    items: tuple[Item, ...] = ()  # earlier outputs, memories, turns, in log order
    prefix: Prefix = Prefix()  # of the prompt before: what did not change stays where it stood


class Bounds(NamedTuple):
    """The hard bound on prompt and headroom together, and the cap of each section."""

    effective_window: int
    budgets: Budgets

    @property
    def prompt(self) -> int:
        """Tokens that the prompt may take at most."""
        return self.effective_window - self.budgets.headroom

    def section(self, section: Section) -> int:
        """Tokens that *section* may take at most."""
        cap: int = getattr(self.budgets, section)
        return cap


def bounds(request: Request, tools_tokens: int) -> Bounds:
    """The bounds of *request*, given how many tokens all its tools would take."""
    window = request.effective_window
    if window is not None:
        window = min(window, request.window)
        return Bounds(window, request.budgets or Budgets.scaled_to(window))
    window = min(int(request.window * WINDOW_SHARE), EFFECTIVE_WINDOW_TOKENS)
    budgets = request.budgets or Budgets.scaled_to(window)
    tools_tokens = min(tools_tokens, budgets.tools)
    return Bounds(window - max(0, tools_tokens - int(window * TOOLS_SHARE)), budgets)


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a step's result, in the form in which a model should see it."""

    kind: str  # "evidence", "code", "output", ...
    id: str = ""  # such as a path; what the prompt calls it is "<step>/<id>"
    text: str
    source: str = ""  # path or URL it was taken from
    line_numbers: tuple[int, ...] = ()  # one a line, of an excerpt; end its text with "\n"
    first_line: int = 1  # where it is one run of lines
    trust: Trust = "untrusted"


def items_of(step_id: str, result: dict[str, Any]) -> tuple[Item, ...]:
    """The items that a carried *result* comes to: what it offers, or the whole of it as JSON."""
    offers = _offers(result)
    if not offers:
        text = msgspec.json.format(msgspec.json.encode(result), indent=1).decode()
        offers = (Offer(kind="output", text=text),)
    named: dict[str, Offer] = {}
    for n, offer in enumerate(offers, 1):
        item_id = f"{step_id}/{offer.id or n}" if offer.id or n > 1 else step_id
        while item_id in named:  # an action may offer two pieces of one file
            item_id += "+"
        named[item_id] = offer
    return tuple(_item(step_id, item_id, offer) for item_id, offer in named.items())


def _offers(result: dict[str, Any]) -> tuple[Offer, ...]:
    try:
        return msgspec.convert(result.get(OFFERS) or (), tuple[Offer, ...])
    except msgspec.ValidationError:
        return ()  # a field like others, of an action that knows nothing of offers


def _item(step_id: str, item_id: str, offer: Offer) -> Item:
    return Item(
        id=item_id,
        section="history",
        kind=offer.kind,
        text=offer.text,
        source=offer.source,
        line_numbers=offer.line_numbers,
        first_line=offer.first_line,
        produced_by=step_id,
        trust=offer.trust,
    )
