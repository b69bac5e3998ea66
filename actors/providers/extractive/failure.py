"""Answer "what failed and why": failed tests, errors, the lines that prove it, files, causes."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from cortex.actors.handlers.triage import Evidence, Finding, Log, Reference, triage
from cortex.runtime.context import Bm25, Passage, content_words

from .extract import Role, Span

MOST: Final[dict[Role, int]] = {
    "failed": 20,
    "error": 8,
    "evidence": 16,
    "file": 8,
    "cause": 6,
    "related": 3,
}
TOLD_WHOLE: Final = 3  # findings whose proof is quoted; of the others only what failed
MESSAGES_EACH: Final = 3
SOURCE_KINDS: Final = ("code", "source", "snippet")
BACKGROUND_KINDS: Final = ("knowledge", "memory", "package")
FRAME_WORDS: Final = ('File "', "at ")


class Line(NamedTuple):
    """One line of the context and where it stands."""

    item_id: str
    number: int
    text: str


class Found(NamedTuple):
    """A finding and the item whose lines prove it."""

    item_id: str
    finding: Finding


def failure_spans(passages: Sequence[Passage]) -> list[Span]:
    """Spans that tell what failed, by role and then most telling first; none if nothing failed."""
    findings = _findings(p for p in passages if p.kind not in (*SOURCE_KINDS, *BACKGROUND_KINDS))
    failed = _named(findings)
    errors = _distinct("error", findings[: MOST["error"]], ("message",), MESSAGES_EACH)
    told = {span.text for span in (*failed, *errors)}
    evidence = [
        span
        for span in _distinct("evidence", findings[:TOLD_WHOLE], ("frame", "context"))
        if span.text not in told
    ]
    source = _lines(p for p in passages if p.kind in SOURCE_KINDS)
    background = _lines(p for p in passages if p.kind in BACKGROUND_KINDS)
    return [
        *failed,
        *errors,
        *evidence,
        *_files(findings),
        *(_causes(source, findings, errors or failed) or _quoted_source(findings)),
        *_related(background, errors + failed),
    ]


def _findings(passages: Iterable[Passage]) -> list[Found]:
    """The findings of all items, best first; one that several items tell of is kept once."""
    by_item: dict[str, list[Line]] = {}
    for passage in passages:
        by_item.setdefault(passage.item_id, []).extend(_lines([passage]))
    found: dict[tuple[str, str], Found] = {}
    for item_id, lines in by_item.items():
        lines.sort(key=lambda line: line.number)
        for finding in triage(_log(item_id, lines)).findings:
            key = (finding.kind, finding.title)
            if key not in found or finding.score > found[key].finding.score:
                found[key] = Found(item_id, finding)
    return sorted(found.values(), key=lambda each: -each.finding.score)


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


def _evidence_lines(found: Found, roles: tuple[str, ...]) -> Iterator[Line]:
    for evidence in found.finding.evidence:
        if evidence.role in roles:
            yield from _lines_of(found.item_id, evidence)


def _lines_of(item_id: str, evidence: Evidence) -> list[Line]:
    texts = evidence.text.split("\n")
    return [Line(item_id, evidence.first + at, text) for at, text in enumerate(texts)]


def _distinct(
    role: Role, findings: list[Found], roles: tuple[str, ...], each: int | None = None
) -> list[Span]:
    """The lines of *findings* in these roles, at most *each* of one finding, none twice."""
    spans: dict[str, Span] = {}
    for found in findings:
        telling = [line for line in _evidence_lines(found, roles) if _says_something(line.text)]
        for line in telling[:each]:
            spans.setdefault(line.text.strip(), _span(line, role, found.finding.score))
    return list(spans.values())[: MOST[role]]


def _named(findings: list[Found]) -> list[Span]:
    """Of each finding the lines that name it most fully; some tools take several for one name."""
    spans: dict[str, Span] = {}
    for item_id, finding in findings:
        evidence = _fullest_name(finding)
        if evidence is not None:
            span = Span(
                item_id=item_id,
                first_line=evidence.first,
                last_line=evidence.last,
                text=evidence.text.strip(),
                role="failed",
                score=round(finding.score, 6),
            )
            spans.setdefault(span.text, span)
    return list(spans.values())[: MOST["failed"]]


def _fullest_name(finding: Finding) -> Evidence | None:
    title = set(content_words(finding.title))

    def fullness(evidence: Evidence) -> tuple[int, int]:
        words = content_words(evidence.text)
        return len(title.intersection(words)), len(words)

    named = [evidence for evidence in finding.evidence if evidence.role == "title"]
    return max(named, key=fullness, default=None)


def _says_something(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _files(findings: list[Found]) -> list[Span]:
    spans: dict[tuple[str, int], Span] = {}
    for found in findings:
        for place in _ours(found.finding):
            line = _line_naming(found, place)
            if line and (place.path, place.line) not in spans:
                spans[place.path, place.line] = _span(line, "file", found.finding.score)
    return list(spans.values())[: MOST["file"]]


def _ours(finding: Finding) -> list[Reference]:
    return [place for place in finding.references if not place.library]


def _line_naming(found: Found, place: Reference) -> Line | None:
    lines = (line for e in found.finding.evidence for line in _lines_of(found.item_id, e))
    number = str(place.line)
    return next((line for line in lines if place.path in line.text and number in line.text), None)


def _causes(source: list[Line], findings: list[Found], errors: list[Span]) -> list[Span]:
    """Source lines that the log points at, then those that share most with the error."""
    causes = {
        (line.item_id, line.number): _span(line, "cause", found.finding.score)
        for found in findings[:TOLD_WHOLE]
        for place in _ours(found.finding)
        for line in source
        if line.number == place.line and line.text.strip() and _same_file(line.item_id, place.path)
    }
    question = [word for span in errors[:3] for word in content_words(span.text)]
    for line, score in _most_alike(source, question, at_least=1)[:3]:
        causes.setdefault((line.item_id, line.number), _span(line, "cause", score))
    return list(causes.values())[: MOST["cause"]]


def _quoted_source(findings: list[Found]) -> list[Span]:
    """The source line that a traceback quotes under the last frame of ours, without its source."""
    spans: dict[str, Span] = {}
    for found in findings[:TOLD_WHOLE]:
        lines = list(_evidence_lines(found, ("frame", "context", "message")))
        paths = {place.path for place in _ours(found.finding)}
        quoted = [
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


def _related(background: list[Line], telling: list[Span]) -> list[Span]:
    """What knowledge says with the words of the failure."""
    question = [word for span in telling[:6] for word in content_words(span.text)]
    alike = _most_alike(background, question, at_least=2)
    return [_span(line, "related", score) for line, score in alike[: MOST["related"]]]


def _most_alike(
    lines: list[Line], question: list[str], *, at_least: int
) -> list[tuple[Line, float]]:
    """Lines that share *at_least* so many words with *question*, best first, scored 0 to 0.5."""
    words = [content_words(line.text) for line in lines]
    scores = Bm25(words, question).scores
    best = max(scores, default=0.0) or 1.0
    asked = set(question)
    order = sorted(range(len(lines)), key=lambda at: (-scores[at], at))
    return [
        (lines[at], scores[at] / best / 2)
        for at in order
        if scores[at] > 0 and len(asked.intersection(words[at])) >= at_least
    ]


def _span(line: Line, role: Role, score: float) -> Span:
    return Span(
        item_id=line.item_id,
        first_line=line.number,
        last_line=line.number,
        text=line.text.strip(),
        role=role,
        score=round(score, 6),
    )
