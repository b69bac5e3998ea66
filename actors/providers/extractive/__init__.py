"""The extractive provider, pure part: answers that hold only spans of their context."""

from .answer import NOTICE, answer, answer_prompt
from .extract import MODEL, AnswerTooSmallError, Extract, Quote

__all__ = ["MODEL", "NOTICE", "AnswerTooSmallError", "Extract", "Quote", "answer", "answer_prompt"]
