"""Plugins: components from outside the runtime, limited to what they were granted."""

from .checking import problems_of
from .errors import PluginInvalidError, PluginRefusedError, PluginUnknownError, UnconfinedError
from .granted import Granted, folders_in
from .manifest import FileWant, Limits, Manifest, Wants

__all__ = [
    "FileWant",
    "Granted",
    "Limits",
    "Manifest",
    "PluginInvalidError",
    "PluginRefusedError",
    "PluginUnknownError",
    "UnconfinedError",
    "Wants",
    "folders_in",
    "problems_of",
]
