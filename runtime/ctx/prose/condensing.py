"""Condenses prose by the rules, or by a model's draft; the checker approves both."""

# ruff: noqa: RUF001  # quotation marks, dashes and signs as texts have them

import re
from typing import Final

import msgspec

from .. import header
from ..decoding import is_bare
from ..encoding import encode
from ..legend import legend
from ..legend.entries import show
from ..package import Counter, Kind, Mode, Package, Part
from . import blocks, checker, rules, sentences
from .drafts import restored

REPEATED_CHARS = 60  # a shorter sentence said twice may be meant twice
_PAIRED = re.compile(r"[\"“‘«»„‚`$<]|(?<!\w)'")
_CONTENTS = re.compile(r"\[([^\]]{1,300})\]\(#[^)]{0,300}\)")
SHARE: Final = 0.1  # of the words of a document that are these; in English a third is usual
LEAST_FOREIGN: Final = 2  # words of another language in a paragraph; one may be a name
_WORD = re.compile(r"[^\W\d_]+")
_LITERAL = re.compile(  # licences, and what defines a term: every word of these counts
    r"\b(?:licen[cs]e[ds]?|warrant(?:y|ies)|copyright|liab(?:le|ility)|hereby|infring\w+|trademarks?|"
    r"defined as|refers? to|denotes?|stands for|by definition)\b"
    r"|(?<!\b[Tt]his )(?<!\b[Tt]hat )(?<!\bwhich )(?<!\bby )\bmeans\b",  # no consequence
    re.IGNORECASE,
)


class Condensed(msgspec.Struct):
    """A text while it is made: lines, and whether the prose on them was condensed."""

    lines: list[str] = []
    modes: list[Mode] = []

    def add(self, lines: list[str], mode: Mode) -> None:
        """Put *lines* behind the others."""
        self.lines += lines
        self.modes += [mode] * len(lines)


def condense(
    text: str,
    kind: Kind = "text",
    *,
    counter: Counter,
    draft: str | None = None,
    named: bool = False,
) -> Package:
    """*text* in fewer tokens, with all its facts.

    Args:
        text: The source.
        kind: "markdown" or "text"; other kinds are data: use `encode` for those.
        counter: Counts the tokens that are saved.
        draft: A condensation that somebody, a model for instance, wrote of *text*. What it lost is
            put back, sentence by sentence.
        named: Whether long repeated phrases get a name of one character, in a legend. It saves
            more, and no model was shown to read prose of that form.

    Returns:
        A package whose `parts` say what was condensed and what is exact; the source itself, marked
        verbatim, where that is shorter. If a draft is refused as a whole, the package is an
        exact one.
    """
    mode: Mode = "condensed" if draft is None else "drafted"
    made = _by_rules(text) if draft is None else _by_draft(text, draft)
    if made is None:
        return encode(text, kind, counter=counter)
    body = "\n".join(made.lines)
    best = header.put(mode, kind, body)
    tokens, before = counter.count(best), counter.count(text)
    entries, renamed = legend.build(body, counter, prose=True) if named else ([], body)
    if entries:
        with_names = header.put(mode, kind, renamed, (), show(entries))
        if (fewer := counter.count(with_names)) < tokens:
            best, tokens = with_names, fewer
    if tokens >= before:
        whole = text if is_bare(text) else header.put("verbatim", kind, text)
        if (count := counter.count(whole)) <= tokens:
            parts = (Part("verbatim", 0, len(whole)),)
            return Package(whole, "verbatim", kind, count, before, parts)
    return Package(best, mode, kind, tokens, before, _parts(best, made.modes))


def checked_draft(text: str, draft: str) -> str | None:
    """The draft with what it lost of *text*; None if nothing of it stands."""
    said = restored(text, draft)
    return None if _is_refused(draft, said) else said


def _by_draft(text: str, draft: str) -> Condensed | None:
    """The draft with what it lost of *text*; None if it is refused as a whole."""
    said = checked_draft(text, draft)
    if said is None:
        return None
    made = Condensed()
    made.add(said.split("\n"), "drafted")
    return made


def _is_refused(draft: str, said: str) -> bool:
    """Whether *said* contains nothing of *draft*."""
    drafted = set(filter(str.strip, blocks.units(draft)))
    return drafted.isdisjoint(blocks.units(said))


