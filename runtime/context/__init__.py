"""The context compiler: P = f(H, G), with an exact budget and a manifest that accounts for it."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .compiler import ContextCompiler
    from .errors import (
        ContextRefusedError,
        EditUnfitError,
        EncodingUnknownError,
        ItemLinesError,
        ItemRepeatedError,
    )
    from .layout.fence import cut_middle
    from .prompt import (
        EditNote,
        FixedPart,
        Manifest,
        ManifestEntry,
        Neutralised,
        PassedOver,
        Prompt,
    )
    from .prompts.editing import edits_between
    from .prompts.inputs import Inputs, keep_inputs, read_inputs, texts_of_inputs
    from .prompts.parts import Parts, split
    from .prompts.passages import Passage, ReadPrompt, ShownTexts, read_prompt, shown_texts
    from .prompts.shapes import (
        TextBlock,
        anthropic_content,
        anthropic_shape,
        blocks_of,
        openai_shape,
    )
    from .provider_cache import Bill, CacheBlock, ProviderCache, bill_of
    from .request import (
        OFFERS,
        Budgets,
        Edit,
        Item,
        Link,
        Offer,
        PromptStep,
        Request,
        Strategy,
        Tool,
        Turn,
        TurnPart,
        View,
        items_of,
    )
    from .segments import Epoch, Prefix, Segment
    from .selection.sanitise import sanitise
    from .tokens import ENCODINGS, ByteCounter, Counter, TokenCounter, counter_for
    from .tracing import Note, PassTrace, ScoredChunk, Trace
else:
    lazily(__name__)

__all__ = [
    "ENCODINGS",
    "OFFERS",
    "Bill",
    "Budgets",
    "ByteCounter",
    "CacheBlock",
    "ContextCompiler",
    "ContextRefusedError",
    "Counter",
    "Edit",
    "EditNote",
    "EditUnfitError",
    "EncodingUnknownError",
    "Epoch",
    "FixedPart",
    "Inputs",
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
    "Prefix",
    "Prompt",
    "PromptStep",
    "ProviderCache",
    "ReadPrompt",
    "Request",
    "ScoredChunk",
    "Segment",
    "ShownTexts",
    "Strategy",
    "TextBlock",
    "TokenCounter",
    "Tool",
    "Trace",
    "Turn",
    "TurnPart",
    "View",
    "anthropic_content",
    "anthropic_shape",
    "bill_of",
    "blocks_of",
    "counter_for",
    "cut_middle",
    "edits_between",
    "items_of",
    "keep_inputs",
    "openai_shape",
    "read_inputs",
    "read_prompt",
    "sanitise",
    "shown_texts",
    "split",
    "texts_of_inputs",
]
