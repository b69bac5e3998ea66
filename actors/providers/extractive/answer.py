"""The extractive provider's answers: spans of the context under fixed labels, nothing else."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from cortex.runtime.context import Passage, PromptBlock, passages_of

from .extract import AnswerTooSmallError, Count, Extract, Quote, Role
from .failure import failure_spans
from .question import found_spans, question_spans

NOTICE: Final = (
    "This answer is extractive: every line below is quoted from the context it names; "
    "no model wrote any of it."
)
NOTHING: Final = "This answer is extractive, and its context does not hold an answer."
LEFT_OUT: Final = "(Further lines did not fit this answer.)"
LABELS: Final[dict[Role, str]] = {
    "failed": "What failed:",
    "error": "The error:",
    "evidence": "Lines that prove it:",
    "file": "Files it points at:",
    "cause": "Probable cause:",
    "related": "Related knowledge:",
    "answer": "From the context:",
    "found": "Found for the question:",
}
LONGEST_QUOTE_CHARS: Final = 400

_ABOUT_FAILURE = re.compile(
    r"(?i)\b(?:fail|error|exception|crash|traceback|triage|broke|regression|bug\b|flak|defect)"
)


def answer_prompt(prompt: Iterable[PromptBlock], *, max_tokens: int, count: Count) -> Extract:
    """Answer a compiled prompt: its items are the context, its step is the question.

    A step with a parameter `question` asks just that; the words of its description ("answer the
    question from the notes") would only hide which sentence answers it.

    Raises:
        AnswerTooSmallError: *max_tokens* has no room for the shortest answer.
    """
    parts = passages_of(prompt)
    return answer(parts.passages, parts.question, max_tokens=max_tokens, count=count)


def answer(passages: Sequence[Passage], question: str, *, max_tokens: int, count: Count) -> Extract:
    """Answer *question* with spans of *passages*; equal inputs give equal answers.

    A question about a failure gets what failed, the error, its proof, the files and lines it
    points at and what knowledge says of it. Any other gets the sentences that say most about it.
    Where none says enough, what was looked for and found is quoted: it was close to the question.
    Nothing in a passage can change what is done; it can only be quoted.

    Raises:
        AnswerTooSmallError: *max_tokens* has no room for the shortest answer.
    """
    if _ABOUT_FAILURE.search(question):
        spans = failure_spans(passages) or question_spans(passages, question)
    else:
        spans = question_spans(passages, question)
    spans = spans or found_spans(passages, question)
    return _fitted(spans, max_tokens, count)


def _fitted(spans: list[Quote], max_tokens: int, count: Count) -> Extract:
    """Drop the least telling spans until the answer fits."""
    order = sorted(range(len(spans)), key=lambda at: (-_worth(spans, at), at))
    for kept in range(len(spans), 0, -1):
        chosen = [spans[at] for at in sorted(order[:kept])]
        text = _written(chosen, complete=kept == len(spans))
        if count(text) <= max_tokens:
            return Extract(
                text=text, spans=tuple(chosen), answered=True, left_out=len(spans) - kept
            )
    needed = count(NOTHING if not spans else f"{NOTICE}\n{LEFT_OUT}")
    if needed > max_tokens:
        raise AnswerTooSmallError(max_tokens, needed)
    text = f"{NOTICE}\n{LEFT_OUT}" if spans else NOTHING
    return Extract(text=text, spans=(), answered=False, left_out=len(spans))


def _worth(spans: list[Quote], at: int) -> float:
    """A role's first span is worth more than another role's third."""
    span = spans[at]
    before = sum(1 for other in spans[:at] if other.role == span.role)
    return span.score + (10.0 if before == 0 and span.role != "related" else 0.0)


def _written(spans: list[Quote], *, complete: bool) -> str:
    lines = [NOTICE]
    role = None
    for span in spans:
        if span.role != role:
            role = span.role
            lines.append(LABELS[role])
        lines.append(f"- {_quote(span.text)} [{_citation(span)}]")
    if not complete:
        lines.append(LEFT_OUT)
    return "\n".join(lines)


def _quote(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_QUOTE_CHARS else f"{line[:LONGEST_QUOTE_CHARS]} …"


def _citation(span: Quote) -> str:
    last = "" if span.last_line == span.first_line else f"-{span.last_line}"
    return f"{span.item_id}:{span.first_line}{last}"
