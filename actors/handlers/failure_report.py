"""A failure told to people: what failed, the error, the lines that prove it, where to look."""

from collections.abc import Iterator, Sequence

from .source import Location
from .triage import Finding

FINDINGS = 3
PROOF_LINES = 12  # of one finding
PLACES = 5
LONGEST = 160  # characters of a line


def write_report(
    summary: str,
    failed_command: str,
    findings: Sequence[Finding],
    locations: Sequence[Location],
    analysis: str,
) -> str:
    """The report as plain text, at most some sixty lines."""
    lines = [summary or "Nothing in the log says that something failed."]
    if failed_command:
        lines += ["", f"Failing command: {failed_command}"]
    for number, finding in enumerate(findings[:FINDINGS], 1):
        lines += ["", *_finding(number, finding)]
    if len(findings) > FINDINGS:
        lines += ["", "Also failed: " + "; ".join(f.title for f in findings[FINDINGS:])]
    if locations:
        lines += ["", "Where to look:"]
        for place in locations[:PLACES]:
            symbol = f" in {place.symbol}" if place.symbol else ""
            lines.append(f"  {place.path}:{place.line}{symbol} ({place.why})")
    if analysis:
        lines += ["", "Analysis:", *(f"  {line}" for line in analysis.splitlines())]
    return "\n".join(lines)


def _finding(number: int, finding: Finding) -> Iterator[str]:
    yield f"{number}. {finding.kind}: {_cut(finding.title)}"
    if finding.message:
        yield f"   Error: {_cut(finding.message)}"
    yield "   Proof (line of the log):"
    shown = 0
    for evidence in finding.evidence:
        for at, text in enumerate(evidence.text.split("\n"), evidence.first):
            if text.strip() and shown < PROOF_LINES:
                shown += 1
                yield f"   {at:>7}  {_cut(text)}"


def _cut(text: str) -> str:
    line = text.rstrip().replace("\n", " ")
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
