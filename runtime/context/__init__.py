"""The context compiler: P = f(H, G), with an exact budget and a manifest that accounts for it."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .blocks import (
        COMPILER,
        Message,
        Parts,
        PromptBlock,
        framing_tokens,
        line_of,
        messages_of,
        parts_of,
        text_of,
        tools_of,
    )
    from .compiler import ContextCompiler
    from .errors import (
        ContextRefusedError,
        EditUnfitError,
        EncodingUnknownError,
        ItemLinesError,
        ItemRepeatedError,
    )
    from .layout.fence import cut_middle
    from .manifest import measure
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
    from .prompts.inputs import (
        Inputs,
        compiler_of_inputs,
        keep_inputs,
        read_inputs,
        texts_of_inputs,
    )
    from .prompts.passages import Passage, ReadPrompt, ShownTexts, passages_of, shown_texts
    from .prompts.texts import prompt_text, read_prompt, read_text
    from .provider_cache import Bill, CacheBlock, ProviderCache, bill_of
    from .request import (
        OFFERS,
        SAID_OF_FOUND,
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
    from .sanitise import sanitise
    from .segments import Epoch, Prefix, Segment
    from .tokens import ENCODINGS, ByteCounter, Counter, TokenCounter, counter_for
    from .tracing import Note, PassTrace, ScoredChunk, Trace
else:
    lazily(__name__)

__all__ = [
    "COMPILER",
    "ENCODINGS",
    "OFFERS",
    "SAID_OF_FOUND",
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
    "Message",
    "Neutralised",
    "Note",
    "Offer",
    "Parts",
    "PassTrace",
    "Passage",
    "PassedOver",
    "Prefix",
    "Prompt",
    "PromptBlock",
    "PromptStep",
    "ProviderCache",
    "ReadPrompt",
    "Request",
    "ScoredChunk",
    "Segment",
    "ShownTexts",
    "Strategy",
    "TokenCounter",
    "Tool",
    "Trace",
    "Turn",
    "TurnPart",
    "View",
    "bill_of",
    "compiler_of_inputs",
    "counter_for",
    "cut_middle",
    "edits_between",
    "framing_tokens",
    "items_of",
    "keep_inputs",
    "line_of",
    "measure",
    "messages_of",
    "parts_of",
    "passages_of",
    "prompt_text",
    "read_inputs",
    "read_prompt",
    "read_text",
    "sanitise",
    "shown_texts",
    "text_of",
    "texts_of_inputs",
    "tools_of",
]
