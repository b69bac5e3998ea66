"""Spans of a trace as lines for people: what each is, and what is to be known of it."""

import json
from collections.abc import Iterator
from typing import Any

from cortex.runtime.kernel import many
from cortex.runtime.models import Usage, counted, dollars

from .spans import Span

ANSWER_LINES = 6  # of a model's answer, unless all is asked for
SHORT = 180  # characters of a value, unless all is asked for
# Told by the title or the place of a span, or of use to a program alone.
_PLAIN = frozenset(
    ("attempt", "action", "schema", "turn", "call", "call_id", "items", "at_once", "branches")
)
_LONG = frozenset(("result", "outputs", "needs", "linked", "digest", "trigger", "trigger_id"))


def span_title(span: Span) -> str:
    """What *span* is and how it ended, in a line."""
    said = span.attributes
    parts = [span.kind, span.name, _means(span), "" if span.status == "recorded" else span.status]
    if (attempt := said.get("attempt", 1)) != 1:
        parts.append(f"attempt {attempt}")
    if turn := said.get("turn"):
        parts.append(f"turn {turn}")
    if (call := said.get("call", 1)) != 1:
        parts.append(f"call {call}")
    if cost := said.get("cost") if span.kind == "model" else 0.0:
        parts.append(dollars(cost))
    return " ".join(" ".join(parts).split())


def span_details(span: Span, *, full: bool) -> Iterator[str]:
    """What is recorded of *span*, a line each; all of it, whole, if *full*."""
    said = {n: v for n, v in span.attributes.items() if n not in _PLAIN and v != span.name}
    if span.kind == "context" and "sections" in said:
        yield from _context_details(said)
        return
    if span.kind == "model" and "answer" in said:
        yield from _answer_details(said, full=full)
        return
    for name, value in said.items():
        if full or name not in _LONG:
            yield f"{name}: {_short(value, full=full)}"


def _means(span: Span) -> str:
    """What a step does: an action, a child, or many items."""
    said = span.attributes
    if span.kind != "step":
        return ""
    if (count := said.get("items")) is not None:
        noun = "branches" if "branches" in said else "items"
        return f"({count} {noun}, {said['at_once']} at once)"
    return f"({said.get('action') or said.get('child') or '-'})"


def _context_details(said: dict[str, Any]) -> Iterator[str]:
    sections = ", ".join(f"{name} {n:,}" for name, n in said["sections"].items() if n)
    size = many(said.get("tokens", 0), "token")
    yield f"{size} of {said.get('window', 0):,} for {said.get('model')}"
    yield f"sections: {sections}"
    yield f"items: {said.get('included', 0)} of {said.get('considered', 0)} looked at"
    for action in said.get("actions", ()):
        yield f"- {action}"
    yield f"prompt: {said.get('prompt')}"
    yield f"manifest: {said.get('manifest')}"


def _answer_details(said: dict[str, Any], *, full: bool) -> Iterator[str]:
    usage = Usage(**{name: said.get(f"{name}_tokens", 0) for name in Usage.__struct_fields__})
    yield f"tokens: {counted(usage)}"
    for call in said["answer"].get("calls") or ():
        yield f"wants {call.get('tool')}: {_short(call.get('arguments'), full=full)}"
    lines = str(said["answer"].get("text", "")).splitlines()
    shown = lines if full else lines[:ANSWER_LINES]
    yield from (f"| {_short(line, full=full)}" for line in shown)
    if len(shown) < len(lines):
        yield f"| ... {many(len(lines) - len(shown), 'more line')}, shown by --full"


def _short(value: Any, *, full: bool) -> str:
    # Spaces between, so that a line breaks there.
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if full or len(text) <= SHORT else f"{text[:SHORT]} ..."
