"""Reads a sentence: its content words in order, its values, and what it says about change.

Nothing here knows an attribute or a relation by name: words are told apart by what kind of word
they are. `read` is pure and remembers, since the same statements are compared again and again.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from cortex.runtime.retrieval import stem

from .vocabulary import (
    ADDED,
    ANY_IDIOM,
    ARTICLES,
    ASKS,
    CHANGE,
    COPULA,
    COUNT,
    DAY,
    DEFINITE,
    FIRST,
    FORMER,
    FORMER_ENDS,
    FORMER_WORDS,
    FUNCTION,
    IDIOMS,
    IRREGULAR,
    LATE,
    MONTH,
    MONTH_IS,
    NEGATION,
    NOT_FORMER,
    OF_IDIOMS,
    OWNING,
    PAST,
    STATE,
    STOPPED,
    TAKEN_OVER,
    UNSURE,
)

_ROOT: Final = 5  # characters that are left of a word without its ending
LONGEST_CHARS: Final = 4_000  # of a text that is read
MOST_SENTENCES: Final = 12
KEPT_TOKENS: Final = 1 << 16  # words that are known

_TOKEN = re.compile(
    r"[$€£]?\d[\d,.:/-]*\d(?:[a-zA-Z%]+)?|[$€£]?\d+(?:[a-zA-Z%]+)?"  # 1,200  12:30  v1.2  40ms
    r"|[^\W\d_][\w@+#-]*(?:[.'\u2019/][\w@+#-]+)*[+#%]*"  # words, e-mail addresses, C++, node.js
)
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9])|\n+")

_ANNOUNCED: Final = LATE | frozenset(word for word in CHANGE if word.endswith("ed"))
_OF_VERB: Final = frozenset(("a", "an", "as", "at", "for", "in", "on", "the", "with"))
_CALLED: Final = 3  # words at the beginning, among which one may be called by name
WORD, NAME, NUMBER, DATE = "word", "name", "number", "date"


class Word(Struct, frozen=True, gc=False):
    """A content word; many are kept, so the garbage collector of Python looks at none."""

    stem: str
    text: str  # as it is written
    kind: str
    place: int  # among all words of the sentence; of the last one of a date
    first: int  # the place of the first one
    former: bool  # said to be no longer so
    joined: bool  # nothing but a space stands between it and the word before


class Reading(Struct, frozen=True, gc=False):
    """What a sentence says, as far as can be told without knowing what it is about."""

    text: str
    words: tuple[Word, ...]
    stems: frozenset[str]  # of what is so
    former: frozenset[str]  # stems of what is no longer so: "from 150", "instead of MySQL"
    changes: bool  # it announces a change
    late: bool  # by a word such as "now", which events do without
    announces: bool  # by such a word, or by what was done: "moved", "switched"
    negates: bool
    adds: bool
    unsure: bool  # a question, a plan, a condition
    past: bool
    first_person: bool
    states: bool  # it says how something is, not that something happened
    verb: int  # place of its first verb; -1 if there is none
    titled: bool  # "X is the head of Y": what is said of Y stands first
    low: tuple[str, ...]  # all its words, in lower case
    former_at: frozenset[int]  # places of words that are said to be no longer so

    def is_key(self, word: Word) -> bool:
        """Whether *word* stands where what a statement is about does: "of X", "for X", "X's"."""
        if self.low[word.place].endswith("'s"):
            return True
        named = word.kind in (WORD, NAME) and word.place - 2 not in self.former_at
        return named and _owning(self.low, word.place)

    def is_called(self, word: Word) -> bool:
        """Whether a number or name says which one it is about: "ticket 17 is", "plan B is"."""
        follows = word.first > 0 and bool(_TOKENS[self.low[word.first - 1]].kind)
        return follows and word.kind in (NUMBER, NAME) and self.verb > word.place

    def before(self, word: Word) -> str:
        """The word before *word*, articles left out; empty if there is none."""
        place = word.first - 1
        while place > 0 and self.low[place] in ARTICLES:
            place -= 1
        return self.low[place] if place >= 0 else ""

    def behind(self, word: Word) -> str:
        """The word behind *word*; empty if there is none."""
        return self.low[word.place + 1] if word.place + 1 < len(self.low) else ""


class Token(Struct, frozen=True, gc=False):
    """What a word of a text is by itself, wherever it stands; see `_token`."""

    text: str
    low: str
    kind: str  # of a content word that is not the first; "" for another word
    stem: str
    is_state: bool
    is_verb: bool
    is_past: bool


class _KnownTokens(dict[str, Token]):
    """What words are: texts repeat them."""

    def __missing__(self, text: str) -> Token:
        if len(self) >= KEPT_TOKENS:
            self.clear()
        self[text] = token = _token(text)
        return token


_TOKENS: Final = _KnownTokens()
# One for all: each set is looked at by the garbage collector.
_NOTHING: Final = frozenset[str]()
_NOWHERE: Final = frozenset[int]()


@lru_cache(maxsize=1 << 14)
def sentences(text: str) -> tuple[Reading, ...]:
    """The sentences of *text*, read; those without a content word are left out."""
    parts = _SENTENCE.split(text[:LONGEST_CHARS])
    found = (read(part) for part in parts[:MOST_SENTENCES])
    return tuple(each for each in found if each.words) or (read(text[:LONGEST_CHARS]),)


@lru_cache(maxsize=1 << 15)
def read(text: str) -> Reading:
    """*text* as one sentence."""
    plain, lower = text, text.lower()
    if any(part in lower for part in OF_IDIOMS):
        plain = ANY_IDIOM.sub(_idiom, text)
    matches = list(_TOKEN.finditer(plain))
    tokens = [_TOKENS[match[0]] for match in matches]
    low = [token.low for token in tokens]
    seen = frozenset(low)
    verbs = [at for at, token in enumerate(tokens) if token.is_state or (token.is_past and at)]
    former = _former_places(low, seen)
    words = _words(plain, matches, tokens, low, former)
    return Reading(
        text=text,
        words=tuple(words),
        stems=frozenset([word.stem for word in words if not word.former]),
        former=frozenset([word.stem for word in words if word.former]) if former else _NOTHING,
        changes=not seen.isdisjoint(CHANGE),
        late=not seen.isdisjoint(LATE),
        announces=not seen.isdisjoint(_ANNOUNCED),
        negates=not seen.isdisjoint(NEGATION),
        adds=not seen.isdisjoint(ADDED),
        unsure=not seen.isdisjoint(UNSURE) or _asks(low, text),
        past=not seen.isdisjoint(PAST),
        first_person=not seen.isdisjoint(FIRST),
        states=any(tokens[at].is_state for at in verbs),
        verb=verbs[0] if verbs else -1,
        titled=_is_titled(low, verbs[0] if verbs else -1),
        low=tuple(low),
        former_at=frozenset(former) if former else _NOWHERE,
    )


def _words(
    text: str,
    matches: list[re.Match[str]],
    tokens: list[Token],
    low: list[str],
    former: set[int],
) -> list[Word]:
    """The content words of *text*, whose words are at *matches*; *former* is by place."""
    words: list[Word] = []
    end, content_at, is_date = 0, -2, False
    for place, (match, token) in enumerate(zip(matches, tokens, strict=True)):
        start, before_it = match.start(), end
        end = match.end()
        kind = token.kind
        if not kind or (kind == NAME and place and _is_called(text, match, place)):
            continue
        if kind == NAME and not place:
            if len(token.text) == 1:
                continue
            kind = WORD  # a capital there is none of a name
        joined = place > 0 and text[before_it:start].isspace()
        stem = token.stem
        if token.is_verb and _is_place(low, place):
            stem = f"to {stem}"
        made = Word(stem, token.text, kind, place, place, place in former, joined)
        follows = joined and place - content_at == 1
        if follows and (is_date or kind == DATE) and _is_one_date(words[-1], made):
            made = _dated(words.pop(), made)
        words.append(made)
        content_at, is_date = place, made.kind == DATE
    return words


def _is_place(low: list[str], place: int) -> bool:
    """Whether a verb's word is where one goes: "takes a bus to work" says nothing of a job."""
    if place == 0 or low[place - 1] != "to":
        return False
    return place + 1 == len(low) or low[place + 1] not in _OF_VERB


