"""A request to the compiler: which material must or may appear, and how much room there is.

Nothing here determines *where* something appears: the compiler decides the order.
"""

from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from cortex.runtime.models import Caching, Price

from .segments import Prefix

Section: TypeAlias = Literal[
    "persona", "instructions", "directives", "tools", "knowledge", "memory", "history", "step"
]
ItemSection: TypeAlias = Literal["tools", "knowledge", "memory", "history", "step"]
Trust: TypeAlias = Literal["trusted", "untrusted"]
Strategy: TypeAlias = Literal["pre-assembled", "just-in-time"]
Edge: TypeAlias = Literal["supersedes", "refines", "contradicts", "led_to", "caused_by"]
# The prefix law: stable first, then what changes by epochs, then what only grows, then the step.
SECTIONS: Final[tuple[Section, ...]] = (
    "persona",
    "instructions",
    "directives",
    "tools",
    "knowledge",
    "memory",
    "history",
    "step",
)
# The same every time, until a person lays down something else, which begins an epoch.
STABLE: Final[tuple[Section, ...]] = ("persona", "instructions", "directives", "tools")
WINDOW_SHARE: Final = 0.4  # answers get worse well below the advertised window of a model
EFFECTIVE_WINDOW_TOKENS: Final = 24_000
TOOLS_SHARE: Final = 0.1  # what tools take above this share lowers the effective window
MESSAGE_TOKENS: Final = 5  # per message, as in ChatML: two marks, the role, two breaks
ANSWER_TOKENS: Final = 3  # that open the answer
LEAST_FRAMING: Final = 2 * MESSAGE_TOKENS + ANSWER_TOKENS  # of a system and a user message
OFFERS = "context"  # the field of a result that contains its offers


class Link(msgspec.Struct, frozen=True, gc=False):
    """An edge from one item to another; ignored if the other is not considered."""

    edge: Edge
    to: str  # id of the other item


