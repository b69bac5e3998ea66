"""How `cortex directive` shows what is laid down, and what became of a request."""

from typing import Final

from cortex.runtime.admin import StepDocument
from cortex.runtime.directives import InForce, ScopeDocument

from ..exits import FAILED, OK
from ..screen import Columns, Screen

HISTORY: Columns = {
    "position": lambda row: f"{row.position:,}",
    "request": lambda row: f"{row.request:,}",  # `since` in a state, and what an undo names
    "time": lambda row: row.time[:19],
    "branch": "branch",
    "by": "by",
    "what": "said",
}
SCOPES: Columns = {
    "scope": "scope",
    "facts": lambda row: f"{row.facts:,}",
    "policies": lambda row: f"{row.policies:,}",
    "branches": lambda row: " ".join(row.branches),
    "question": "question",
}
LABELS: Final = {"clarification_asked": "not laid down"}
# Outcomes whose line says it all.
SAY_IT: Final = {"passed", "undone", "redone", "branched", "merged", "pinned"}
DONE: Final = {"refused", "conflicted"}  # outcomes of which nothing came


def show_outcome(screen: Screen, document: StepDocument) -> int:
    """Show *document*, also as JSON; the exit code."""
    screen.document(document)
    return said_outcome(screen, document)


def said_outcome(screen: Screen, document: StepDocument) -> int:
    """Show *document* to a person; the exit code."""
    refused = document.outcome in DONE
    label = "question" if document.waits else LABELS.get(document.outcome, document.outcome)
    says = document.says if document.outcome in SAY_IT else f"{label}: {document.says}"
    screen.line(says, "yellow" if refused else "")
    for repair in document.repairs:
        screen.line(f"  try: {repair}")
    for each in document.conflicts:
        here, there = each.here or "nothing", each.there or "nothing"
        screen.line(f"  {each.name}: {here} here, {there} there")
    if document.conflicts:
        screen.line("  lay it down in one of the branches, then merge again")
    if document.waits:
        screen.line("  answer yes or no; no model is asked in this scope before that")
    return FAILED if refused else OK


def show_in_force(screen: Screen, found: InForce) -> None:
    """Show what is in force, and what is overruled."""
    if not found.directives:
        screen.line("nothing is laid down in these scopes")
    for each in found.directives:
        screen.line(f"{each.text}  ({each.scope}, since {each.position:,})")
    for each in found.overruled:
        screen.line(f"overruled: {each.text}  ({each.scope}, since {each.position:,})", "dim")
    if found.question:
        screen.line(f"open question: {found.question} ({', '.join(found.waits)})", "yellow")


def show_state(screen: Screen, found: ScopeDocument) -> None:
    """Show what is laid down in one scope."""
    if not found.directives:
        screen.line(f"nothing is laid down in {found.scope}")
    for row in found.directives:
        said = f"{row.name}: {row.value}" if row.kind == "fact" else f"{row.value} {row.name}"
        pinned = "  pinned" if row.pinned else ""
        screen.line(f"{said}  (since {row.position:,}){pinned}")
    if found.question:
        screen.line(f"open question: {found.question}", "yellow")
    if len(found.branches) > 1:
        screen.line(f"branches: {', '.join(found.branches)}")
