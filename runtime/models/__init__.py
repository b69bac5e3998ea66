"""Models: what each says of itself, and which one a step gets."""

from .description import Level, ModelDescription
from .selection import Selected, select

__all__ = ["Level", "ModelDescription", "Selected", "select"]