def _is_called(text: str, match: re.Match[str], place: int) -> bool:
    """Whether a name only says who is spoken to: "Thanks, Anna!", "Wow, Boris, that is ..."."""
    if place >= _CALLED:
        return False
    before, behind = text[: match.start()].rstrip()[-1:], text[match.end() : match.end() + 1]
    return before == "," and behind in ",!?."


def _idiom(match: re.Match[str]) -> str:
    return IDIOMS[(match.lastindex or 1) - 1][1]


def _is_one_date(one: Word, other: Word) -> bool:
    """Whether one is a month and the other one a day of it."""
    months = one.stem.startswith(MONTH_IS), other.stem.startswith(MONTH_IS)
    kinds = {one.kind, other.kind}
    return months.count(True) == 1 and kinds <= {DATE, NUMBER}


def _dated(one: Word, other: Word) -> Word:
    month, day = (one, other) if one.stem.startswith(MONTH_IS) else (other, one)
    stem, text = f"{month.stem} {day.stem}", f"{one.text} {other.text}"
    return replace(other, stem=stem, text=text, kind=DATE, first=one.first)


def _is_past(word: str) -> bool:
    return (word.endswith("ed") and len(word) > 3) or word in IRREGULAR


def _asks(low: list[str], text: str) -> bool:
    """Whether it is a question alone: "I moved it to May, is that right?" states something, too."""
    return text.rstrip().endswith("?") and bool(low) and low[0] in ASKS


