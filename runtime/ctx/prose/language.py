"""Whether a text is English: the rules are of English, and `a` is a verb in French."""

import re
from typing import Final

SHARE: Final = 0.1  # of the words of a document that are these; in English a third is usual
LEAST_FOREIGN: Final = 2  # words of another language in a paragraph; one may be a name
_WORD = re.compile(r"[^\W\d_]+")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENGLISH = _words(
    "the of and is are that this these those it its with which you your they their there not "
    "be been were have has can could must should would will when if what who from but we our "
    "all to for by"
)
_OTHERS = _words(  # frequent in other languages, none of them English
    "le la les des du et est une un que qui dans pour avec il elle ne pas au aux ce cette nous "
    "vous der das und ist nicht ein eine einen dem den zu mit auf für von er sie wir sind el los "
    "las y en una del se su por con para es lo di che non per della è gli nel sono os da em não "
    "uma um het een niet van zijn op og att är och det som på ikke nie się jest na w z że az és "
    "hogy nem si nu este în на и в не что"
)


def is_english(text: str) -> bool:
    """Whether enough words of the document *text* are function words of English."""
    words = _WORD.findall(text.lower())
    return sum(word in _ENGLISH for word in words) >= SHARE * len(words)


def is_foreign(text: str) -> bool:
    """Whether more words of the paragraph *text* are of another language than of English."""
    words = _WORD.findall(text.lower())
    others = sum(word in _OTHERS for word in words)
    return others >= LEAST_FOREIGN and others > sum(word in _ENGLISH for word in words)
