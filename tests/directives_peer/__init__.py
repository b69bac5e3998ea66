"""The published package of directives, and how our profiles are compared with it."""

from .comparing import LISTED, UnlistedError, compare, comparisons
from .reference import VARIABLE, folder, module

__all__ = ["LISTED", "VARIABLE", "UnlistedError", "compare", "comparisons", "folder", "module"]
