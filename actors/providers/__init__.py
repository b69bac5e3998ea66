"""Model providers: each answers `model.invoke` for the models it announces."""

from .anthropic_provider import AnthropicProvider
from .extractive_provider import ExtractiveProvider
from .human_provider import HumanProvider
from .openai_provider import OpenAIProvider
from .replay_provider import ReplayProvider

__all__ = [
    "AnthropicProvider",
    "ExtractiveProvider",
    "HumanProvider",
    "OpenAIProvider",
    "ReplayProvider",
]
