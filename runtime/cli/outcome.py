"""What came of an execution, for people: the result, the contexts, and where to read on."""

from typing import Any

import msgspec

from .reading import CompiledContext, ExecutionDocument, duration
from .screen import Screen

_STYLES = {"completed": "bold green", "paused": "bold yellow"}
REPORT = "report"  # a result's field that is text for people, printed as it is


def show_outcome(screen: Screen, document: ExecutionDocument) -> None:
    """Print how *document* ended and how to go on; as JSON, the document itself."""
    screen.document(document)
    if document.outputs:
        show_value(screen, document.outputs)
    elif document.results:
        show_value(screen, document.results[list(document.results)[-1]])
    if document.contexts:
        screen.line()
    for context in document.contexts:
        screen.line(context_line(context))
    read = sum(_tokens_read(result) for result in document.results.values())
    if document.contexts and read:
        sent = sum(context.tokens for context in document.contexts)
        screen.line(f"contexts: {sent:,} tokens, of {read:,} that were read ({sent / read:.1%})")
    screen.line()
    told = f": {document.reason}" if document.reason else ""
    screen.line(f"{document.status}{told}", _STYLES.get(document.status, "bold red"))
    if document.question:
        screen.line(document.question)
    screen.line(
        f"execution {document.id}  {document.process or 'ad-hoc work'}  "
        f"{duration(document.duration_s)}  {document.tokens:,} tokens"
    )
    for hint in hints_of(document):
        screen.line(hint, "cyan")


def hints_of(document: ExecutionDocument) -> list[str]:
    """Commands that take it from here."""
    hints = []
    if document.question:
        hints.append(f"cortex execution resume {document.id} --approve   (or --deny)")
    elif document.status in ("paused", "halted"):
        hints.append(f"cortex execution resume {document.id}")
    return [*hints, f"cortex trace {document.id}"]


def context_line(context: CompiledContext) -> str:
    """A compiled context in a line: tokens by section, and the bound they had to keep."""
    sections = ", ".join(
        f"{name} {tokens:,}" for name, tokens in context.sections.items() if tokens
    )
    return (
        f"context of {context.step}: {context.tokens:,} tokens ({sections}), "
        f"window {context.window:,}, model {context.model}"
    )


def show_value(screen: Screen, value: Any, indent: str = "") -> None:
    """Print a result: a `report` as it is, maps and lists by line, the rest in a word."""
    if isinstance(value, dict):
        if isinstance(value.get(REPORT), str):
            screen.block(value[REPORT])
            return
        for name, inner in value.items():
            _show_named(screen, f"{indent}{name}:", inner, indent)
    elif isinstance(value, list | tuple):
        for inner in value:
            _show_named(screen, f"{indent}-", inner, indent)
    else:
        screen.block(_plain(value))


def _tokens_read(result: Any) -> int:
    """How large what a step read was, where it says so."""
    tokens = result.get("tokens") if isinstance(result, dict) else None
    return tokens if isinstance(tokens, int) else 0


def _show_named(screen: Screen, name: str, value: Any, indent: str) -> None:
    if isinstance(value, dict | list | tuple) and value:
        screen.line(name)
        show_value(screen, value, indent + "  ")
        return
    text = _plain(value)
    if "\n" in text:
        screen.line(name)
        screen.block("\n".join(f"{indent}  {line}" for line in text.splitlines()))
    else:
        screen.line(f"{name} {text}")


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