class Item(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One piece of material: a knowledge file, an earlier output, an excerpt, a memory, a turn.

    The garbage collector does not look at items: they hold no cycle, and a history has many.
    """

    id: str  # unique in one compile; its name in the manifest and citations
    section: ItemSection
    kind: str  # "knowledge", "output", "evidence", "code", "memory", "tool", "turn", ...
    text: str
    source: str = ""  # event id, path or URL that it came from
    digest: str = ""  # sha256 of the source as it was read; "" for that of the text
    first_line: int = 1  # number of the first line of text in its source
    line_numbers: tuple[int, ...] = ()  # of every line, ascending, if an excerpt has gaps
    produced_by: str = ""  # id of the step whose output this is
    must_include: bool = False  # included whole, or the compile is refused
    priority: int = 0  # higher classes are fitted first
    score: float = 0.0  # from a retrieval; added to the score
    trust: Trust = "untrusted"
    logged: int = 0  # its position in the log, if it has one
    confidence: float = 1.0  # 0 to 1: how far its relevance counts
    links: tuple[Link, ...] = ()


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that the model may call; its texts are sanitised like all others."""

    name: str  # as the model calls it
    description: str
    parameters: dict[str, Any]  # JSON Schema
    must_include: bool = True  # included, or the compile is refused; otherwise it may be left out


TOOL: Final = "tool:"
SAID_OF_FOUND: Final = "caution"  # kind of a line about all retrieved items; above them


def tool_id(tool: Tool) -> str:
    """The id of *tool* in the manifest, distinct from all topics and steps."""
    return TOOL + tool.name


SPOKEN: Final = ("answer", "call")  # kinds that come from the model


class TurnPart(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a turn: a text or call of the model, or the result of a call."""

    id: str
    kind: str  # "answer", "call", "result", "failed", "denied", "enabled", "problem"
    text: str  # for a call its arguments, a JSON object
    source: str = ""  # the tool
    call: str = ""  # id that joins a call and its first result
    handle: str = ""  # with it `read_result` returns the whole text
    extent: str = ""  # size of the whole text, in words


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A model's answer to an earlier prompt of the step, with the results."""

    number: int  # number of the answered prompt, from 0
    said: tuple[TurnPart, ...]


class Edit(msgspec.Struct, frozen=True, kw_only=True):
    """A person's change of a prompt before it was sent."""

    section: str
    item: str = ""  # id of the item; "" for the section's own text
    old: str  # it occurs there once
    new: str
    by: str = ""
    note: str = ""
    must: bool = False  # False: ignore it if it no longer fits


class PromptStep(msgspec.Struct, frozen=True, kw_only=True):
    """The step that the prompt is for."""

    process: str
    id: str
    description: str
    goal: str = ""  # of the whole execution
    parameters: dict[str, str] = {}


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """The maximum tokens of each section; `headroom` is reserved for the answer.

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
    directives: int = 600  # that of prompts from before there were any

    @classmethod
    def scaled_to(cls, effective_window: int) -> "Budgets":
        """The default budgets, in proportion to *effective_window*.

        The author's texts (persona, instructions, step) do not get shorter in a smaller
        window, nor does what a person laid down: those budgets only grow.
        """
        scale = effective_window / EFFECTIVE_WINDOW_TOKENS
        return cls(
            persona=round(300 * max(scale, 1)),
            instructions=round(1_200 * max(scale, 1)),
            directives=round(600 * max(scale, 1)),
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
    window: int  # maximum tokens of the model
    persona: str = ""
    instructions: str = ""
    directives: str = ""  # what people laid down and is in force, a line each; never left out
    items: tuple[Item, ...] = ()  # named by the process: knowledge, evidence, tools
    carry: tuple[str, ...] = ()  # ids of earlier steps whose outputs this step sees
    tools: tuple[Tool, ...] = ()  # in the order in which they are shown
    answer_schema: dict[str, Any] = {}  # JSON Schema of the answer; empty for free text
    turns: tuple[Turn, ...] = ()  # of this step, in order; they end the history
    effective_window: int | None = None  # None: min(0.4 x window, 24,000), lower beside many tools
    budgets: Budgets | None = None  # None: scaled to the effective window
    # Whether retrieved items are at the front, where a cache can hold them, or at the end,
    # where they may change with every prompt.
    strategy: Strategy = "pre-assembled"
    locked: dict[str, str] = {}  # digests of items when they were locked; changed ones are stale
    price: Price = Price()  # of the model, for the cost of a rewrite
    caching: Caching = Caching()  # of the model's endpoint
    edits: tuple[Edit, ...] = ()  # of the prompt, applied one after the other


class View(msgspec.Struct, frozen=True, kw_only=True):
    """Read-only snapshot of what the store holds for this execution at a log position."""

    position: int = 0
    items: tuple[Item, ...] = ()  # earlier outputs, memories, turns, in log order
    prefix: Prefix = Prefix()  # of the previous prompt: unchanged material keeps its place


class Bounds(NamedTuple):
    """The hard bound on prompt and headroom together, and the cap of each section."""

    effective_window: int
    budgets: Budgets

    @property
    def prompt(self) -> int:
        """Maximum tokens of the prompt, without the least framing."""
        return self.effective_window - self.budgets.headroom - LEAST_FRAMING

    def section(self, section: Section) -> int:
        """Maximum tokens of *section*."""
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
    """A part of a result, as later steps show it to a model."""

    kind: str  # "evidence", "code", "output", ...
    id: str = ""  # such as a path; its id in the prompt is "<step>/<id>"
    text: str  # what the model sees
    source: str = ""  # path or URL of the text
    line_numbers: tuple[int, ...] = ()  # one per line of an excerpt; its text must end with "\n"
    first_line: int = 1  # number of the first line, if the lines are consecutive
    trust: Trust = "untrusted"  # "untrusted": text that neither you nor Cortex wrote


def items_of(step_id: str, result: dict[str, Any]) -> tuple[Item, ...]:
    """The items of a carried *result*: its offers, or the whole of it as JSON."""
    offers = _offers(result)
    if not offers:
        text = msgspec.json.format(msgspec.json.encode(result), indent=1).decode()
        offers = (Offer(kind="output", text=text),)
    named: dict[str, Offer] = {}
    for n, offer in enumerate(offers, 1):
        item_id = f"{step_id}/{offer.id or n}" if offer.id or n > 1 else step_id
        while item_id in named:  # an action may offer two parts of one file
            item_id += "+"
        named[item_id] = offer
    return tuple(_item(step_id, item_id, offer) for item_id, offer in named.items())


def _offers(result: dict[str, Any]) -> tuple[Offer, ...]:
    try:
        return msgspec.convert(result.get(OFFERS) or (), tuple[Offer, ...])
    except msgspec.ValidationError:
        return ()  # an ordinary field of an action that makes no offers


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
