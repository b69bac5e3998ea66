"""The extractive provider, pure part: answers that hold only spans of their context."""

from typing import TYPE_CHECKING

from cortex.bus import lazily

if TYPE_CHECKING:
    from .answer import NOTICE, answer, answer_prompt
    from .extract import MODEL, AnswerTooSmallError, Extract, Quote

__all__ = ["MODEL", "NOTICE", "AnswerTooSmallError", "Extract", "Quote", "answer", "answer_prompt"]

lazily(__name__)
