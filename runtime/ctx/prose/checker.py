"""The independent checker: finds the facts of a text, and whether another text states them too.

It shares nothing with the rules of condensing and knows nothing of them. A fact is a number with
what it counts, a name, an address, an identifier, code, a quotation; a negation, a condition or a
modal counts with the word it governs, so that `not` cannot move to another verb unseen.
"""

# ruff: noqa: RUF001  # quotation marks, dashes and signs as texts have them

import re
from collections import Counter

import msgspec

_TOKEN = re.compile(
    r" ?(?:(?P<plain>(?<![^\s(])[a-z]+(?=[ ,;)?!]|$|[.:](?:\s|$)))"  # most of a text: tried first
    r"|(?P<role>:(?:pep|rfc):`\d+`)"  # a name and a number
    r"|(?P<aside>\b(?:e\.g|i\.e)\b\.?|(?<![\w:]):(?:[a-z]{1,20}:){1,2}(?=`))"
    r"|(?P<code>``[^`]+``|`[^`\n]+`)"
    r"|(?P<address>(?:https?|ftp|mailto|git|ssh)://?[^\s)>\]\"'`]+|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}\.[\w.]+)"
    r"|(?P<anchor>\]\(#[^)\s]{0,300}\))"  # a place in the same text: no fact of its own
    r"|(?P<quote>«[^»\n]{1,600}»|»[^«\n]{1,600}«|„[^“”\n]{1,600}[“”]|‚(?:[^‘’\n]|’(?=\w)){1,600}[‘’]"
    r"|\"[^\"\n]{1,600}\"|“[^”\n]{1,600}”|(?<!\w)‘(?:[^’\n]|’(?=\w)){1,600}’(?!\w)|(?<!\w)'(?:[^'\n]|'(?=\w)){2,600}'(?!\w))"
    r"|(?P<path>(?<![\w/])(?:~|\.{1,2})?/[\w./-]*\w|(?<![\w-])[\w-]{1,200}(?:/[\w.-]+)+)"
    r"|(?P<sign>[<>]=?|[≤≥≠])"
    r"|(?P<number>[-−+±~$€£#]?[¼-¾⅐-⅞]|[-−+±~$€£#]?\b\d[\w]*(?:[.,:/–-]\d\w*)*(?:\s?[%°])?)"
    r"|(?P<id>\b\w*[a-z0-9][A-Z]\w*|\b\w+(?:_\w+)+\b|\b__\w+|\b\w+(?:\.\w+)+(?:\(\))?|\B--?\w[\w-]*)"
    r"|(?P<word>[^\W\d_]+(?:['’\-][^\W\d_]+)*)"
    r"|(?P<stop>[.!?:;]+(?=\s|$)|\n\s*\n))"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NUMBER_WORDS = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy "
    "eighty ninety hundred thousand million billion trillion dozen half twice thrice double "
    "triple third quarter first second fourth fifth once both several many few most more less "
    "fewer fewest least all every each any some none nothing nobody always often sometimes "
    "rarely seldom usually mostly daily weekly monthly yearly annually hourly percent maximum "
    "minimum day days week weeks month months year years hour hours minute minutes seconds"
)
_NEGATIONS = _words("not no never none neither nor without nothing nobody nowhere hardly")
_CONDITIONS = _words(
    "if unless until when whenever while only except provided otherwise whether before after "
    "assuming depending during once because although though despite since instead till whereas"
)
_MODALS = _words(
    "must should may might can could will would shall ought need needs required optional "
    "recommended probably perhaps possibly likely unlikely"
)
# Before a number that may be a year, these words count; any word does before another number.
_UNITS = _words(
    "kg g mg t lb lbs oz km m cm mm mi ft yd nm l ml gal w kw mw kwh v hz khz mhz ghz b kb mb gb "
    "tb kib mib gib s ms us ns min h mph kmh rpm bps c f k usd eur gbp euro euros dollar dollars "
    "pound pounds cent cents metre metres meter meters kilometre kilometres kilometer kilometers "
    "mile miles foot feet inch inches yard yards gram grams kilogram kilograms kilos ton tons "
    "tonne tonnes litre litres liter liters gallon gallons watt watts volt volts degree degrees "
    "byte bytes bit bits token tokens second seconds minute minutes hour hours day days week weeks "
    "month months year years percent people men women boats ships cars times items lines files "
    "calls requests users rows events pages words characters"
)
_ALL_OF = _words(
    "all any anything anyone anybody everything everyone everybody none nothing nobody no"
)
_FROM = frozenset({"by", "from"})  # who did what to whom, and whether to 5 or by 5
_ASIDE_WORDS = 8  # of an aside between two commas
_MEANT = {  # meanings of short forms
    "won't": ("will", "not"),
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "shan't": ("shall", "not"),
}
_GOVERNED = _NEGATIONS | _words(
    "if unless until must should may might can could will would shall only"
)
_CHECKED = _words("have has had but")  # facts in some places
_TELLING = _NUMBER_WORDS | _NEGATIONS | _CONDITIONS | _MODALS | _MEANT.keys()
LIGHT_WORDS = _words(
    "the a an is are was were be been being am it its it's that this these those there he she "
    "they we you i to of in on at for and or so as by with from very really quite simply "
    "basically actually essentially literally certainly obviously clearly naturally indeed "
    "truly thereby extremely highly particularly also then not do does did have has had "
    "there's that's they're we're you're he's she's eg ie in fact case terms number order "
    "respective course"
)


