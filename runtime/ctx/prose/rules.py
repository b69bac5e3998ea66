"""The published rules of condensing, in the order in which they are applied to a sentence.

None of them removes a number, a name, a negation, a condition or a modal; the checker, which knows
nothing of them, restores the sentence where one does all the same.
"""

import re
from collections import Counter
from typing import NamedTuple

from .sentences import outside

KNOWN_USES = 6  # of a name, from which on it needs no article
_NAME = re.compile(r"(?<=[a-z,] )[A-Z]\w+\b")


class Rule(NamedTuple):
    """What is looked for and what it becomes."""

    name: str
    pattern: re.Pattern[str]
    becomes: str


def _rule(name: str, pattern: str, becomes: str = "", flags: int = re.IGNORECASE) -> Rule:
    return Rule(name, re.compile(pattern, flags), becomes)


def _phrases(name: str, pairs: dict[str, str]) -> list[Rule]:
    return [_rule(name, rf"\b{phrase}\b", becomes) for phrase, becomes in pairs.items()]


_FRAMES = (
    r"(?:please )?(?:also )?note(?:,? however,?)? that",
    (
        r"it (?:is|'s) (?:also )?(?:important|worth|useful|interesting|helpful) (?:to (?:note|"
        r"mention|point out|remember|keep in mind|understand)|noting|mentioning|pointing out|"
        r"remembering) that"
    ),
    (
        r"(?:it should be noted|it is noted|keep in mind|bear in mind|be aware|recall|remember|"
        r"observe) that"
    ),
    r"as (?:a|an) (?:general rule|matter of fact|side note),?",
    (
        r"in (?:general|fact|particular|practice|addition|essence|short|summary|conclusion|"
        r"other words|any case|this (?:section|document|chapter)),"
    ),
    (
        r"(?:additionally|furthermore|moreover|also|similarly|likewise|specifically|notably|basically|"
        r"essentially|interestingly|importantly|obviously|clearly|of course|generally speaking|"
        r"as (?:a result|usual|always|such)|in turn|at the same time|on top of that|besides|"
        r"indeed),"
    ),
)
_REFERENCES = (
    (
        r",? ?\(?(?:as|which (?:is|was)|like) (?:already |previously |briefly )?(?:described|"
        r"mentioned|"
        r"discussed|noted|explained|shown|stated|outlined|defined|seen|specified|listed) "
        r"(?:above|below|earlier|previously|before|later|here)\)?,?(?= [a-z]|[.;:]|$)"
    ),
    (
        r" ?\((?:see|cf\.|as) (?:above|below|also below|also above|later|earlier|"
        r"(?:the )?(?:next|previous|following) section)\)"
    ),
    (
        r",? (?:as )?(?:described|discussed|explained|detailed|outlined|defined) "
        r"(?:above|below)(?=[.,;:])"
    ),
)
_WORDINGS = {
    r"in order to": "to",
    r"so as to": "to",
    r"due to the fact that": "because",
    r"because of the fact that": "because",
    r"the fact that": "that",
    r"in spite of the fact that": "although",
    r"despite the fact that": "although",
    r"for the purposes? of": "for",
    r"with (?:regards?|respect) to": "about",
    r"in (?:regards?|relation|reference) to": "about",
    r"a (?:large|great|significant) number of": "many",
    r"a number of": "several",
    r"a (?:wide )?variety of": "various",
    r"the (?:vast )?majority of": "most",
    r"in (?:the )?case of": "for",
    r"in terms of": "by",
    r"at (?:this|the present) (?:point in )?time": "now",
    r"at the time of writing": "now",
    r"at that (?:point in )?time": "then",
    r"by means of": "by",
    r"in the absence of": "without",
    r"prior to": "before",
    r"subsequent to": "after",
    r"in addition to": "besides",
    r"in conjunction with": "with",
    r"in accordance with": "per",
    r"on the basis of": "by",
    r"(?:is|are) (?:able|capable) to": "can",
    r"make use of": "use",
    r"makes use of": "uses",
    r"making use of": "using",
    r"take into account": "consider",
    r"taking into account": "considering",
    r"for example,?": "e.g.",
    r"for instance,?": "e.g.",
    r"and so on": "etc",
    r"such as": "like",
    r"all of the": "all",
    r"each of the": "each",
    r"some of the": "some",
    r"many of the": "many",
    r"most of the": "most",
    r"any of the": "any",
    r"both of the": "both",
    r"the way in which": "how",
    r"the manner in which": "how",
    r"the reason (?:why|that)": "why",
    r"(?:each|every) and every": "every",
    r"first and foremost": "first",
    r"a lot of": "much",
    r"lots of": "many",
    r"together with": "with",
    r"along with": "with",
    r"on the other hand,?": "but",
    r"is intended to": "is to",
    r"are intended to": "are to",
    r"it is possible to": "one can",
    r"it(?:'s| is) possible that": "possibly",
    r"however,": "but",
    r"nevertheless,": "yet",
    r"nonetheless,": "yet",
    r"therefore,?": "so",
    r"consequently,": "so",
    r"thus,": "so",
    r"hence,": "so",
    r"accordingly,": "so",
    r"alternatively,": "or",
    r"finally,": "last,",
    r"approximately": "about",
    r"utili[sz]e": "use",
    r"utili[sz]es": "uses",
    r"utili[sz]ing": "using",
    r"utili[sz]ed": "used",
    r"in which case": "then",
    r"in that case,?": "then",
    r"in which": "where",
    r"according to": "per",
    r"even though": "although",
    r"in the form of": "as",
    r"in the event that": "if",
    r"until such time as": "until",
    r"with the exception of": "except",
    r"(?:have|has) to": "must",
    r"i\.e\.,": "i.e.",
    r"e\.g\.,": "e.g.",
    r"seems? to be": "seems",
    r"appears? to be": "seems",
}
_SHORTER = {
    r"it is(?! not)": "it's",
    r"that is(?= [a-z])(?! not)": "that's",
    r"there is(?! not?\b)": "there's",
    r"they are(?! not)": "they're",
    r"we are(?! not)": "we're",
    r"you are(?! not)": "you're",
    r"do not": "don't",
    r"does not": "doesn't",
    r"did not": "didn't",
    r"is not": "isn't",
    r"are not": "aren't",
    r"was not": "wasn't",
    r"were not": "weren't",
    r"has not": "hasn't",
    r"have not": "haven't",
    r"had not": "hadn't",
    r"must not": "mustn't",
    r"he is(?! not)": "he's",
    r"she is(?! not)": "she's",
    r"what is(?! not)": "what's",
    r"who is(?! not)": "who's",
    r"I am": "I'm",
    r"I will(?! not)": "I'll",
    r"we will(?! not)": "we'll",
    r"you will(?! not)": "you'll",
    r"they will(?! not)": "they'll",
    r"it will(?! not)": "it'll",
    r"would have(?! not)": "would've",
    r"could have(?! not)": "could've",
    r"should have(?! not)": "should've",
    r"let us": "let's",
    r"cannot": "can't",
    r"can not": "can't",
    r"could not": "couldn't",
    r"should not": "shouldn't",
    r"would not": "wouldn't",
    r"will not": "won't",
    r"we have(?= (?:been|no|not|to|\w+ed)\b)": "we've",
    r"they have(?= (?:been|no|not|to|\w+ed)\b)": "they've",
    r"I have(?= (?:been|no|not|to|\w+ed)\b)": "I've",
}
_FILLERS = (
    r"very|really|quite|simply|basically|actually|essentially|literally|certainly|obviously|clearly|"
    r"naturally|indeed|truly|thereby|extremely|highly|particularly|in fact|of course|respective|"
    r"aforementioned|in particular|in essence"
)
_THAT_VERBS = (
    r"(?:say|mean|ensure|assume|suggest|believe|think|know|show|indicate|require|propose|note|state|"
    r"argue|claim|guarantee|expect|hope|find|feel|imply|realize|realise|decide|agree|recommend|"
    r"conclude|confirm|prove|suppose|imagine|see|hear|tell|wish|observe|report)"
    r"(?:s|d|ed|ing)?|implies|implied|specif(?:y|ies|ied)|verif(?:y|ies|ied)|said|meant|thought|"
    r"knew|known|shown|found|felt|told|saw|sure|so|such|aware|clear|likely"
)
_SUBJECTS = (
    r"(?:the|a|an|it|its|we|they|their|this|these|those|there|you|your|he|she|his|her|I|all)"
)
_NO_NOUN = (
    r"(?:of|in|on|for|to|with|by|from|at|after|before|when|if|all|and|or|but|not|so|because|than|as|"
    r"once|until|where|while|is|are|was|were|be|only|everything|anything|nothing|those|something|"
    r"that|which|what|one|ones)"
)
_LINKS = (
    r"(?:and|or|but|because|so|when|while|where|which|who|though|although|since|as|then|e\.g\.|i\.e\.|"
    r"like|with|without|including|by|for|in|if|unless|from|using|even|rather|except|at|on|to|via|"
    r"per|it|we|they|you|he|she|I|there|instead|however|therefore|too)"
)
_OPENING_WORDS = (
    r"(So|Now|Then|But|And|Or|Thus|Here|First|Second|Third|Next|Finally|Lastly|Instead|Otherwise|"
    r"Currently|Ideally|Unfortunately|Fortunately|Typically|Usually|Often|Sometimes|Again|However|"
    r"Hence|Therefore|Rather|Today|Later|Eventually|Initially|Originally|Historically|Technically|"
    r"so|but|and|or|yet|then|last|too|however|therefore|instead|e\.g\.|i\.e\.)"
)
_OPENINGS = (
    r"(?:In|On|At|For|With|By|From|After|Before|During|Under|Within|Until|Since|Then|Now|Here|"
    r"Today)"
)
_CLAUSE = r"(?:is|are|was|were|has|have|had|that|this|it|we|they|you|he|she|I|[a-z]+ed)"
_KEEP_A = (
    r"(?:few|little|lot|bit|day|week|month|year|second|minute|hour|time|while|priori|posteriori|"
    r"hundred|thousand|million|billion|dozen|half|third|quarter|couple|single|certain)"
)
_KEEP_THE = (
    r"(?:same|other|one|ones|more|less|only|latter|former|rest|first|last|two|better|fewer|north|"
    r"south|east|west|northern|southern|eastern|western|summer|winter|spring|autumn|morning|"
    r"evening|night|middle)"
)

