"""Writes a package with a plugin in it, which passes its own tests."""

from .package import write_package

__all__ = ["write_package"]
