"""Where an article, a comma or an "also" is the only sign of where a clause or a list ends."""

# ruff: noqa: RUF001  # quotation marks, dashes and signs as texts have them

import re
from typing import Final

from . import speech

SEEN_CHARS: Final = 400  # before a word
_OPEN_ASIDE = re.compile(rf", (?!{speech.LINKS}\b)[^,.;:]{{1,30}}$")
# Without it, "but X is also right" would deny the other.
_CONTRAST = re.compile(
    r"\b(?:though|although|but|yet|while|whilst|whereas|however|instead)\b[^.;:]*$",
    re.IGNORECASE,
)
_AND_OR: Final = {"and": " or ", "or": " and "}
_LINKED = re.compile(rf"{speech.LINKS}\b")
_OWN_SUBJECT = re.compile(
    rf"(?:and|or) (?!{speech.PRONOUNS}\b)(?:[\w\ue000'’-]+ ){{1,4}}{speech.FINITE}\b"
)
# Where an article goes, what is before it and behind it is read together.
_AFTER_A_NAME = re.compile(
    r"(?:(?<=[a-z,] )[A-Z][\w-]*|\ue000|\b(?:[Tt]he|[Aa]n?) [\w-]+|^[A-Z][a-z]+ly|\bfinally) $"
)
_AFTER_A_PHRASE = re.compile(  # "for convenience a version"
    r"(?:For|In|On|At|With|By|After|Before|During|From|Without|Within|Under|Per) "
    r"(?!(?:\w+ing|all|both|any|each|some) )[a-z]+ $"
)
_AFTER_A_LINK = re.compile(r"(?:\b(?:so|then)|;) $")
_INTRODUCED = re.compile(rf"^{speech.INTRODUCING}\b[^,.;:]*, $")
_LIKE_AN_ORDER = re.compile(  # "post to the list", "change in the list"
    r"[a-z]+ (?:to|for|with|in|on|from|at|by|into|the|an?|it|your|all|this|that)\b"
)
_COMPARATIVE = re.compile(rf"{speech.COMPARATIVES}\b")
_COMPARED = re.compile(rf"{speech.COMPARATIVES} (?:the|an?|its?|you|we|they)\b")
_AFTER_AND = re.compile(r"\b(?:and|or|but) $")
_CLEAR_SUBJECT = re.compile(speech.CLEAR_SUBJECT)
_OPENED = re.compile(
    rf"(?:and |so |but )?{speech.INTRODUCING}\b.* (\w+) $",
    re.IGNORECASE,
)
_GOES_ON: Final = re.compile(
    rf"(?:{speech.LINKS}|of|than|is|are|was|were|be|all|both|not)$", re.IGNORECASE
)
_FINITE_SOON = re.compile(rf"(?:[\w\ue000'’-]+ ){{1,4}}{speech.FINITE}\b")


def before(found: re.Match[str]) -> str:
    """What is before a match, as far as it may matter: not the whole of a sentence without end."""
    return found.string[max(found.start() - SEEN_CHARS, 0) : found.start()]


def without_also(found: re.Match[str]) -> str:
    """Without "also", but not in a contrast, and not where it counts ("usually also")."""
    return found[0] if _CONTRAST.search(before(found)) else ""


def without_article(found: re.Match[str]) -> str:
    """Without the article, except where it is the only sign that something new begins."""
    text = before(found)
    if _AFTER_A_NAME.search(text) or _AFTER_A_PHRASE.match(text):
        return found[0]  # "Bob the keeper", "we call the pier the right place"
    order = _AFTER_A_LINK.search(text) or (
        _INTRODUCED.search(text) and _LIKE_AN_ORDER.match(found.string, found.end())
    )
    if order and not _CLEAR_SUBJECT.match(found.string, found.end()):
        return found[0]  # "so change it" is an order
    if _COMPARED.match(found.string, found.end()) or (
        text.endswith(", ") and _COMPARATIVE.match(found.string, found.end())
    ):
        return found[0]  # "the higher the tide, the faster it is"
    soon = _FINITE_SOON.match(found.string, found.end())
    if soon and _AFTER_AND.search(text) and not _CLEAR_SUBJECT.match(found.string, found.end()):
        return found[0]  # "and the test fails"
    opened = _OPENED.match(re.split(r"[,;:(]", text)[-1].lstrip())
    if soon and opened and not _GOES_ON.match(opened[1]):
        return found[0]  # "after the storm a boat will come" has no comma
    return ""


def without_comma(found: re.Match[str]) -> str:
    """A comma goes, but one that closes an aside stays with the one that opens it."""
    if other := _AND_OR.get(found[1]):
        clause = re.split(r"[.;:(]", before(found))[-1]
        if other in clause:
            return found[0]  # in "A or B, and C" it says what belongs together
        *parts, last = clause.split(", ")
        if parts and _LINKED.match(last):
            return found[0]  # it closes ", which is old"
        if f" {found[1]} " in last:
            return found[0]
        if not parts or _OWN_SUBJECT.match(found.string, found.end()):
            return found[0]  # no list: it begins a clause
    if found[1] in ("and", "or", "nor", "but", "eg", "ie"):  # the last of a list
        return " "
    return found[0] if _OPEN_ASIDE.search(before(found)) else " "
