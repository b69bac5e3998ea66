"""Answer "what failed and why": failed tests, errors, the lines that prove it, files, causes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from cortex.runtime.code.triage import Evidence, Finding, Log, Reference, triage
from cortex.runtime.context import Passage
from cortex.runtime.retrieval import TextScores, content_words

from .extract import Quote, Role
from .question import FOUND, sentences

MOST: Final[dict[Role, int]] = {
    "failed": 20,
    "error": 8,
    "evidence": 16,
    "file": 8,
    "cause": 6,
    "related": 1,
}
TOLD_WHOLE: Final = 3  # findings whose proof is quoted; of the others only what failed
MESSAGES_EACH: Final = 3
PROOF_EACH: Final = 2
SOURCE_KINDS: Final = ("code", "source", "snippet")
BACKGROUND_KINDS: Final = ("knowledge", "memory", "package", FOUND)
FRAME_WORDS: Final = ('File "', "at ")
PYTHON_FRAMEWORKS: Final = ("pytest", "unittest", "python", "exception")
SHORT_GAP: Final = 6  # lines; the blank ones between two of one block are no more

_PYTEST_MARK = re.compile(r"^[E>]\s+(?=\S)")
_PYTEST_LINE = re.compile(r"(?:E|>)\s")
_WHERE = re.compile(r"\s*(?:E\s+)?\+\s+(?:where|and)\b")
_NO_REASON = re.compile(rf"{_WHERE.pattern}|>\s")
_EXCEPTION = re.compile(r"(?:[\w.$]*(?:Error|Exception|Failure|Exit)\b|assert |panicked)")
_NOT_A_CAUSE = re.compile(
    r"\s*+(?:(?:\w+ )?(?:def|class|func|fn|function|import|from) "
    r"|#|//|/?\*|@\w|\"{3}|'{3}|[\W_]*+$)"
)
_WHOLE_SENTENCE = re.compile(r"(?:[-*+•] |\d+[.)] )?[\"'(]?[A-Z0-9].*[.!?][\"')]*$", re.DOTALL)


class Line(NamedTuple):
    """One line of the context and where it stands."""

    item_id: str
    number: int
    text: str


class ProvenFinding(NamedTuple):
    """A finding and the item whose lines prove it."""

    item_id: str
    finding: Finding


def failure_spans(passages: Sequence[Passage]) -> list[Quote]:
    """Spans that tell what failed, by role and then most telling first; none if nothing failed."""
    findings = _findings(p for p in passages if p.kind not in (*SOURCE_KINDS, *BACKGROUND_KINDS))
    failed = _named(findings)
    errors = _errors(findings)
    files = _files(findings)
    source = _lines(p for p in passages if p.kind in SOURCE_KINDS)
    causes = _causes(source, findings, errors or failed)
    background = [p for p in passages if p.kind in BACKGROUND_KINDS]
    told = [*failed, *errors, *files, *causes]
    return [
        *failed,
        *errors,
        *_evidence(findings, told),
        *files,
        *causes,
        *_related(background, findings, told),
    ]


def _findings(passages: Iterable[Passage]) -> list[ProvenFinding]:
    """The findings of all items, best first; one that several items tell of is kept once."""
    by_item: dict[str, list[Line]] = {}
    for passage in passages:
        by_item.setdefault(passage.item_id, []).extend(_lines([passage]))
    found: dict[tuple[str, str], ProvenFinding] = {}
    for item_id, lines in by_item.items():
        for finding in triage(_log(item_id, _filled(lines))).findings:
            key = (finding.kind, finding.title)
            if key not in found or finding.score > found[key].finding.score:
                found[key] = ProvenFinding(item_id, finding)
    return sorted(found.values(), key=lambda each: -each.finding.score)


def _filled(lines: list[Line]) -> list[Line]:
    """Lines in order; an excerpt leaves blank ones out, and without them blocks fall apart."""
    filled: list[Line] = []
    for line in sorted(lines, key=lambda line: line.number):
        if filled and line.number - filled[-1].number <= SHORT_GAP:
            between = range(filled[-1].number + 1, line.number)
            filled += [Line(line.item_id, number, "") for number in between]
        filled.append(line)
    return filled


def _log(item_id: str, lines: list[Line]) -> Log:
    texts = [line.text for line in lines]
    return Log(
        source=item_id,
        numbers=[line.number for line in lines],
        texts=texts,
        lines=len(lines),
        size_bytes=sum(map(len, texts)),
    )


def _lines(passages: Iterable[Passage]) -> list[Line]:
    return [
        Line(passage.item_id, passage.first_line + at, text)
        for passage in passages
        for at, text in enumerate(passage.lines)
    ]


def _evidence_lines(found: ProvenFinding, roles: tuple[str, ...]) -> Iterator[Line]:
    for evidence in found.finding.evidence:
        if evidence.role in roles:
            yield from _lines_of(found.item_id, evidence)


def _lines_of(item_id: str, evidence: Evidence) -> list[Line]:
    texts = evidence.text.split("\n")
    return [Line(item_id, evidence.first + at, text) for at, text in enumerate(texts)]


def _errors(findings: list[ProvenFinding]) -> list[Quote]:
    """What each failure says, an exception or an assertion before its details."""
    spans: list[Quote] = []
    for found in findings[: MOST["error"]]:
        lines = [line for line in _messages(found) if not _NO_REASON.match(line.text)]
        lines.sort(key=lambda line: not _EXCEPTION.match(_plain(line.text)))
        for line in lines[:MESSAGES_EACH] or _told_with_its_name(found):
            span = _span(line, "error", found.finding.score)
            if not _is_told(span.text, spans):
                spans.append(span)
    return spans[: MOST["error"]]


def _messages(found: ProvenFinding) -> list[Line]:
    """The lines that say why; where pytest marks them, what it quotes around them is source."""
    lines = [line for line in _evidence_lines(found, ("message",)) if _says_something(line.text)]
    marked = [line for line in lines if _PYTEST_LINE.match(line.text)]
    return marked or lines


def _told_with_its_name(found: ProvenFinding) -> list[Line]:
    """What pytest's short summary says after the name, where the log says it nowhere else."""
    for line in _evidence_lines(found, ("title",)):
        name, dash, said = line.text.partition(" - ")
        if dash and name.endswith(found.finding.title):
            return [line._replace(text=said)]
    return []


