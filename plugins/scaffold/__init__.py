"""Writes a new plugin package, which passes its own tests."""

from .package import write_package

__all__ = ["write_package"]