def _is_state(word: str) -> bool:
    return word in COPULA or word in STATE or word in ("i'm", "it's", "we're", "that's")


def _owning(low: Sequence[str], place: int) -> bool:
    """Whether the word at *place* follows `of` or `for`, with nothing but an article between."""
    before = low[place - 1] if place else ""
    if place > 1 and (before in ARTICLES or before.endswith("ing")):
        place -= 1  # "for the search", "for hosting Apollo"
        before = low[place - 1]
    return before in OWNING or (before == "over" and low[place - 2] in TAKEN_OVER)


def _former_places(low: list[str], seen: frozenset[str]) -> set[int]:
    """The places of words that name what is no longer so."""
    found: set[int] = set()
    left, verb = 0, -1
    for place, word in enumerate(low):
        after = low[place + 1] if place + 1 < len(low) else ""
        if word in FORMER and after not in NOT_FORMER:
            left = 0 if word == "over" and not seen.isdisjoint(TAKEN_OVER) else FORMER_WORDS
            verb = place + 1 if word == "longer" else -1  # "no longer lives": what it is about
        elif left and word in FORMER_ENDS:
            # "not in Rome", "no longer lives in Rome but in Oslo": this preposition ends nothing
            behind = not STOPPED.isdisjoint(low[max(place - 2, 0) : place])
            left = left - 1 if word in ("in", "at", "on") and behind else 0
        elif left:
            left -= 1
            if place != verb:
                found.add(place)
    return found


def _is_titled(low: list[str], verb: int) -> bool:
    """Whether it says who holds a title: "X is the head of Y", "X took over as our head"."""
    if any(one == "as" and other in DEFINITE for one, other in pairwise(low)):
        return True
    rest = [word for word in low[verb + 1 : verb + 7] if word != "now"] if verb >= 0 else []
    return bool(rest) and rest[0] in DEFINITE and not OWNING.isdisjoint(rest)


def _token(text: str) -> Token:
    low = text.lower().replace("\u2019", "'")
    kind = _kind(text, low)
    return Token(
        text=text,
        low=low,
        kind=kind,
        stem=_normal(low, kind) if kind else "",
        is_state=_is_state(low),
        is_verb=low in STATE,
        is_past=_is_past(low),
    )


def _kind(token: str, word: str) -> str:
    """What kind of content word, were it not the first of its sentence; empty if it is none."""
    if token[0].isdigit() or token[0] in "$€£":
        return DATE if _is_time(word) else NUMBER
    if word in COUNT:
        return NUMBER
    if word in MONTH and (token[0].isupper() or word not in ("may", "mar", "march")):
        return DATE
    if word in DAY:
        return DATE
    if len(token) == 1 and token.isupper() and word != "i":
        return NAME  # "project A"; the first word of a sentence is none: see `_words`
    if word in FUNCTION or word in CHANGE or word.split("'", 1)[0] in FUNCTION or len(word) < 2:
        return ""
    return NAME if token[0].isupper() else WORD


def _is_time(word: str) -> bool:
    return (
        ":" in word
        or word.count("/") == 2
        or word.count("-") == 2
        or word.endswith(("am", "pm", "st", "nd", "rd", "th"))
    )


def _normal(word: str, kind: str) -> str:
    if kind == NUMBER:
        return COUNT.get(word, word.replace(",", "").strip("$€£."))
    if kind == DATE:
        if word in MONTH:
            return f"{MONTH_IS}{MONTH[word]}"
        return word.removesuffix("st").removesuffix("nd").removesuffix("rd").removesuffix("th")
    return root(word.removesuffix("'s"))


@lru_cache(maxsize=1 << 15)  # a text repeats its words
def root(word: str) -> str:
    """*word* without its ending, and without what makes a person of a verb: "review"."""
    word = stem(word)
    for ending in ("ment", "er", "or", "ion"):
        if word.endswith(ending) and len(word) - len(ending) >= _ROOT:
            return stem(word.removesuffix(ending) + "e")
    return word
