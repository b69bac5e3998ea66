"""The words of a text: which of them count, which are equal, and which are names.

There are two cuts, of one stock of stop words. `words_of` cuts as SQLite's full text does, which
stems by itself: a question to a store must be cut as the store was. `content_words` is for texts
that no store holds, code among them: it takes `parseConfigFile` apart, and stems.
"""

import re
from itertools import chain
from typing import Final

WORD: Final = re.compile(r"[^\W_]+")  # as the full text's tokenizer cuts: letters and digits
KEPT_RUNS: Final = 1 << 16  # whose terms are known
_LONGEST_WORD: Final = 64  # characters; what is longer is data, not language

# What is longer than any word is data: it is cut, or the cache of words would hold megabytes.
_RUN = re.compile(r"[^\W\d_]{1,256}|\d{1,256}")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # no spaces between words

# A full stop ends a name, but for that of an initial or a title: `George W. Jenkins`, `St. Louis`.
_PART: Final = r"[A-Z](?:[\w-]|\.(?=\w)|['\u2019](?!s\b)(?=\w))*"
_NAME = re.compile(
    rf"\b{_PART}(?:(?:(?<!\w{{3}})\.)?\s+(?:(?:of|the|de|la|von|van|and)\s+)?(?:{_PART}|\d[\w-]*))*"
)

# What a question is made of, whatever it asks about.
_ASKING: Final = frozenset(
    re.findall(
        r"\w+",
        """
        a about all an and any are as at be been but by can could did do does find for from get give
        had has have he how i if in into is it its me my of on or our please she so some tell than
        that the their them then there they this those to us was we were what when where which who
        whom whose why will with would you your
        """,
    )
)
# Of a question in prose, and of one that may be about code.
STOPWORDS: Final = _ASKING | {"also", "her", "hers", "him", "his", "such"}
STOPPED_TERMS: Final = _ASKING | frozenset(
    ("am", "list", "no", "not", "say", "should", "show", "these", "use", "while")
)


def words_of(text: str) -> list[str]:
    """The words of *text* in lower case, in order, with repetitions."""
    return [word for word in WORD.findall(text.lower()) if len(word) <= _LONGEST_WORD]


def asked_words(question: str) -> tuple[str, ...]:
    """The words of *question* that say what it is about, each once; all where none does."""
    words = tuple(dict.fromkeys(words_of(question)))
    return tuple(word for word in words if word not in STOPWORDS) or words


def content_words(text: str) -> list[str]:
    """The words of *text* that say what it is about: lower case, stemmed, stop words left out."""
    return list(chain.from_iterable(map(_KNOWN.__getitem__, _RUN.findall(text))))


def _terms(word: str) -> tuple[str, ...]:
    if _IDEOGRAPH.search(word):
        return tuple(word)
    parts = (part.lower() for part in _CAMEL.split(word))
    return tuple(stem(part) for part in parts if part not in STOPPED_TERMS)


class _KnownTerms(dict[str, tuple[str, ...]]):
    """The terms of runs of letters or digits: texts repeat their words.

    No `lru_cache`, because the garbage collector looks three times at all that one holds.
    """

    def __missing__(self, run: str) -> tuple[str, ...]:
        if len(self) >= KEPT_RUNS:
            self.clear()
        self[run] = terms = _terms(run)
        return terms


_KNOWN: Final = _KnownTerms()


def stem(word: str) -> str:
    """*word* without its commonest English endings; equal stems count as equal words."""
    for ending, least in (("ing", 6), ("ies", 5), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            word = word[: -len(ending)] + ("y" if ending == "ies" else "")
            break
    if len(word) >= 4 and word.endswith("e"):
        return word[:-1]
    return word[:-1] if len(word) >= 5 and word[-1] == word[-2] else word


def names_in(text: str, most: int | None = None) -> dict[str, str]:
    """What *text* writes with capitals, as it is written, by its words in lower case; each once.

    Of many the first ones, at most *most*.

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
            if len(found) == most:
                break
    return found


def plain(text: str) -> str:
    """The words of *text*, one space between them."""
    return " ".join(words_of(text))
