"""The published rules of condensing, in the order in which they are applied to a sentence.

None of them removes a number, a name, a negation, a condition or a modal; the checker, which is
independent of them, makes a rule be undone that does so.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from . import speech
from .sentences import outside
from .wordings import CONTRACTIONS, EXAMPLES, OPENINGS, PARTICIPLES, POSITIVE, WORDINGS

ANYWHERE: Final = ("contraction", "blanks")  # they change no word that a negation governs
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|nothing|nobody|nowhere|hardly|cannot)\b|n't\b",
    re.IGNORECASE,
)
KNOWN_USES: Final = 3  # of a name, from which on it needs no article
_NAME = re.compile(r"(?<=[a-z,] )[A-Z]\w+(?: [A-Z]\w+)*\b")
_NOUN = rf"\b(?!{speech.NO_NOUN} )([\w\ue000]+)"
_OPEN_ASIDE = re.compile(rf", (?!{speech.LINKS}\b)[^,.;:]{{1,30}}$")
Becomes = str | Callable[[re.Match[str]], str]


class ProseRule(NamedTuple):
    """What is looked for and what it becomes."""

    name: str
    pattern: re.Pattern[str]
    becomes: Becomes
    needs: str  # what every match holds; it is faster to look for

    def on(self, text: str) -> str:
        """*text* after this rule."""
        return self.pattern.sub(self.becomes, text) if self.needs in text else text


def _rule(name: str, pattern: str, becomes: Becomes = "", needs: str = "") -> ProseRule:
    return ProseRule(name, re.compile(pattern), becomes, needs)


def _phrases(
    name: str, table: dict[str, str], before: str = r"\b", behind: str = r"\b"
) -> ProseRule:
    # By their first letters: at most places of a text none of them begins.
    begun: dict[str, list[str]] = defaultdict(list)
    for phrase in sorted(table, key=len, reverse=True):
        begun[phrase[0]].append(re.escape(phrase[1:]))
    any_of = "|".join(f"[{one.upper()}{one}](?:{'|'.join(rest)})" for one, rest in begun.items())

    def becomes(found: re.Match[str]) -> str:
        phrase = found.group(1)
        return table.get(phrase) or _capital(table[phrase[0].lower() + phrase[1:]])

    return _rule(name, f"{before}({any_of}){behind}", becomes)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _specification(found: re.Match[str]) -> str:
    return f"{found[1].upper()} {found[2]}"


def _participle(found: re.Match[str]) -> str:
    return f"{found[1]} {PARTICIPLES[found[2]]}"


def _unless_closing(found: re.Match[str]) -> str:
    """A comma goes, but one that closes an aside stays with the one that opens it."""
    if found[1] in ("and", "or", "nor", "but", "eg", "ie"):  # the last of a list
        return " "
    return found[0] if _OPEN_ASIDE.search(found.string[: found.start()]) else " "


MARKUP: tuple[ProseRule, ...] = (
    _rule("role", r"(?<![\w:]):(pep|rfc):`(\d{1,5})`", _specification, ":`"),
    _rule("role", rf"(?<![\w:]):(?:[a-z]{{1,4}}:)?{speech.ROLES}:(?=`[^`\n]{{1,200}}`)", "", ":`"),
    _rule("self-link", r"\[(https?://[^\[\]\s]{1,1000})\]\(\1/?\)", r"\1", "](http"),
    _rule("anchor", r"\[([^\[\]\n]{1,300})\]\(#[^)\s]{0,300}\)", r"\1", "](#"),
    _rule("emphasis", r"(?<![\w*])\*\*(?! )([^*\n]+?)(?<! )\*\*(?![\w*])", r"\1", "**"),
    _rule("emphasis", r"(?<![\w*\\])\*(?! )([^*\n]+?)(?<! )\*(?![\w*])", r"\1", "*"),
    _rule("emphasis", r"(?<![\w_\\])_(?! )([^_\n]+?)(?<! )_(?![\w_])", r"\1", "_"),
    _rule("escape", r"\\([_*\[\]()#.!<>~+-])", r"\1", "\\"),
)

RULES: tuple[ProseRule, ...] = (
    *[_rule("reference", each) for each in speech.REFERENCES],
    _rule("framing", rf"(?:^|(?<=[;:] ))(?i:{speech.FRAMES}) that ?", "", " that"),
    _rule("framing", rf"(?:^|(?<=[;:] ))(?i:{speech.ASIDES}), ?", "", ","),
    _phrases("opening", OPENINGS, r"(?:^|(?<=[;:(] ))", r"(?= )"),
    _phrases("wording", {p: f" {s}" for p, s in EXAMPLES.items()}, r", ", r",(?= [\w(*\[\ue000])"),
    _phrases("wording", EXAMPLES, r"\b", r",?(?= [\w(*\[\ue000])"),
    _phrases("wording", WORDINGS),
    _rule(
        "wording",
        rf"\b(?=ha(?:ve|s) to\b){speech.NO_MODAL}(?:have|has) to\b(?! do with)",
        "must",
        " to",
    ),
    _rule("wording", r", as well as ", " and ", ", as well"),
    _rule("wording", r", which means that ", ", so ", ", which"),
    _rule("then", r"^((?:If|When|Since|Because) [^.;]{1,300}?, )then ", r"\1", ", then "),
    _rule("filler", rf"\b(?<!not )(?<!n't )(?<!no )(?<!only ){speech.FILLERS} (?=[a-z\ue000])"),
    _rule("that", rf"\b({speech.THAT_VERBS}) that (?={speech.SUBJECTS})", r"\1 ", " that "),
    _rule("that", rf"{_NOUN} that (?=(?:we|you|they|I|he|she)\b)", r"\1 ", " that "),
    *[
        _rule(
            "relative",
            rf"{_NOUN} {pronoun} (?:is|are|was|were) (?={speech.PREDICATES})",
            r"\1 ",
            f" {pronoun} ",
        )
        for pronoun in ("that", "which", "who")
    ],
    *[
        _rule(
            "relative",
            rf"(?!{speech.THAT_VERBS} ){_NOUN} {pronoun} ({'|'.join(PARTICIPLES)})\b",
            _participle,
            f" {pronoun} ",
        )
        for pronoun in ("that", "which")
    ],
    _rule(
        "relative",
        rf", which (?:is|are|was|were) (?!{speech.NO_PREDICATES}\b)(?=[a-z])",
        ", ",
        ", which ",
    ),
    _phrases("contraction", CONTRACTIONS),
    _phrases("contraction", POSITIVE, behind=r"\b(?! not\b)"),
    _rule("contraction", r"\b([Tt]hat) is(?= [a-z])(?! not)", r"\1's", "hat is "),
    _rule(
        "contraction",
        r"\b([Ww]e|[Tt]hey|I) have(?= (?:been|no|not|to|\w+ed)\b)",
        r"\1've",
        " have ",
    ),
    _rule("comma", rf", {speech.OPENING_WORDS},(?= ){speech.NO_ASIDE}", r" \1", ", "),
    _rule("comma", rf", (?=({speech.PAUSED})\b){speech.NO_ASIDE}", _unless_closing, ", "),
    _rule("comma", rf"(^|[;:] ){speech.OPENING_WORDS},(?= )", r"\1\2", ", "),
    _rule("comma", rf"(?<!,) {speech.OPENING_WORDS},(?= ){speech.NO_ASIDE}", r" \1", ", "),
    _rule("article", speech.ARTICLE),
    _rule("blanks", r"[ \t]{2,}", " "),
)


def known_names(text: str) -> ProseRule | None:
    """Articles before names that *text* uses so often that it has introduced them."""
    counts = Counter(_NAME.findall(text))
    names = sorted(name for name, uses in counts.items() if uses >= KNOWN_USES)
    if not names:
        return None
    any_of = "|".join(map(re.escape, names))
    return _rule(
        "article", rf"\b(?:[Tt]he|[Aa]n?) (?=(?:{any_of})\b(?! [A-Z]| {speech.INSIDE_NAMES}\b))"
    )


def shorten(
    sentence: str, known: ProseRule | None = None, stands: Callable[[str], bool] | None = None
) -> str:
    """*sentence* after all `MARKUP` and `RULES`; protected parts stay unchanged.

    Args:
        sentence: One sentence.
        known: The `known_names` of its text.
        stands: Whether a text may replace the sentence. If not, the last rule is undone; without
            this check all rules are applied.
    """
    text = sentence
    for rule in MARKUP:
        made = rule.on(text)
        text = made if stands is None or made == text or stands(made) else text
    if stands is None:
        text = outside(text, lambda free: _all_on(free, known))
    else:
        for rule in (*RULES, *([known] if known else [])):
            made = outside(text, partial(_on, rule))
            text = made if made == text or stands(made) else text
    text = text.strip(" ")
    return _capital(text) if sentence[:1].isupper() and text[:1].islower() else text


def _all_on(text: str, known: ProseRule | None) -> str:
    for rule in RULES:
        text = _on(rule, text)
    return _on(known, text) if known else text


def _on(rule: ProseRule, text: str) -> str:
    """*text* after *rule*, which changes nothing behind a negation."""
    if rule.needs not in text:
        return text
    negation = None if rule.name in ANYWHERE else _NEGATION.search(text)
    if negation is None:
        return rule.on(text)
    return rule.on(text[: negation.start()]) + text[negation.start() :]
