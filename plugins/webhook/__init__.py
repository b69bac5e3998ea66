"""The plugin `webhook`: takes signed HTTP posts from outside."""

from .reading import Refusal, github_signature_of, signature_of, trigger_in
from .settings import Hook, PostField, Settings, settings_of
from .webhook import PLUGIN, Webhook

__all__ = [
    "PLUGIN",
    "Hook",
    "PostField",
    "Refusal",
    "Settings",
    "Webhook",
    "github_signature_of",
    "settings_of",
    "signature_of",
    "trigger_in",
]
