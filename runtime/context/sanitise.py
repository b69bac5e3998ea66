"""Sanitise: neutralise and report text that could act on a model, a terminal or a reader.

Line numbers survive: CRLF becomes LF, and nothing else touches a line break.
"""

import re
from collections import Counter
from functools import partial
from typing import Final

from cortex.runtime.retrieval import Remembered
from cortex.runtime.secrets import mask_shapes

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
# The lines that render.py writes around items, sections and cuts.
_FENCE = re.compile(r"<(?=\s*+(?:/\s*+)?(?:data|reference)\b)", re.IGNORECASE)
_SECTION = re.compile(r"^===(?= \w+ ===\s*$)", re.MULTILINE)
_CUT = re.compile(r"^\[(?=lines \d+-\d+\]\s*$)", re.MULTILINE)

# The beginnings of the patterns above: a text without any of them is unchanged. One search
# instead of nine.
_SUSPECT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f<\\[\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069"
    "\ud800-\udfff\ufeff\U000e0000-\U000e007f]|==="
)

_ATTRIBUTE = str.maketrans({'"': "'", "<": "⟨", ">": "⟩", "\n": " ", "\r": " ", "\t": " "})
ATTRIBUTE_CHARS: Final = 1_000_000  # that are remembered
ORDERS: Final = "order"  # what `look_alikes` reports

# Texts that look like instructions. They stay unchanged, because a step may be about them.
_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override)\s{1,8}(?:\w{1,12}\s{1,8}){0,3}"
    r"(?:instructions?|prompts?|rules|directions|context)\b"
    r"|\byou\s{1,8}(?:are\s{1,8}now|must\s{1,8}now)\b"
    r"|\b(?:new|updated|real)\s{1,8}(?:system\s{1,8})?(?:instructions|prompt)\s{0,8}:"
    r"|^\s{0,8}(?:system|assistant|developer)\s{0,4}:"
    r"|\bdo\s{1,8}not\s{1,8}(?:tell|inform)\s{1,8}the\s{1,8}user\b"
    r"|\b(?:reveal|print|repeat)\s{1,8}(?:your|the)\s{1,8}(?:system\s{1,8})?prompt\b",
    re.IGNORECASE | re.MULTILINE,
)
_ANCHORS: Final = (
    "ignore",
    "disregard",
    "forget",
    "override",
    "are now",
    "must now",
    "instructions",
    "prompt",
    "system",
    "assistant",
    "developer",
    "tell the user",
    "inform the user",
)
_BEFORE: Final = 80  # characters of an order before its anchor
_AROUND: Final = 400
_HARMLESS: Final = str.maketrans({"<": "⟨", ">": "⟩", "[": "⟦", "]": "⟧", "|": "¦", "\uff5c": "¦"})


def sanitise(text: str) -> tuple[str, tuple[Neutralised, ...]]:
    """Return the sanitised *text*, and what was found, most frequent first.

    It is idempotent.
    """
    if not _SUSPECT.search(text):
        text, secrets = mask_shapes(text)
        return text, (Neutralised("secret", secrets),) if secrets else ()
    found: Counter[str] = Counter()
    text = text.replace("\r\n", "\n")
    found["control"] += text.count("\r")
    text = text.replace("\r", " ")
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
    text, times = mask_shapes(text)
    found["secret"] += times
    return text, tuple(Neutralised(what, n) for what, n in found.most_common() if n)


def _attribute(value: str) -> str:
    harmless, _ = sanitise(value.translate(_ATTRIBUTE))
    return "".join(c for c in harmless if c.isprintable())


# A value for the quotes of an attribute in a fence.
attribute = Remembered(_attribute, ATTRIBUTE_CHARS)


def look_alikes(text: str) -> tuple[Neutralised, ...]:
    """How often the untrusted *text* reads like an order to the model."""
    lower = text.lower()
    if len(lower) != len(text):  # in some languages: places in the one are none in the other
        return _orders(sum(1 for _ in _ORDER.finditer(text)))
    found: set[int] = set()
    for anchor in _ANCHORS:
        at = lower.find(anchor)
        while at >= 0:
            # Only around a word that such an order has: the pattern is slow, and the word is rare.
            end = at + _AROUND
            found.update(m.start() for m in _ORDER.finditer(text, max(0, at - _BEFORE), end))
            at = lower.find(anchor, end - _BEFORE)
    return _orders(len(found))


def _orders(times: int) -> tuple[Neutralised, ...]:
    return (Neutralised(ORDERS, times),) if times else ()


def _defuse(found: Counter[str], match: re.Match[str]) -> str:
    found[match[0]] += 1
    return match[0].translate(_HARMLESS)
