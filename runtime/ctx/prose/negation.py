"""Where a negation is, and where what it may govern ends: at a clause of its own."""

import re
from typing import Final

_NEGATION = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|nothing|nobody|nowhere|hardly|cannot)\b|n't\b",
    re.IGNORECASE,
)
_SUBJECT: Final = r"(?:it|we|they|you|he|she|I|this|these|there|that)\b"
# What begins behind them is affirmed or denied by itself. "Because" is none of them: in "it does
# not open, because it is old" the negation may be about the reason.
_CLAUSE: Final = (
    rf"; |, (?=(?:but|so(?! that| as)|yet|although|though|whereas|while|which)\b|and {_SUBJECT})"
)
_NEXT = re.compile(_CLAUSE)
# A condition at the beginning ends at the comma before the subject of its sentence.
_CONDITION = re.compile(
    r"(?:If|When|Whenever|Where|Since|Because|While|Although|Though|As|Given|Once|Until|Unless)\b"
)
_MAIN = re.compile(
    r"(?=, (?:then |the (?:[a-z]+|\ue000) |\ue000|an? |(?:all|any|each|every|no)\b|"
    rf"{_SUBJECT}))|{_CLAUSE}"
)
_LISTED = re.compile(r":(?: |$)")


def denied(text: str, at: int = 0) -> tuple[int, int] | None:
    """The first stretch of *text* behind *at* that a negation may govern; None if there is none."""
    found = _NEGATION.search(text, at)
    if found is None:
        return None
    start = found.start()
    if text.count("(", at, start) > text.count(")", at, start):
        closing = text.find(")", start)
        return start, closing + 1 if closing >= 0 else len(text)
    # A first comma ends the condition only if the condition has no other.
    opens = _CONDITION.match(text, at) and text.find(",", at, start) < 0
    end = (_MAIN if opens else _NEXT).search(text, start)
    if end is None or _LISTED.search(text, start, end.start()):  # of a list all is denied
        return start, len(text)
    return start, end.end()
