"""The context compiler: P = f(H, G), with an exact budget and a manifest that accounts for it."""

from .compiler import ContextCompiler
from .errors import ContextRefusedError, EncodingUnknownError, ItemLinesError, ItemRepeatedError
from .excerpt import cut_middle
from .lexical import Bm25, content_words
from .offers import OFFERS, Offer, items_of
from .parts import Parts, split
from .passages import Passage, ReadPrompt, read_prompt
from .prompt import (
    Epoch,
    FixedPart,
    Manifest,
    ManifestEntry,
    Neutralised,
    PassedOver,
    Prompt,
    Segment,
)
from .request import Budgets, Item, Link, Request, Said, Step, Strategy, Tool, Turn, View
from .sanitise import sanitise
from .shapes import TextBlock, anthropic_content, anthropic_shape, blocks_of, openai_shape
from .tokens import ENCODINGS, Counter, TokenCounter
from .tracing import Note, PassTrace, Trace

__all__ = [
    "ENCODINGS",
    "OFFERS",
    "Bm25",
    "Budgets",
    "ContextCompiler",
    "ContextRefusedError",
    "Counter",
    "EncodingUnknownError",
    "Epoch",
    "FixedPart",
    "Item",
    "ItemLinesError",
    "ItemRepeatedError",
    "Link",
    "Manifest",
    "ManifestEntry",
    "Neutralised",
    "Note",
    "Offer",
    "Parts",
    "PassTrace",
    "Passage",
    "PassedOver",
    "Prompt",
    "ReadPrompt",
    "Request",
    "Said",
    "Segment",
    "Step",
    "Strategy",
    "TextBlock",
    "TokenCounter",
    "Tool",
    "Trace",
    "Turn",
    "View",
    "anthropic_content",
    "anthropic_shape",
    "blocks_of",
    "content_words",
    "cut_middle",
    "items_of",
    "openai_shape",
    "read_prompt",
    "sanitise",
    "split",
]