def _evidence(findings: list[ProvenFinding], told: list[Quote]) -> list[Quote]:
    """Lines of the first failures that were not told yet, a few of each."""
    spans: list[Quote] = []
    for found in findings[:TOLD_WHOLE]:
        new: list[Quote] = []
        for line in [*_messages(found), *_evidence_lines(found, ("frame",))]:
            span = _span(line, "evidence", found.finding.score)
            if _proves(line.text) and not _is_told(span.text, [*told, *spans, *new]):
                new.append(span)
        spans += sorted(new[:PROOF_EACH], key=lambda span: span.first_line)
    return spans[: MOST["evidence"]]


def _proves(text: str) -> bool:
    return not (_NOT_A_CAUSE.match(text) or _WHERE.match(text))


def _is_told(text: str, spans: Iterable[Quote]) -> bool:
    words = " ".join(text.removeprefix(">").split())
    return any(words in (said := " ".join(span.text.split())) or said in words for span in spans)


def _plain(text: str) -> str:
    """A line without the mark that pytest sets before the code and what an exception says."""
    return _PYTEST_MARK.sub("", text.strip())


def _named(findings: list[ProvenFinding]) -> list[Quote]:
    """Of each finding the lines that name it most fully; some tools take several for one name."""
    spans: dict[str, Quote] = {}
    for item_id, finding in findings:
        evidence = _fullest_name(finding)
        if evidence is not None:
            span = Quote(
                item_id=item_id,
                first_line=evidence.first,
                last_line=evidence.last,
                text=_name_alone(evidence, finding),
                role="failed",
                score=round(finding.score, 6),
            )
            spans.setdefault(span.text, span)
    return list(spans.values())[: MOST["failed"]]


def _name_alone(evidence: Evidence, finding: Finding) -> str:
    """The name without the reason that stands after it: that is told as the error."""
    text = _plain(evidence.text)
    name, dash, _ = text.partition(" - ")
    return finding.title if dash and name.endswith(finding.title) else text


def _fullest_name(finding: Finding) -> Evidence | None:
    title = set(content_words(finding.title))

    def fullness(evidence: Evidence) -> tuple[int, int]:
        words = content_words(evidence.text)
        return len(title.intersection(words)), len(words)

    named = [evidence for evidence in finding.evidence if evidence.role == "title"]
    return max(named, key=fullness, default=None)


