"""A failure told to people: what failed, the error, the lines that prove it, where to look."""

from collections.abc import Iterator, Sequence

from .source import Location
from .triage import Finding

FINDINGS = 3
PROOF_LINES = 8  # of one finding
PLACES = 5
LONGEST = 140  # characters of a line
LONGEST_MESSAGE = 400  # of the headline and of what a failure says
_TELLING = ("title", "message", "frame", "context")  # roles of evidence, the most telling first


def write_report(
    summary: str,
    failed_command: str,
    findings: Sequence[Finding],
    locations: Sequence[Location],
    analysis: str,
) -> str:
    """The report as plain text, at most some sixty lines."""
    lines = [_cut(summary, LONGEST_MESSAGE) or "Nothing in the log says that something failed."]
    if failed_command:
        lines += ["", f"Failing command: {_cut(failed_command)}"]
    for number, finding in enumerate(findings[:FINDINGS], 1):
        lines += ["", *_finding(number, finding)]
    if len(findings) > FINDINGS:
        others = [f"   {_cut(finding.title)}" for finding in findings[FINDINGS:]]
        lines += ["", "Also failed:", *others]
    if locations:
        lines += ["", "Where to look:"]
        for place in locations[:PLACES]:
            symbol = f" in {place.symbol}" if place.symbol else ""
            lines += [f"   {place.path}:{place.line}{symbol}", f"      {_cut(place.why)}"]
    if analysis:
        lines += ["", "Analysis:", *(f"   {line}" for line in analysis.splitlines())]
    return "\n".join(lines)


def _finding(number: int, finding: Finding) -> Iterator[str]:
    yield f"{number}. {finding.kind.replace('_', ' ')}: {_cut(finding.title)}"
    if finding.message:
        yield f"   error: {_cut(finding.message.splitlines()[0], LONGEST_MESSAGE)}"
    yield "   proof, by line of the log:"
    for at, text in _proof(finding):
        yield f"   {at:>7}  {_cut(text)}"


def _proof(finding: Finding) -> list[tuple[int, str]]:
    """The most telling lines of the evidence, in the order of the log."""
    ranked = sorted(finding.evidence, key=lambda e: (_TELLING.index(e.role), e.first))
    lines = [
        (at, text)
        for evidence in ranked
        for at, text in enumerate(evidence.text.split("\n"), evidence.first)
        if text.strip()
    ]
    return sorted(lines[:PROOF_LINES])


def _cut(text: str, longest: int = LONGEST) -> str:
    line = " ".join(text.split("\n")).rstrip()
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
