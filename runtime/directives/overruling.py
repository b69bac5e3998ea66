"""Whether a memory surely says the opposite of a directive: it is shown so, not hidden.

A memory is read sentence by sentence. A sentence says that something is used, or is to be used, if
it begins so: "use X", "always use X", "we use X", "the user prefers X", "decision: use X and Y". It
says that something is not used if it is all that it says: "never use X", "we no longer use X",
"avoid X". Names are those of `meaning`, as for breaches. What is not sure contradicts nothing: a
question, a past tense, an "or", "might", "we use X, not Y", a sentence about somebody else.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct

from cortex.runtime.memory import USER, Scope, numbered_in

from .identity import item
from .in_force import InForce, LaidDown, Ledgers
from .ledger import FACT
from .naming import meaning

_LONGEST: Final = 16_000  # characters of a memory that are read
_KEPT: Final = 4_096  # memories whose sentences are kept
_SENTENCES: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
_LABEL: Final = re.compile(
    r"(?:decision|preference|correction|rule|convention|note|user|owner)\s*:\s*", re.IGNORECASE
)
_WHO: Final = (
    r"(?:(?:we|i|you|they|(?:the|our|this) (?:user|team|project))(?:'re|'m| are| am| is)?"
    r"(?: (?:have|has) )?\s+)?"
)
_HOW: Final = (
    r"(?:(?:please|always|now|currently|still|usually|mostly|also|only|just|generally|normally|"
    r"should|must|will|want to|wants to|have to|has to|need to|needs to|decided to|agreed to|"
    r"chose to|prefer to|prefers to)\s+)*"
)
_USES: Final = re.compile(rf"{_WHO}{_HOW}(?:use|uses|using|prefer|prefers)\s+(.+)", re.IGNORECASE)
_AVOIDS: Final = re.compile(
    rf"{_WHO}{_HOW}(?:(?:(?:do|does) not|don't|doesn't|never|no longer) (?:use|uses)"
    r"|(?:avoid|avoids|stop)(?: using)?)\s+(.+)",
    re.IGNORECASE,
)
_PREMISE: Final = re.compile(
    r"(?:(?:the|our)\s+)?premise(?:\s+is|\s*:)\s*(.+)|(?:set premise|change premise to)\s+(.+)",
    re.IGNORECASE,
)
# A sentence with one of these may say the opposite, or say it of another time.
_UNSURE: Final = re.compile(
    r"\b(?:not|never|without|except|unless|until|formerly|previously|any ?more|used to|no longer)\b"
    r"|n't\b",
    re.IGNORECASE,
)
# What begins the rest of a sentence, behind the things that it names.
_BEHIND: Final = re.compile(
    r"\s+(?:for|to|in|on|as|with|at|by|from|via|because|since|when|whenever|while|if|unless|until|"
    r"instead|over|rather|where|so|that|which|but|before|after|during|here|everywhere|now|again|"
    r"only|too)\b.*|[:()\u2013\u2014].*|\s-+\s.*",
    re.IGNORECASE | re.DOTALL,
)
_LISTED: Final = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*", re.IGNORECASE)
_OR: Final = re.compile(r"\s+(?:or|nor)\s+", re.IGNORECASE)
_BEFORE: Final = re.compile(r"^(?:the|a|an|our|my|your|this)\s+", re.IGNORECASE)
_VERSION: Final = re.compile(r"\s+v?\d[\w.]*$")
_QUOTES: Final = "\"'`\u201c\u201d\u2018\u2019"


class Said(Struct, frozen=True):
    """What a sentence of a memory says."""

    what: Literal["use", "avoid", "premise"]
    names: tuple[str, ...]  # of things in the form of `meaning`; or the premise in that of `item`


class Overruling:
    """Finds what overrules memories, among all that is in force."""

    def __init__(self, found: InForce) -> None:
        self._prohibited = {meaning(each.name): each for each in found.prohibited}
        self._wanted = {meaning(each.name): each for each in found.wanted}
        self._premise = next(
            (each for each in found.directives if (each.kind, each.name) == (FACT, "premise")), None
        )

    def by(self, content: str) -> LaidDown | None:
        """The first directive that the memory *content* surely contradicts; None for none."""
        if not (self._prohibited or self._wanted or self._premise):
            return None
        for said in sentences_of(content):
            found = self._by(said)
            if found is not None:
                return found
        return None

    def _by(self, said: Said) -> LaidDown | None:
        if said.what == "premise":
            held = self._premise
            return held if held is not None and item(held.value) not in said.names else None
        rules = self._prohibited if said.what == "use" else self._wanted
        return next((rules[name] for name in said.names if name in rules), None)


class ScopedOverruling:
    """As `Overruling`, for memories of many scopes."""

    def __init__(self, ledgers: Ledgers, asked: Sequence[str] = ()) -> None:
        """With *asked*, the scopes that are looked at together, as those of one step."""
        self._ledgers, self._asked = ledgers, asked
        self._rules: dict[tuple[str, ...], Overruling] = {}

    def by(self, content: str, scope: str) -> str:
        """What overrules a memory of *scope*, quoted; "" for nothing.

        The directives of its own scope, of the user and of the scopes that were asked for count;
        the narrower one wins.
        """
        together = {scope, USER, *self._asked}
        scopes = tuple(sorted(together, key=lambda each: (Scope.parse(each).precedence, each)))
        if scopes not in self._rules:
            self._rules[scopes] = Overruling(self._ledgers.in_force(scopes))
        found = self._rules[scopes].by(content)
        return found.quoted if found is not None else ""


def package_with_overruled(text: str, by: Callable[[str], str]) -> str:
    """The *text* of a package, and behind it which of its memories are overruled.

    Args:
        text: As a model reads it.
        by: What overrules a memory, quoted; "" for nothing.
    """
    said = [
        f"{number} is overruled by {quoted}"
        for number, content in numbered_in(text)
        if (quoted := by(content))
    ]
    return "\n".join((text, *said))


def overruled_by(content: str, found: InForce) -> str:
    """What overrules the memory *content*, quoted; "" for nothing."""
    by = Overruling(found).by(content)
    return by.quoted if by is not None else ""


@lru_cache(maxsize=_KEPT)
def sentences_of(content: str) -> Sequence[Said]:
    """What the sentences of a memory say that could contradict a directive."""
    return tuple(
        said
        for sentence in _SENTENCES.split(content[:_LONGEST])
        if not sentence.endswith("?") and (said := _said(_plain(sentence))) is not None
    )


def _plain(sentence: str) -> str:
    straight = sentence.strip().replace("\u2019", "'").rstrip(".!; ")
    return _LABEL.sub("", straight, count=1) if _LABEL.match(straight) else straight


def _said(sentence: str) -> Said | None:
    found = _PREMISE.fullmatch(sentence)
    if found is not None:
        return Said("premise", (item((found[1] or found[2]).strip(_QUOTES)),))
    found = _AVOIDS.fullmatch(sentence)
    if found is not None:
        # "... in production" leaves the rest open.
        whole = not _BEHIND.search(found[1]) and not _UNSURE.search(found[1])
        return Said("avoid", tuple(_names(_OR.sub(", ", found[1])))) if whole else None
    found = _USES.fullmatch(sentence)
    if found is None or _UNSURE.search(sentence):
        return None
    named = _BEHIND.sub("", found[1])
    return None if _OR.search(named) else Said("use", tuple(_names(named)))


def _names(listed: str) -> Iterator[str]:
    for each in _LISTED.split(listed):
        name = _BEFORE.sub("", each.strip()).strip(_QUOTES)
        for form in (name, _VERSION.sub("", name)):
            if form:
                yield meaning(form)
