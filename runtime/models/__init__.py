"""Models: what each says of itself."""

from .description import Level, ModelDescription

__all__ = ["Level", "ModelDescription"]