MARKUP: tuple[Rule, ...] = (
    _rule("self-link", r"\[(https?://[^\[\]\s]{1,1000})\]\(\1/?\)", r"\1"),
    _rule("anchor", r"\[([^\[\]\n]{1,300})\]\(#[^)\s]{0,300}\)", r"\1"),
    _rule("emphasis", r"(?<![\w*])\*\*(?! )([^*\n]+?)(?<! )\*\*(?![\w*])", r"\1"),
    _rule("emphasis", r"(?<![\w*\\])\*(?! )([^*\n]+?)(?<! )\*(?![\w*])", r"\1"),
    _rule("emphasis", r"(?<![\w_\\])_(?! )([^_\n]+?)(?<! )_(?![\w_])", r"\1"),
    _rule("escape", r"\\([_*\[\]()#.!<>~+-])", r"\1"),
)

RULES: tuple[Rule, ...] = (
    *[_rule("reference", each) for each in _REFERENCES],
    *[_rule("framing", rf"(?:^|(?<=[;:] )){each} ?") for each in _FRAMES],
    *[
        _rule("wording", rf"\b{phrase}" + ("" if phrase[-1] in ",?" else r"\b"), becomes)
        for phrase, becomes in _WORDINGS.items()
    ],
    _rule("filler", rf"(?<!not )(?<!n't )(?<!no )\b(?:{_FILLERS}) (?=[a-z])"),
    _rule("that", rf"\b({_THAT_VERBS}) that (?={_SUBJECTS}\b)", r"\1 "),
    _rule("that", rf"\b(?!{_NO_NOUN} )(\w+) that (?=(?:we|you|they|I|he|she)\b)", r"\1 "),
    _rule(
        "relative",
        rf"\b(?!{_NO_NOUN} )(\w+) (?:that|which|who) (?:is|are|was|were) "
        r"(?=(?:being )?\w{2,}(?:ed|ing)\b(?! to)|used\b|made\b|built\b|given\b|known\b|written\b)",
        r"\1 ",
    ),
    *[_rule("contraction", rf"\b{phrase}\b", becomes) for phrase, becomes in _SHORTER.items()],
    _rule("comma", rf", (?={_LINKS}\b)", " "),
    _rule("comma", rf"^({_OPENINGS}(?: (?!{_CLAUSE}\b)[\w']+){{0,3}}), (?=[a-zA-Z])", r"\1 ", 0),
    _rule("comma", rf"(^|[;:,] | ){_OPENING_WORDS},(?= )", r"\1\2", 0),
    _rule("article", rf"\ba (?={_KEEP_A}\b)", "\ue001", 0),  # put aside
    _rule("article", rf"\bthe (?={_KEEP_THE}\b)", "\ue002", 0),
    _rule("article", r"(?<![A-Z]\w )\b(?:the|an?) (?=[a-z\ue000\[*])", "", 0),
    _rule("article", r"(?<![A-Z]\w )\ban? (?=[A-Z])", "", 0),
    _rule("article", r"^(?:The|An?) (?=[a-z\ue000\[])", "", 0),
    _rule("article", "\ue001", "a ", 0),
    _rule("article", "\ue002", "the ", 0),
    _rule("blanks", r"  +", " "),
)


def markup(text: str) -> str:
    """*text* without marks that only change how it looks."""
    for rule in MARKUP:
        text = rule.pattern.sub(rule.becomes, text)
    return text


def known_names(text: str) -> re.Pattern[str] | None:
    """Articles before names that *text* uses so often that it has introduced them."""
    counts = Counter(_NAME.findall(text))
    names = sorted(name for name, uses in counts.items() if uses >= KNOWN_USES)
    if not names:
        return None
    return re.compile(rf"\b(?:[Tt]he|an?) (?=(?:{'|'.join(names)})\b(?! [A-Z]| of\b))")


def shorten(sentence: str, known: re.Pattern[str] | None = None) -> str:
    """*sentence* after all `RULES`; what is protected in it stays as it is.

    Args:
        sentence: One sentence.
        known: What `known_names` gave for the text it is from.
    """
    return outside(sentence, lambda text: _shorten(text, known))


def _shorten(sentence: str, known: re.Pattern[str] | None) -> str:
    text = sentence
    for rule in RULES:
        text = rule.pattern.sub(rule.becomes, text)
    if known is not None:
        text = known.sub("", text)
    return text.strip(" ")
