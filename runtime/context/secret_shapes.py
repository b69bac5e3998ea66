"""Shapes of secrets: what a prompt must not hold, though material that was read may."""

import re
from typing import Final

MASK: Final = "\u27e6secret\u27e7"  # what a reader sees in its place

# Only shapes that their makers gave a mark, keys in their armour, and values that are assigned to
# a name which says what they are: a digest or an id in a log is evidence, and must stay.
_MARKED = re.compile(
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\b(?:sk|pk|rk)-[A-Za-z0-9_-]{20,200}"
    r"|\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,200}"
    r"|\bgh[oprsu]_[A-Za-z0-9]{30,255}"
    r"|\bgithub_pat_[A-Za-z0-9_]{30,255}"
    r"|\bglpat-[A-Za-z0-9_-]{20,100}"
    r"|\bxox[abps]-[A-Za-z0-9-]{20,200}"
    r"|\bAIza[A-Za-z0-9_-]{35}"
    r"|\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}"
)
_ASSIGNED = re.compile(
    r"(?P<name>(?:password|passwd|secret|api[_-]?key|access[_-]?key|auth[_-]?token)"
    r"[\"']?\s{0,4}[:=]\s{0,4}[\"']?)(?P<value>[A-Za-z0-9+/_=-]{16,200}+)(?![\w(.\[])",
    re.IGNORECASE,
)
# Looked for first: a plain search is ten times as fast as a pattern.
_MARKS: Final = (
    *("AKIA", "ASIA", "sk-", "pk-", "rk-", "sk_", "pk_", "rk_", "ghp_", "gho_", "ghr_", "ghs_"),
    *("ghu_", "github_pat_", "glpat-", "xox", "AIza", "eyJ"),
)
_NAMES: Final = (
    *("password", "passwd", "secret", "api_key", "api-key", "apikey", "access_key", "access-key"),
    *("accesskey", "auth_token", "auth-token", "authtoken"),
)
_BEGIN = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----")
_END = re.compile(r"-----END [A-Z ]{0,40}PRIVATE KEY-----")


def mask(text: str) -> tuple[str, int]:
    """*text* with every secret masked, and how many there were; line breaks stay."""
    marked = 0
    if any(mark in text for mark in _MARKS):
        text, marked = _MARKED.subn(MASK, text)
    text, armoured = _empty_armour(text) if "PRIVATE KEY-----" in text else (text, 0)
    lower = text.lower()
    if not any(name in lower for name in _NAMES):
        return text, marked + armoured
    hidden = 0

    def hide(match: re.Match[str]) -> str:
        nonlocal hidden
        value = match["value"]
        if value.isalpha() or value.isdigit():
            return match[0]  # a word or a number, such as the name of the variable that holds it
        hidden += 1
        return f"{match['name']}{MASK}"

    return _ASSIGNED.sub(hide, text), marked + armoured + hidden


def _empty_armour(text: str) -> tuple[str, int]:
    parts: list[str] = []
    at, times = 0, 0
    while (begin := _BEGIN.search(text, at)) and (end := _END.search(text, begin.end())):
        inside = text[begin.end() : end.start()]
        # As many lines as before, so that their numbers stay true.
        instead = inside if inside.strip("\n") in ("", MASK) else MASK + "\n" * inside.count("\n")
        times += instead is not inside
        parts += (text[at : begin.end()], instead)
        at = end.start()
    return "".join((*parts, text[at:])), times
