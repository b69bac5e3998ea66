"""Sanitise: make harmless what could act on a model, a terminal or a reader, and report it.

Line numbers survive: CRLF becomes LF, and nothing else touches a line break.
"""

import re
from collections import Counter
from functools import partial
from typing import Final

from .prompt import Neutralised

_ANSI = re.compile(r"\x1b\[[0-9;:?<=>]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[@-_]?")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")  # show a line as another one
_HIDDEN = re.compile(
    "[\u200b\u2060\ufeff\U000e0000-\U000e007f]"
)  # invisible, but tokens to a model

# Markers that chat models and their templates read as turns, not as text.
_MARKER = re.compile(
    r"<[|\uff5c][\w \u2581.:/-]{1,64}[|\uff5c]>"  # <|im_start|>, <|eot_id|>; U+FF5C: DeepSeek
    r"|</?(?:start_of_turn|end_of_turn|bos|eos|pad|unk|s)>"
    r"|<</?SYS>>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]",
    re.IGNORECASE,
)
# What render.py writes around items, sections and cuts.
_FENCE = re.compile(r"<(?=\s*+(?:/\s*+)?(?:data|reference)\b)", re.IGNORECASE)
_SECTION = re.compile(r"^===(?= \w+ ===\s*$)", re.MULTILINE)
_CUT = re.compile(r"^\[(?=lines \d+-\d+\]\s*$)", re.MULTILINE)

_HARMLESS: Final = str.maketrans({"<": "⟨", ">": "⟩", "[": "⟦", "]": "⟧", "|": "¦", "\uff5c": "¦"})


def sanitise(text: str) -> tuple[str, tuple[Neutralised, ...]]:
    """Return *text* made harmless, and what was found, most frequent first.

    Doing it twice changes nothing more.
    """
    found: Counter[str] = Counter()
    text = text.replace("\r\n", "\n").replace("\r", " ")
    for what, pattern, instead in (
        ("ansi", _ANSI, ""),
        ("control", _CONTROL, "\ufffd"),
        ("bidi", _BIDI, ""),
        ("hidden", _HIDDEN, ""),
    ):
        text, times = pattern.subn(instead, text)
        found[what] += times
    text = _MARKER.sub(partial(_defuse, found), text)
    for pattern, instead in ((_FENCE, "⟨"), (_SECTION, "≡≡≡"), (_CUT, "⟦")):
        text, times = pattern.subn(instead, text)
        found["fence"] += times
    return text, tuple(Neutralised(what, n) for what, n in found.most_common() if n)


def _defuse(found: Counter[str], match: re.Match[str]) -> str:
    found[match[0]] += 1
    return match[0].translate(_HARMLESS)
