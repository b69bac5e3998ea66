"""The command `cortex plugin`."""

from .commands import plugin

__all__ = ["plugin"]
