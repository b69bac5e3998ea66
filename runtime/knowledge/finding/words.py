"""Words of a question and of a passage: which of them count, and which are names."""

import re
from typing import Final

WORD: Final = re.compile(r"[^\W_]+")  # as the full text's tokenizer cuts: letters and digits
_NAME = re.compile(
    r"\b[A-Z][\w'\u2019.-]*"
    r"(?:\s+(?:(?:of|the|de|la|von|van|and)\s+)?[A-Z0-9][\w'\u2019-]*)*"
)
_LONGEST_WORD: Final = 64  # characters; what is longer is data, not language

# What a question is made of, whatever it asks about.
STOPWORDS: Final = frozenset(
    re.findall(
        r"\w+",
        """
    a about all also an and any are as at be been but by can could did do does find for from get
    give had has have he her hers him his how i if in into is it its me my of on or our please she
    so some such tell than that the their them then there they this those to us was we were what
    when where which who whom whose why will with would you your
        """,
    )
)


def words_of(text: str) -> list[str]:
    """The words of *text* in lower case, in order, with repetitions."""
    return [word for word in WORD.findall(text.lower()) if len(word) <= _LONGEST_WORD]


def asked_words(question: str) -> tuple[str, ...]:
    """The words of *question* that say what it is about, each once; all where none does."""
    words = tuple(dict.fromkeys(words_of(question)))
    return tuple(word for word in words if word not in STOPWORDS) or words


def names_in(text: str) -> tuple[str, ...]:
    """What *text* writes with capitals, as words in lower case: `lake placid`, `nasa`; each once.

    A name may be the first word of any sentence: what is no name is common, and so weighs little.
    """
    found: dict[str, None] = {}
    for match in _NAME.finditer(text):
        words = words_of(match[0])
        while words and words[0] in STOPWORDS:
            words = words[1:]
        while words and words[-1] in STOPWORDS:
            words = words[:-1]
        if len("".join(words)) > 2:
            found[" ".join(words)] = None
    return tuple(found)


def plain(text: str) -> str:
    """The words of *text*, one space between them."""
    return " ".join(words_of(text))
