"""The context compiler: P = f(H, G), with an exact budget and a manifest that accounts for it."""

from .compiler import ContextCompiler
from .errors import ContextRefusedError, EncodingUnknownError, ItemLinesError, ItemRepeatedError
from .excerpt import cut_middle
from .lexical import Bm25, content_words
from .offers import OFFERS, Offer, items_of
from .parts import Parts, split
from .passages import Passage, ReadPrompt, read_prompt
from .prompt import FixedPart, Manifest, ManifestEntry, Neutralised, Prompt
from .request import Budgets, Item, Request, Said, Step, Tool, Turn, View
from .sanitise import sanitise
from .tokens import ENCODINGS, Counter, TokenCounter

__all__ = [
    "ENCODINGS",
    "OFFERS",
    "Bm25",
    "Budgets",
    "ContextCompiler",
    "ContextRefusedError",
    "Counter",
    "EncodingUnknownError",
    "FixedPart",
    "Item",
    "ItemLinesError",
    "ItemRepeatedError",
    "Manifest",
    "ManifestEntry",
    "Neutralised",
    "Offer",
    "Parts",
    "Passage",
    "Prompt",
    "ReadPrompt",
    "Request",
    "Said",
    "Step",
    "TokenCounter",
    "Tool",
    "Turn",
    "View",
    "content_words",
    "cut_middle",
    "items_of",
    "read_prompt",
    "sanitise",
    "split",
]