# What opens a sentence with a capital and is no name; words in -ly are none either.
_OPENERS = (
    LIGHT_WORDS
    | _NUMBER_WORDS
    | _NEGATIONS
    | _CONDITIONS
    | _MODALS
    | _words(
        "however furthermore moreover therefore thus hence nevertheless nonetheless besides such "
        "please note keep bear remember recall observe general addition particular practice "
        "essence short summary conclusion other words another like according due prior about "
        "generally what which who how why where here there's let i'm my our your his her their "
        "its but yet now again even same while during under within using given see next last "
        "finally see various out up over into through against between another"
    )
)


_BOUNDS = {  # meaning of a word before a number
    "about": "about",
    "approximately": "about",
    "around": "about",
    "roughly": "about",
    "above": "above",
    "almost": "almost",
    "below": "below",
    "exactly": "exactly",
    "nearly": "almost",
    "over": "over",
    "under": "under",
    "beyond": "over",
    "circa": "about",
    "practically": "almost",
    "up": "up to",
    "virtually": "almost",
    "within": "within",
}


class Fact(msgspec.Struct, frozen=True):
    """One thing that a text states."""

    sort: str  # "number", "name", "negation", ...
    text: str  # as required, in lower case if case has no meaning
    about: str = ""  # the word it governs or counts


def facts(text: str) -> list[Fact]:
    """What *text* states, in its order."""
    found: list[Fact] = []
    tokens = [(str(m.lastgroup), m.group(str(m.lastgroup))) for m in _TOKEN.finditer(text)]
    words = [(token,) if sort == "plain" else _parts(sort, token) for sort, token in tokens]
    if ", " in text:
        words = _Asides(words, [text[m.end() : m.end() + 1] == "," for m in _TOKEN.finditer(text)])
    opens = True  # a capital has no meaning at the start of a sentence
    for at, (sort, token) in enumerate(tokens):
        if sort == "plain":
            if token in _TELLING or token in _CHECKED:
                found += _of_word(token, False, words, at)
        elif sort == "word":
            found += _of_word(token, opens, words, at)
        elif sort == "number":
            found += _of_number(_even(token), words, at)
        elif sort == "sign":
            found.append(Fact("sign", token))
        elif sort == "role":
            _, name, number = token.split(":")
            found += [Fact("name", name.upper()), *_of_number(number.strip("`"), words, at)]
        elif sort not in ("stop", "anchor", "aside"):
            fact = Fact(sort, _code(token) if sort == "code" else _even(token))
            # A link whose text is its address states the address once.
            if sort != "address" or found[-1:] != [fact]:
                found.append(fact)
        if sort not in ("anchor", "sign"):
            opens = sort == "stop"
    return found


def missing(source: str, result: str) -> list[Fact]:
    """The facts of *source* that *result* does not state, or states less often."""
    wanted, there = Counter(facts(source)), Counter(facts(result))
    if not wanted - there:
        return []
    lost = []
    for fact in facts(source):
        if there[fact] > 0:
            there[fact] -= 1
        else:
            lost.append(fact)
    return lost


def holds(source: str, result: str) -> bool:
    """Whether *result* states every fact of *source*, in the same order."""
    return states(result, facts(source))


def states(text: str, wanted: list[Fact]) -> bool:
    """Whether *text* states every fact *wanted*, in that order."""
    return in_order(wanted, facts(text))


def in_order(wanted: list[Fact], there: list[Fact]) -> bool:
    """Whether all facts *wanted* are among *there*, in their order."""
    own = iter(there)
    return all(any(fact == other for other in own) for fact in wanted)


def same_facts(own: list[Fact], theirs: list[Fact], words: list[str]) -> bool:
    """Whether *theirs* are the facts *own*, in their order, and no others.

    Args:
        own: Facts of a sentence.
        theirs: Facts of another one.
        words: Of the sentence of *own*. One of them that opens the other sentence, and so has a
            capital there, is no name.
    """
    added = theirs[:1] if theirs[:1] != own[:1] else []
    if added and added[0].sort == "name" and added[0].text.lower() in words:
        theirs = theirs[1:]
    return own == theirs


def words(text: str) -> list[str]:
    """The words of weight in *text*, in lower case, in its order; no facts but names."""
    found = []
    for each in _TOKEN.finditer(text):
        sort = each.lastgroup
        if sort in ("plain", "word"):
            word = each.group(sort).lower().removesuffix("'s").removesuffix("’s")
            if word not in LIGHT_WORDS and word not in _TELLING:
                found.append(word)
    return found