def _says_something(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _files(findings: list[ProvenFinding]) -> list[Quote]:
    spans: dict[str, Quote] = {}
    for found in findings:
        for place in _ours(found.finding):
            span = _place_span(found, place)
            if span:
                spans.setdefault(span.text, span)
    return list(spans.values())[: MOST["file"]]


def _ours(finding: Finding) -> list[Reference]:
    """The places of the project, where Python raised the error first as in other languages."""
    places = [place for place in finding.references if not place.library]
    return places[::-1] if finding.framework in PYTHON_FRAMEWORKS else places


def _place_span(found: ProvenFinding, place: Reference) -> Quote | None:
    """The words of the log that name *place*: `path:line`, or the frame that holds both."""
    named = re.compile(rf"{re.escape(place.path)}(?P<between>\D{{1,8}}){place.line}(?!\d)")
    for evidence in found.finding.evidence:
        for line in _lines_of(found.item_id, evidence):
            match = named.search(line.text)
            if match:
                text = match[0] if match["between"] == ":" else line.text
                return _span(line._replace(text=text), "file", found.finding.score)
    return None


def _causes(source: list[Line], findings: list[ProvenFinding], errors: list[Quote]) -> list[Quote]:
    """The source lines that the log points at; without any, those most like the error."""
    code = [line for line in source if line.text.strip() and not _NOT_A_CAUSE.match(line.text)]
    causes = {
        (line.item_id, line.number): _span(line, "cause", found.finding.score)
        for found in findings[:TOLD_WHOLE]
        for place in _ours(found.finding)
        for line in code
        if line.number == place.line and _same_file(line.item_id, place.path)
    }
    if causes:
        return list(causes.values())[: MOST["cause"]]
    quoted = _quoted_source(findings)
    if quoted:
        return quoted
    question = [word for span in errors[:3] for word in content_words(span.text)]
    alike = _most_alike([line.text for line in code], question, at_least=1)[:2]
    return [_span(code[at], "cause", score) for at, score in alike]


def _quoted_source(findings: list[ProvenFinding]) -> list[Quote]:
    """The source line that a traceback quotes under the last frame of ours, without its source."""
    spans: dict[str, Quote] = {}
    for found in findings[:TOLD_WHOLE]:
        telling = _evidence_lines(found, ("frame", "context", "message"))
        lines = sorted(telling, key=lambda line: line.number)
        paths = {place.path for place in _ours(found.finding)}
        quoted = [line for line in lines if line.text.startswith(">")] or [
            below
            for frame, below in pairwise(lines)
            if any(path in frame.text for path in paths)
            and below.number == frame.number + 1
            and _says_something(below.text)
            and not below.text.lstrip().startswith(FRAME_WORDS)
            and not any(path in below.text for path in paths)
        ]
        for line in quoted[-1:]:
            spans.setdefault(line.text.strip(), _span(line, "cause", found.finding.score))
    return list(spans.values())


def _same_file(item_id: str, path: str) -> bool:
    """Whether one of the two names ends as the other does, folder by folder."""
    ours = item_id.replace("\\", "/").split(":")[0].split("/")
    theirs = path.replace("\\", "/").split("/")
    shared = min(len(ours), len(theirs))
    return ours[-shared:] == theirs[-shared:]


def _related(
    background: list[Passage], findings: list[ProvenFinding], telling: list[Quote]
) -> list[Quote]:
    """The sentences of the knowledge that share most words with the failure."""
    if not findings:
        return []
    units = [
        unit
        for passage in background
        for unit in sentences(passage)
        if _WHOLE_SENTENCE.match(unit.text)
    ]
    kinds = " ".join(found.finding.kind.replace("_", " ") for found in findings[:TOLD_WHOLE])
    question = content_words(kinds + " ".join(["", *(span.text for span in telling[:6])]))
    alike = _most_alike([unit.text for unit in units], question, at_least=2)
    return [
        Quote(
            item_id=units[at].item_id,
            first_line=units[at].first_line,
            last_line=units[at].last_line,
            text=units[at].text,
            role="related",
            score=round(score, 6),
        )
        for at, score in alike[: MOST["related"]]
    ]


def _most_alike(texts: list[str], question: list[str], *, at_least: int) -> list[tuple[int, float]]:
    """Which texts share *at_least* so many words with *question*, best first, scored 0 to 0.5."""
    words = [content_words(text) for text in texts]
    scores = TextScores(words, question).scores
    best = max(scores, default=0.0) or 1.0
    asked = set(question)
    order = sorted(range(len(texts)), key=lambda at: (-scores[at], at))
    return [
        (at, scores[at] / best / 2)
        for at in order
        if scores[at] > 0 and len(asked.intersection(words[at])) >= at_least
    ]


def _span(line: Line, role: Role, score: float) -> Quote:
    return Quote(
        item_id=line.item_id,
        first_line=line.number,
        last_line=line.number,
        text=_plain(line.text),
        role=role,
        score=round(score, 6),
    )
