"""The published rules of condensing, in the order in which they are applied to a sentence.

None of them removes a number, a name, a negation, a condition or a modal; the checker, which is
independent of them, makes a rule be undone that does so.
"""

# ruff: noqa: RUF001  # quotation marks, dashes and signs as texts have them

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Final, NamedTuple

from . import boundaries, speech
from .negation import denied
from .participles import PARTICIPLES
from .sentences import outside
from .wordings import CONTRACTIONS, EXAMPLES, OPENINGS, POSITIVE, WORDINGS

ANYWHERE: Final = ("contraction", "blanks")  # they change no word that a negation governs
KNOWN_USES: Final = 3  # of a name, from which on it needs no article
_NAME = re.compile(r"(?<=[a-z,] )[A-Z]\w+(?: [A-Z]\w+)*\b")
_NOUN = rf"\b(?!{speech.NO_NOUN} )([\w\ue000]+)"
_NOT_AS_IT_IS: Final = r"(?:(?<!\b[Aa]s )|(?<=soon as )|(?<=long as ))\b"
_TERM: Final = r"[a-z]+(?: [a-z]+){1,3}"  # marked as one would quote it: "its *set by* type"
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|once|where|since|because|while|after|before|until|as)\b",
    re.IGNORECASE,
)
_CLEFT = re.compile(r"\b(?:[Ii]t|what's it|What's it)(?: is|'s| was)? [^.;:]*$")
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
    """A participle, but not in "it is the gate that opens", which says which one opens."""
    if _CLEFT.search(boundaries.before(found)):
        return found[0]
    return f"{found[1]} {PARTICIPLES[found[2]]}"


def _later(found: re.Match[str]) -> str:
    return "Later" if found[1] == "I" else "later"


def _then(found: re.Match[str]) -> str:
    """Without "and", but not in a condition, whose consequence a "then" would open."""
    return found[0] if _CONDITION.search(boundaries.before(found)) else "then "


