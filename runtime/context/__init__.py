"""The context compiler: P = f(H, G), with an exact budget and a manifest that accounts for it."""

from .compiler import ContextCompiler
from .errors import ContextRefusedError, EncodingUnknownError, ItemLinesError, ItemRepeatedError
from .lexical import Bm25, content_words
from .offers import OFFERS, Offer, items_of
from .passages import Passage, ReadPrompt, read_prompt
from .prompt import FixedPart, Manifest, ManifestEntry, Neutralised, Prompt
from .request import Budgets, Item, Request, Step, View
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
    "Passage",
    "Prompt",
    "ReadPrompt",
    "Request",
    "Step",
    "TokenCounter",
    "View",
    "content_words",
    "items_of",
    "read_prompt",
    "sanitise",
]
