"""The extractive provider, pure part: answers that hold only spans of their context."""

from .answer import NOTICE, answer, answer_prompt
from .extract import MODEL, AnswerTooSmallError, Extract, Span

__all__ = ["MODEL", "NOTICE", "AnswerTooSmallError", "Extract", "Span", "answer", "answer_prompt"]
