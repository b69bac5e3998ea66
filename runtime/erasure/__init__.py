"""Erasing a subject: its key, every derived copy of its data, and the record of who asked."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .erasing import Erased, SubjectRow, erase, looked_up, subjects_of
    from .survey import Place, Survey
else:
    lazily(__name__)

__all__ = [
    "Erased",
    "Place",
    "SubjectRow",
    "Survey",
    "erase",
    "looked_up",
    "subjects_of",
]
