"""Finding by words: all of them must stand in a text, whatever their case, in one or many."""

from collections.abc import Iterable


def has_words(words: Iterable[str], text: str) -> bool:
    """Whether *text* has each of *words*; an argument of several words counts as those."""
    said = _plain(text)
    return all(_singular(word) in said for part in words for word in _plain(part).split())


def _plain(text: str) -> str:
    return text.casefold().replace("_", " ")


def _singular(word: str) -> str:
    # Who asks for failures means the failure that is described, too.
    return word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word