MARKUP: tuple[ProseRule, ...] = (
    _rule("role", r"(?<![\w:]):(pep|rfc):`(\d{1,5})`", _specification, ":`"),
    _rule("role", rf"(?<![\w:]):(?:[a-z]{{1,4}}:)?{speech.ROLES}:(?=`[^`\n]{{1,200}}`)", "", ":`"),
    _rule("code", r"(?<!`)``([^`\n ][^`\n]{0,200}(?<! ))``(?!`)", r"`\1`", "``"),
    _rule("self-link", r"\[(https?://[^\[\]\s]{1,1000})\]\(\1/?\)", r"\1", "](http"),
    _rule("anchor", r"\[([^\[\]\n]{1,300})\]\(#[^)\s]{0,300}\)", r"\1", "](#"),
    _rule("emphasis", r"(?<![\w*])\*\*(?! )([^*\n]+?)(?<! )\*\*(?![\w*])", r"\1", "**"),
    _rule("emphasis", rf"(?<![\w*\\])\*(?! |{_TERM}\*)([^*\n]+?)(?<! )\*(?![\w*])", r"\1", "*"),
    _rule("emphasis", rf"(?<![\w_\\`])_(?! |{_TERM}_)([^_\n]+?)(?<! )_(?![\w_])", r"\1", "_"),
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
        rf"\b(?=ha(?:ve|s) to\b){speech.NO_MODAL}(?:have|has) to(?= [a-z\ue000])(?! do with)",
        "must",
        " to",
    ),
    _rule(
        "wording", r"\bsuch as (?!(?:to|it|is|are|was|these|those|this|that)\b)", "eg ", "such as "
    ),
    _rule("filler", rf"(?<=[\w)\ue000]){speech.NO_MEASURE},? as well(?=[.;:)]|$)", "", " as well"),
    _rule("wording", rf"{speech.MANNER}\bin which (?={speech.A_CLAUSE})", "where ", "in which "),
    _rule("wording", r"\b([Ii])n the future(?=[,.;)]|$)", _later, "n the future"),
    _rule("wording", r", which is why ", ", so ", ", which is why "),
    _rule("wording", r"\band then (?=[a-z\ue000])", _then, "and then "),
    _rule("wording", r"(?<!,) as follows(?=:)", "", " as follows"),
    _rule(
        "wording",
        r"\b([Aa]ll|[Bb]oth) of (?=(?:these|those|its|their|our|your|his|her)\b)",
        r"\1 ",
        " of ",
    ),
    _rule(
        "wording",
        r"\b([Ss]ome|[Mm]any|[Ss]everal) of the (?=[a-z]+s\b(?!['’]))",
        r"\1 ",
        " of the ",
    ),
    _rule(
        "relative",
        rf"(?!{speech.ASKING} ){_NOUN} (?:that|which|who) ha(?:s|ve) "
        rf"(?=(?:an?|the|multiple|different|access)\b){speech.ONE_VERB}",
        r"\1 with ",
        " ha",
    ),
    _rule("then", r"^((?:If|When|Since|Because) [^.;,]{1,300}, )then ", r"\1", ", then "),
    _rule("filler", rf"\b(?<!not )(?<!n't )(?<!no )(?<!only ){speech.FILLERS} (?=[a-z\ue000])"),
    _rule(
        "filler",
        rf"\b{speech.NO_FREQUENCY}(?<!not )(?<!n't )(?<!no )(?<!only )also (?=[a-z\ue000])",
        boundaries.without_also,
        "also ",
    ),
    _rule(
        "that",
        rf"\b{speech.NO_COPULA}({speech.THAT_VERBS}) that (?={speech.SUBJECTS})",
        r"\1 ",
        " that ",
    ),
    _rule(
        "that",
        rf"(?!{speech.NO_STATEMENT} ){_NOUN} that (?=(?:we|you|they|I|he|she)\b)",
        r"\1 ",
        " that ",
    ),
    *[
        _rule(
            "relative",
            rf"{_NOUN} {pronoun} (?:is|are|was|were) "
            rf"(?={speech.PREDICATES}){speech.ONE_CLAUSE}",
            r"\1 ",
            f" {pronoun} ",
        )
        for pronoun in ("that", "which", "who")
    ],
    *[
        _rule(
            "relative",
            rf"(?!{before} ){_NOUN} {pronoun} ({'|'.join(PARTICIPLES)})\b"
            rf"{speech.A_VERB}{speech.ONE_VERB}",
            _participle,
            f" {pronoun} ",
        )
        for pronoun, before in (
            ("that", rf"(?:{speech.THAT_VERBS}|{speech.STATED})"),
            ("which", speech.ASKING),
        )
    ],
    _rule(
        "relative",
        rf", which (?:is|are|was|were) (?!{speech.NO_PREDICATES}\b)(?=[a-z])"
        r"(?![^.;:,]*,? (?:and|or|but)\b)",  # its other comma would go
        ", ",
        ", which ",
    ),
    _phrases("contraction", CONTRACTIONS, behind=r"\b(?! to\b)"),  # "is not to use" denies "use"
    # None at the end of a clause, as in "how old it is" or "as it is".
    _phrases(
        "contraction",
        POSITIVE,
        _NOT_AS_IT_IS,
        r"\b(?![.;:!?)]|$|, (?:and|or|but|so|because)\b)(?! (?:not|that)\b)",
    ),
    _rule(
        "contraction",
        rf"(?<!ing )\b([Tt]hat) is(?= [a-z])(?! not)(?! (?:to|you|it|{speech.NOMINATIVE}))",
        r"\1's",
        "hat is ",
    ),
    _rule("contraction", r"\b([Ii]t|[Tt]here|[Hh]e|[Ss]he) has(?= been\b)", r"\1's", " has been"),
    _rule(
        "contraction",
        r"\b([Ww]e|[Tt]hey|[Yy]ou|I) have(?= (?:been|no|not|to|\w+ed)\b)",
        r"\1've",
        " have ",
    ),
    _rule(
        "comma",
        rf"{speech.NO_BOUNDARY}, {speech.OPENING_WORDS},(?= ){speech.NO_ASIDE}",
        r" \1",
        ", ",
    ),
    _rule("comma", rf", (?=({speech.PAUSED})\b){speech.NO_ASIDE}", boundaries.without_comma, ", "),
    # "Unfortunately simple" is not "Unfortunately, the simple".
    _rule(
        "comma",
        rf"(^|[;:] ){speech.OPENING_WORDS},(?= )(?!(?<=ly,) (?:the|an?)\b)(?! to\b)",
        r"\1\2",
        ", ",
    ),
    _rule(
        "comma",
        rf"(?<!,)(?<!\bdo)(?<!\bdoing) {speech.LINKING_WORDS},(?= ){speech.NO_ASIDE}",
        r" \1",
        ", ",
    ),
    _rule("comma", rf"^({speech.SHORT_OPENING}),(?= {speech.NOMINATIVE})", r"\1", ", "),
    _rule("article", speech.ARTICLE, boundaries.without_article),
    *[_rule("article", each, boundaries.without_article) for each in speech.ARTICLES_BEFORE_NOUNS],
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
        "article",
        rf"\b(?:[Tt]he|[Aa]n?) (?=(?:{any_of})\b(?! [A-Z]| {speech.INSIDE_NAMES}\b))",
        boundaries.without_article,
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
    """*text* after *rule*, which changes nothing that a negation may govern."""
    if rule.needs not in text:
        return text
    if rule.name in ANYWHERE:
        return rule.on(text)
    spans: list[tuple[int, int]] = []
    while stretch := denied(text, spans[-1][1] if spans else 0):
        spans.append(stretch)
    if not spans:
        return rule.on(text)

    # The rule sees the whole sentence: what is behind the negation may be a second verb.
    def free(found: re.Match[str]) -> str:
        at = bisect_right(spans, found.start(), key=itemgetter(1))  # the first that ends behind it
        if at < len(spans) and spans[at][0] < found.end():
            return found[0]
        return found.expand(rule.becomes) if isinstance(rule.becomes, str) else rule.becomes(found)

    return rule.pattern.sub(free, text)
