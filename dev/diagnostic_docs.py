"""Writes docs/diagnostics.md from the table of diagnostic codes: `python dev/diagnostic_docs.py`."""

from pathlib import Path

from cortex.runtime.processes import SECTIONS

ROOT = Path(__file__).resolve().parents[1]


def text() -> str:
    """The document: every code with what it means and what to do."""
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


if __name__ == "__main__":
    (ROOT / "docs" / "diagnostics.md").write_text(text())
