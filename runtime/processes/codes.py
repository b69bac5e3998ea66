"""The table of diagnostic codes: a code, once given, is never used for anything else."""

from collections.abc import Mapping

from .codes_link import LINK, VERSIONS
from .codes_process import INHERITANCE, PROCESS
from .codes_source import FILE, VALUES
from .diagnostics import DiagnosticRule

SECTIONS: tuple[tuple[str, tuple[DiagnosticRule, ...]], ...] = (
    ("P0: the file", FILE),
    ("P1: keys and values", VALUES),
    ("P2: one process", PROCESS),
    ("P3: inheritance and interfaces", INHERITANCE),
    ("P4: linking", LINK),
    ("P5: versions", VERSIONS),
)

RULES: Mapping[str, DiagnosticRule] = {rule.code: rule for _, rules in SECTIONS for rule in rules}

# What raises LinkError rather than ProcessLoadError.
LINK_CODES: frozenset[str] = frozenset(rule.code for rule in LINK)


def diagnostics_reference() -> str:
    """Return docs/diagnostics.md: every code with what it means and what to do."""
    lines = [
        "# Diagnostics of the process compiler",
        "",
        "Each finding has a stable code, a severity, a range in the file and a message that says",
        "what is and what was expected. It has a remedy and, if possible, a fix as text edits. The",
        "compiler does not link a process with an error. It records warnings; they only block a",
        "process with `strict`. The compiler reports all findings of a file at once.",
    ]
    for title, rules in SECTIONS:
        lines += ["", f"## {title}"]
        for rule in rules:
            lines += ["", f"### {rule.code}: {rule.title} ({rule.severity})", ""]
            lines += [rule.explanation, "", f"**What to do:** {rule.remedy}."]
    return "\n".join(lines) + "\n"
