"""Words of a question and of a passage: which of them count, and which are names."""

import re
from typing import Final

WORD: Final = re.compile(r"[^\W_]+")  # as the full text's tokenizer cuts: letters and digits
# A full stop ends a name, but for that of an initial or a title: `George W. Jenkins`, `St. Louis`.
_PART: Final = r"[A-Z](?:[\w-]|\.(?=\w)|['\u2019](?!s\b)(?=\w))*"
_NAME = re.compile(
    rf"\b{_PART}(?:(?:(?<!\w{{3}})\.)?\s+(?:(?:of|the|de|la|von|van|and)\s+)?(?:{_PART}|\d[\w-]*))*"
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


def names_in(text: str) -> dict[str, str]:
    """What *text* writes with capitals, as it is written, by its words in lower case; each once.

    `{"lake placid": "Lake Placid", "nasa": "NASA"}`. A name may be the first word of any sentence:
    what is no name is common, and so weighs little.
    """
    found: dict[str, str] = {}
    for match in _NAME.finditer(text):
        parts = match[0].split()
        while parts and parts[0].lower() in STOPWORDS:
            parts = parts[1:]
        while parts and parts[-1].lower() in STOPWORDS:
            parts = parts[:-1]
        name = plain(" ".join(parts))
        if len(name.replace(" ", "")) > 2:
            found.setdefault(name, " ".join(parts))
    return found


def plain(text: str) -> str:
    """The words of *text*, one space between them."""
    return " ".join(words_of(text))
