"""Sentences of a paragraph, and the stretches in them that no rule may touch."""

# ruff: noqa: RUF001  # quotation marks, dashes and signs as texts have them

import re
from collections.abc import Callable

_HOLD = "\ue000"
_END = re.compile(r"(?<=[.!?])(?<!\b[A-Z]\.)[)\"'”’»“‘*_]*\s+(?=[\"'“‘«„‚»(*_`\[]*[A-Z0-9`])")
_SHORT = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|Mr|Mrs|Ms|Dr|St|No|Fig|Sec|Inc|Ltd|Jr|Sr|al)\.)$"
)
PROTECTED = re.compile(
    r"``[^`]+``|`[^`]+`"  # code
    r"|\bhttps?://[^\s)>\]]+|\]\([^)\s]{0,2000}\)|<[^<>\s][^<>]*>"  # addresses, targets, markup
    r"|\"[^\"\n]{1,600}\"|“[^”\n]{1,600}”|(?<!\w)'(?:[^'\n]|'(?=\w)){2,600}'(?!\w)|‘(?:[^’\n]|’(?=\w)){1,600}’(?!\w)"
    r"|«[^»\n]{1,600}»|»[^«\n]{1,600}«|„[^“”\n]{1,600}[“”]|‚(?:[^‘’\n]|’(?=\w)){1,600}[‘’]"
    r"|\$[^$\n]{1,80}\$|:\w+:`[^`]+`"
)


def split(text: str) -> list[str]:
    """The sentences of *text*; joined by a blank they are *text* again."""
    sentences: list[str] = []
    whole = [found.span() for found in PROTECTED.finditer(text)]
    start = at = 0
    for found in _END.finditer(text):
        while at < len(whole) and whole[at][1] < found.end():
            at += 1
        inside = at < len(whole) and whole[at][0] < found.start()
        own = text[start : found.end()].rstrip()
        if not inside and not _SHORT.search(own):
            sentences.append(own)
            start = found.end()
    return [*sentences, text[start:]]


def outside(text: str, change: Callable[[str], str]) -> str:
    """*text* with *change* applied between its protected parts."""
    kept = PROTECTED.findall(text)
    if not kept:
        return change(text)
    # A private character is the placeholder, so that a rule sees that something is there.
    held = change(PROTECTED.sub(_HOLD, text))
    if held.count(_HOLD) != len(kept):
        return text
    parts = held.split(_HOLD)
    return "".join(part + own for part, own in zip(parts, [*kept, ""], strict=True))
