"""Model providers: each answers `model.invoke` for the models it announces."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .anthropic_provider import AnthropicDialect, AnthropicProvider
    from .extractive_provider import ExtractiveProvider
    from .human_provider import HumanProvider
    from .openai_provider import OpenAIDialect, OpenAIProvider
    from .replay_provider import ReplayProvider

__all__ = [
    "AnthropicDialect",
    "AnthropicProvider",
    "ExtractiveProvider",
    "HumanProvider",
    "OpenAIDialect",
    "OpenAIProvider",
    "ReplayProvider",
]

lazily(__name__)