def all_stand(sources: list[str], results: list[str]) -> bool:
    """Whether each fact of the sentences *sources* is in one of *results*."""
    there = {fact for each in results for fact in facts(each)}
    return all(fact in there for each in sources for fact in facts(each))


def _of_word(token: str, opens: bool, words: list[tuple[str, ...]], at: int) -> list[Fact]:
    found: list[Fact] = []
    before = _before(words, at)
    for word in words[at]:
        about = _next(words, at) if word in _GOVERNED else ""
        if word in _NEGATIONS:
            found.append(Fact("negation", word, about))
        if word in _CONDITIONS:
            found.append(Fact("condition", word, about))
        if word in _MODALS:
            found.append(Fact("modal", word, about))
        if word in _NUMBER_WORDS:
            found += [*_bound(word, words, at), Fact("quantity", word)]
        if word in ("has", "have", "had") and words[at + 1 : at + 2] == [("to",)]:
            found.append(Fact("modal", "had to" if word == "had" else "must", _next(words, at)))
        if word == "but" and before in _ALL_OF:
            found.append(Fact("quantity", "but", _next(words, at)))
        if word.startswith("non-"):
            found.append(Fact("negation", "non", word[4:]))
    plain = token.lower()
    is_opener = opens and (plain in _OPENERS or plain.endswith("ly"))
    if token[0].isupper() and (not is_opener or token[1:2].isupper()) and token != "I":  # noqa: S105
        found += _origin(token, before)
        found.append(Fact("name", token.removesuffix("'s").removesuffix("’s")))
    return found


def _of_number(number: str, words: list[tuple[str, ...]], at: int) -> list[Fact]:
    about = _next(words, at) if _counts(number) else _unit(words, at)
    origin = _origin(number, _before(words, at))
    return [*_bound(number, words, at), *origin, Fact("number", number, about)]


def _bound(number: str, words: list[tuple[str, ...]], at: int) -> list[Fact]:
    """What the words before *number* say of how exact it is."""
    before = _before(words, at)
    if before == "to":
        before = "up" if words[max(at - 2, 0)][:1] == ("up",) else ""
    bound = _BOUNDS.get(before)
    return [Fact("quantity", bound, number)] if bound else []


def _origin(what: str, before: str) -> list[Fact]:
    return [Fact("relation", before, what)] if before in _FROM else []


def _before(words: list[tuple[str, ...]], at: int) -> str:
    """The word before *at*, over an article; empty where a sentence begins."""
    for parts in words[at - 1 : at - 3 if at > 2 else None : -1] if at else ():
        if parts not in (("the",), ("a",), ("an",)):
            return parts[0] if len(parts) == 1 else ""
    return ""


def _unit(words: list[tuple[str, ...]], at: int) -> str:
    behind = words[at + 1][:1] if at + 1 < len(words) else ()
    return behind[0] if behind and behind[0] in _UNITS else ""


def _parts(sort: str, token: str) -> tuple[str, ...]:
    """The words of *token*, in lower case, short forms written out."""
    if sort == "sign":
        return ("the",)
    if sort == "code":
        return (_code(token),)
    if sort != "word":
        return () if sort == "stop" else ("the",) if sort in ("anchor", "aside") else (token,)
    word = token.lower().replace("’", "'")
    if word in _MEANT:
        return _MEANT[word]
    if word.endswith("n't"):
        return (word[:-3], "not")
    stem, apostrophe, ending = word.partition("'")
    if apostrophe and ending in ("ll", "d"):
        return (stem, "will" if ending == "ll" else "would")
    return (word,)


class _Asides(list[tuple[str, ...]]):
    """The words of a text that has commas."""

    def __init__(self, words: list[tuple[str, ...]], commas: list[bool]) -> None:
        super().__init__(words)
        self._commas = commas  # whether one follows each word

    def behind(self, at: int) -> int:
        """Where a sentence continues after the word *at*: after an aside between two commas."""
        if self._commas[at]:
            for end in range(at + 1, min(at + _ASIDE_WORDS + 1, len(self))):
                if not self[end]:
                    break
                if self._commas[end]:
                    return end + 1
        return at + 1


def _next(words: list[tuple[str, ...]], at: int) -> str:
    """The first word of weight behind *at*, in the same sentence."""
    at = words.behind(at) - 1 if isinstance(words, _Asides) else at
    for parts in words[at + 1 : at + 9]:
        if not parts:
            return ""
        weighty = [word for word in parts if word not in LIGHT_WORDS]
        if weighty:
            return weighty[0]
    return ""


def _counts(token: str) -> bool:
    """Whether *token* is no year, which counts nothing."""
    return not (len(token) == 4 and token.isdigit() and "1000" <= token <= "2199")


def _code(token: str) -> str:
    """A code span, however many backticks are around it."""
    return f"`{_even(token.strip('`'))}`"


def _even(token: str) -> str:
    return " ".join(token.split())
