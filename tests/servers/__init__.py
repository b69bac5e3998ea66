"""HTTP servers on loopback that answer from a script, in the shapes that model providers speak."""

from .anthropic import ScriptedAnthropic
from .asking import PROMPT, PROMPT_TOKENS, Asking, config_for
from .http import Answer, Asked, ScriptedServer, Tool
from .openai import ScriptedOpenAI

__all__ = [
    "PROMPT",
    "PROMPT_TOKENS",
    "Answer",
    "Asked",
    "Asking",
    "ScriptedAnthropic",
    "ScriptedOpenAI",
    "ScriptedServer",
    "Tool",
    "config_for",
]
