"""The identity of what a user named: two spellings of one thing give one text.

Every function here gives its own result back unchanged. So whatever is stored can be named again
by its stored text. One pass does not do that: folding the case of one character can make another
that composes with the next one ("ß" and an acute accent become "ss" and an accent, then "sś").
"""

import re
from collections.abc import Callable
from typing import Final
from unicodedata import normalize

_ENOUGH: Final = 256  # characters: mostly, the beginning of a longer text says something
_SHOWN: Final = 200  # characters of a name in a question
_DONT: Final = re.compile(r"\bdont\b")
_ARTICLES: Final = re.compile(r"(?:(?:an?|the)\b\s*+)++")
_ARTICLES_AND_SPACE: Final = re.compile(r"(?:(?:an?|the)\s++)++")


def scalars(text: str) -> str:
    """*text* without lone surrogates, which no encoding can write; pairs become one character."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def plain(text: str) -> str:
    """*text* in compatibility form, with straight apostrophes and single spaces."""
    if text.isascii():  # one pass is enough
        if text.isprintable() and "  " not in text:
            return text.strip(" ").replace("`", "'")
        return " ".join(text.replace("`", "'").split())
    return _settled(_plain, text)


def item(text: str) -> str:
    """The identity of a policy's item; empty if *text* names nothing."""
    return plain(text).lower() if text.isascii() else _settled(_item, text)


def spoken(text: str) -> str:
    """As `item`, for everyday wording: without articles, and "dont" is "don't"."""
    return _spoken(text) if text.isascii() else _settled(_spoken, text)


def listed(text: str) -> str:
    """As `spoken`, but an article alone is a name."""
    return _listed(text) if text.isascii() else _settled(_listed, text)


def names_something(text: str) -> bool:
    """Whether `plain` leaves anything of *text*."""
    if text.isascii():
        return bool(text) and not text.isspace()
    return bool(plain(text[:_ENOUGH]) or plain(text))


def excerpt(text: str) -> str:
    """The beginning of *text*, in plain form, to be shown in a question."""
    return plain(text) if len(text) <= _SHOWN else f"{plain(text[:_SHOWN])} ..."


def _settled(once: Callable[[str], str], text: str) -> str:
    found = once(text)
    if found == text:
        return found
    while (again := once(found)) != found:
        found = again
    return found


def _plain(text: str) -> str:
    whole = normalize("NFKC", scalars(text)).replace("\u2019", "'").replace("`", "'")
    return " ".join(whole.split())


def _item(text: str) -> str:
    return _plain(text).casefold()


def _spoken(text: str) -> str:
    return _without(_ARTICLES, _everyday(text))


def _listed(text: str) -> str:
    return _without(_ARTICLES_AND_SPACE, _everyday(text))


def _everyday(text: str) -> str:
    lower = plain(text).lower()
    return _DONT.sub("don't", lower) if "dont" in lower else lower


def _without(articles: re.Pattern[str], text: str) -> str:
    found = articles.match(text)
    return text[found.end() :] if found else text
