"""The independent checker: what a text states as facts, and whether another text states them too.

It shares nothing with the rules of condensing and knows nothing of them. A fact is a number with
what it counts, a name, an address, an identifier, code, a quotation; a negation, a condition or a
modal counts with the word it governs, so that `not` cannot move to another verb unseen.
"""

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
    r"|(?P<quote>\"[^\"\n]{1,600}\"|“[^”\n]{1,600}”|(?<!\w)‘(?:[^’\n]|’(?=\w)){1,600}’(?!\w)|(?<!\w)'(?:[^'\n]|'(?=\w)){2,600}'(?!\w))"  # noqa: RUF001
    r"|(?P<path>(?<![\w/])(?:~|\.{1,2})?/[\w./-]*\w|(?<![\w-])[\w-]{1,200}(?:/[\w.-]+)+)"
    r"|(?P<number>[-+±~$€£#]?\b\d[\w]*(?:[.,:/–-]\d\w*)*(?:\s?[%°])?)"  # noqa: RUF001
    r"|(?P<id>\b\w*[a-z0-9][A-Z]\w*|\b\w+(?:_\w+)+\b|\b__\w+|\b\w+(?:\.\w+)+(?:\(\))?|\B--?\w[\w-]*)"
    r"|(?P<word>[^\W\d_]+(?:['’\-][^\W\d_]+)*)"  # noqa: RUF001
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
_MEANT = {  # what a short form says
    "won't": ("will", "not"),
    "can't": ("can", "not"),
    "cannot": ("can", "not"),
    "shan't": ("shall", "not"),
}
_GOVERNED = _NEGATIONS | _words(
    "if unless until must should may might can could will would shall only"
)
_TELLING = _NUMBER_WORDS | _NEGATIONS | _CONDITIONS | _MODALS | _MEANT.keys()
_LIGHT = _words(
    "the a an is are was were be been being am it its it's that this these those there he she "
    "they we you i to of in on at for and or so as by with from very really quite simply "
    "basically actually essentially literally certainly obviously clearly naturally indeed "
    "truly thereby extremely highly particularly also then not do does did have has had "
    "there's that's they're we're you're in fact case terms number order respective course"
)


# What opens a sentence with a capital and is no name; words in -ly are none either.
_OPENERS = (
    _LIGHT
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


_BOUNDS = {  # what a word before a number says of it
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
    "up": "up to",
    "within": "within",
}


class Fact(msgspec.Struct, frozen=True):
    """One thing that a text states."""

    sort: str  # "number", "name", "negation", ...
    text: str  # as it must stand, without its case where case says nothing
    about: str = ""  # the word it governs or counts


def facts(text: str) -> list[Fact]:
    """What *text* states, in its order."""
    found: list[Fact] = []
    tokens = [(str(m.lastgroup), m.group(str(m.lastgroup))) for m in _TOKEN.finditer(text)]
    words = [(token,) if sort == "plain" else _parts(sort, token) for sort, token in tokens]
    opens = True  # a capital says nothing where a sentence opens
    for at, (sort, token) in enumerate(tokens):
        if sort == "plain":
            if token in _TELLING:
                found += _of_word(token, False, words, at)
        elif sort == "word":
            found += _of_word(token, opens, words, at)
        elif sort == "number":
            found += _of_number(_even(token), words, at)
        elif sort == "role":
            _, name, number = token.split(":")
            found += [Fact("name", name.upper()), *_of_number(number.strip("`"), words, at)]
        elif sort not in ("stop", "anchor", "aside"):
            fact = Fact(sort, _even(token))
            # A link to its own address says the address once.
            if sort != "address" or found[-1:] != [fact]:
                found.append(fact)
        if sort != "anchor":
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
            word = each.group(sort).lower().removesuffix("'s").removesuffix("’s")  # noqa: RUF001
            if word not in _LIGHT and word not in _TELLING:
                found.append(word)
    return found


def all_stand(sources: list[str], results: list[str]) -> bool:
    """Whether each fact of one of the sentences *sources* stands in one of *results*."""
    there = {fact for each in results for fact in facts(each)}
    return all(fact in there for each in sources for fact in facts(each))


def _of_word(token: str, opens: bool, words: list[tuple[str, ...]], at: int) -> list[Fact]:
    found: list[Fact] = []
    for word in words[at]:
        about = _next(words, at) if word in _GOVERNED else ""
        if word in _NEGATIONS:
            found.append(Fact("negation", word, about))
        if word in _CONDITIONS:
            found.append(Fact("condition", word, about))
        if word in _MODALS:
            found.append(Fact("modal", word, about))
        if word in _NUMBER_WORDS:
            found.append(Fact("quantity", word))
    plain = token.lower()
    is_opener = opens and (plain in _OPENERS or plain.endswith("ly"))
    if token[0].isupper() and (not is_opener or token[1:2].isupper()) and token != "I":  # noqa: S105
        found.append(Fact("name", token.removesuffix("'s").removesuffix("’s")))  # noqa: RUF001
    return found


def _of_number(number: str, words: list[tuple[str, ...]], at: int) -> list[Fact]:
    before = words[at - 1][:1] if at else ()
    if before == ("to",) and at > 1:
        before = words[at - 2][:1]
        before = before if before == ("up",) else ()
    bound = _BOUNDS.get(before[0]) if before else None
    found = [Fact("number", number, _next(words, at) if _counts(number) else "")]
    return [Fact("quantity", bound, number), *found] if bound else found


def _parts(sort: str, token: str) -> tuple[str, ...]:
    """The words that *token* says, in lower case, short forms written out."""
    if sort != "word":
        return () if sort == "stop" else ("the",) if sort in ("anchor", "aside") else (token,)
    word = token.lower().replace("’", "'")  # noqa: RUF001
    if word in _MEANT:
        return _MEANT[word]
    if word.endswith("n't"):
        return (word[:-3], "not")
    stem, apostrophe, ending = word.partition("'")
    if apostrophe and ending in ("ll", "d"):
        return (stem, "will" if ending == "ll" else "would")
    return (word,)


def _next(words: list[tuple[str, ...]], at: int) -> str:
    """The first word of weight behind *at*, in the same sentence."""
    for parts in words[at + 1 : at + 9]:
        if not parts:
            return ""
        weighty = [word for word in parts if word not in _LIGHT]
        if weighty:
            return weighty[0]
    return ""


def _counts(token: str) -> bool:
    return len(token) < 4 or not token.isdigit()  # 2024 is a year more often than a count


def _even(token: str) -> str:
    return " ".join(token.split())