def _by_rules(text: str) -> Condensed:
    made = Condensed()
    if not is_english(text):
        made.add(text.split("\n"), "exact")
        return made
    writer, levels = _Writer(text), _Levels()
    found = blocks.split(text)
    headings = {line.lstrip("# ").strip() for b in found for line in b.lines if line[:1] == "#"}
    for block in found:
        prose = blocks.prose_of(block)
        if not _is_condensed(block, prose):
            made.add(block.lines, "exact")
            if blocks.has_heading(block):
                writer.begin_section()
            continue
        if (entry := _CONTENTS.fullmatch(prose)) and entry.group(1).strip() in headings:
            continue  # a table of contents repeats every heading
        made.add([levels.mark(block.head) + writer.paragraph(prose)], "condensed")
    return made


def _is_condensed(block: blocks.TextBlock, prose: str) -> bool:
    if not block.is_prose or not (block.head.strip() or blocks.is_prose(prose)):
        return False
    return not is_foreign(prose)


class _Levels:
    """The nesting depth of items, independent of the number of blanks."""

    def __init__(self) -> None:
        self._indents: list[int] = []  # of the items around, outermost first

    def mark(self, head: str) -> str:
        """What a block begins with: one blank a level, one behind its mark."""
        indent, mark = blocks.indent_of(head), head.strip()
        while self._indents and self._indents[-1] >= indent:
            self._indents.pop()
        # Without a blank, indented lines would join the paragraph above them.
        level = len(self._indents) or int(indent > 0 and not mark)
        if mark:
            self._indents.append(indent)
        return " " * level + mark + " " * bool(mark)


class _Writer:
    """Condenses the paragraphs of one text."""

    def __init__(self, text: str) -> None:
        self._known = rules.known_names(text)
        self._said: set[str] = set()  # long sentences of this section so far

    def begin_section(self) -> None:
        """What was said under another heading is said of something else."""
        self._said.clear()

    def paragraph(self, prose: str) -> str:
        """*prose*, which is on one line, each of its sentences condensed; none said twice."""
        kept = []
        for sentence in sentences.split(prose):
            if len(sentence) < REPEATED_CHARS or sentence not in self._said:
                self._said.add(sentence)
                kept.append(sentence)
        made = " ".join(map(self._sentence, kept))
        if not _PAIRED.search(made):
            return made
        # Again, as a later check does it: quotations may begin elsewhere after the change.
        return made if checker.all_stand(kept, sentences.split(made)) else " ".join(kept)

    def _sentence(self, sentence: str) -> str:
        """By the rules, without the one that drops a fact."""
        if _LITERAL.search(sentence):
            return sentence
        short = rules.shorten(sentence, self._known)
        if short == sentence:
            return sentence
        wanted = checker.facts(sentence)
        if checker.states(short, wanted):
            return short
        # Without the rule that dropped something, and whole where the rules do it together.
        fewer = rules.shorten(sentence, self._known, lambda text: checker.states(text, wanted))
        return fewer if checker.states(fewer, wanted) else sentence


def _parts(text: str, modes: list[Mode]) -> tuple[Part, ...]:
    """Stretches of one mode; the legend and the header belong to no line of the source."""
    lines = text.split("\n")
    above = len(lines) - len(modes)
    at = sum(len(line) + 1 for line in lines[:above])
    parts = [Part("exact", 0, at)]
    for line, mode in zip(lines[above:], modes, strict=True):
        end = min(at + len(line) + 1, len(text))
        if parts[-1].mode == mode:
            parts[-1] = Part(mode, parts[-1].start, end)
        else:
            parts.append(Part(mode, at, end))
        at = end
    return tuple(parts)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENGLISH = _words(
    "the of and is are that this these those it its with which you your they their there not "
    "be been were have has can could must should would will when if what who from but we our "
    "all to for by"
)
_OTHERS = _words(  # frequent in other languages, none of them English
    "le la les des du et est une un que qui dans pour avec il elle ne pas au aux ce cette nous "
    "vous der das und ist nicht ein eine einen dem den zu mit auf für von er sie wir sind el los "
    "las y en una del se su por con para es lo di che non per della è gli nel sono os da em não "
    "uma um het een niet van zijn op og att är och det som på ikke nie się jest na w z że az és "
    "hogy nem si nu este în на и в не что"
)


def is_english(text: str) -> bool:
    """Whether enough words of the document *text* are function words of English."""
    words = _WORD.findall(text.lower())
    return sum(word in _ENGLISH for word in words) >= SHARE * len(words)


def is_foreign(text: str) -> bool:
    """Whether more words of the paragraph *text* are of another language than of English."""
    words = _WORD.findall(text.lower())
    others = sum(word in _OTHERS for word in words)
    return others >= LEAST_FOREIGN and others > sum(word in _ENGLISH for word in words)
