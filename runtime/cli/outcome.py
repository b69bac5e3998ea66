"""What came of an execution, for people: the result, the contexts, and where to read on."""

from collections.abc import Iterator
from typing import Any

from .reading import CompiledContext, ExecutionDocument, duration, local, parse_time
from .results import bounded, readable, scalars
from .screen import Screen

_STYLES = {"completed": "bold green", "paused": "bold yellow", "running": "bold"}
REVIEW_LINES = 30  # of results, before a person is asked about them
LEAST_LINES = 3  # of each step among them


def show_outcome(screen: Screen, document: ExecutionDocument) -> None:
    """Print how *document* ended and how to go on; as JSON, the document itself."""
    screen.document(document)
    if document.status == "completed":
        _show_result(screen, document)
    else:
        _show_stop(screen, document)
    _show_contexts(screen, document)
    screen.line()
    if document.status == "completed":
        screen.line("completed", _STYLES["completed"])
    screen.line(
        f"execution {document.id}  {document.process or 'ad-hoc work'}  "
        f"{duration(document.duration_s)}  {document.tokens:,} tokens"
    )
    _show_hints(screen, document)


def show_execution(screen: Screen, document: ExecutionDocument) -> None:
    """Print what *document* was given, how its steps went and what came of it."""
    screen.document(document)
    screen.line(f"execution {document.id}  {document.status}", _style_of(document))
    for name, value in _facts(document):
        screen.line(f"{name:<10} {value}")
    _show_named(screen, "inputs", document.inputs)
    if document.steps:
        screen.line()
    _show_steps(screen, document)
    if document.outputs:
        screen.line()
    _show_named(screen, "outputs", document.outputs)
    _show_contexts(screen, document)
    screen.line()
    _show_hints(screen, document)


def hints_of(document: ExecutionDocument) -> list[str]:
    """Commands that take it from here."""
    hints = []
    if document.question:
        hints.append(f"cortex execution resume {document.id} --approve   (or --deny)")
    elif document.status in ("paused", "halted"):
        hints.append(f"cortex execution resume {document.id}")
    return [*hints, f"cortex trace {document.id}"]


def review_of(document: ExecutionDocument) -> list[str]:
    """What the steps since the last question gave, for whoever is asked the next one."""
    steps = document.unreviewed
    most = max(LEAST_LINES, REVIEW_LINES // max(1, len(steps)) - 1)
    lines: list[str] = []
    for step in steps:
        summary = document.summaries.get(step, "")
        lines.append(f"{step}: {summary}" if summary else step)
        said = list(readable(document.results.get(step, {}), "  "))
        lines += bounded(said, most, f"cortex trace {document.id} --full")
    return bounded(lines, REVIEW_LINES, f"cortex trace {document.id} --full")


def context_line(context: CompiledContext) -> str:
    """A compiled context in a line: tokens by section, and the bound they had to keep."""
    sections = ", ".join(
        f"{name} {tokens:,}" for name, tokens in context.sections.items() if tokens
    )
    return (
        f"context of {context.step}: {context.tokens:,} tokens ({sections}), "
        f"window {context.window:,}, model {context.model}"
    )


def log_lines(document: ExecutionDocument) -> Iterator[str]:
    """How much of a log that a step read was sent to a model, where that is less than all of it."""
    sent = sum(context.tokens for context in document.contexts)
    for result in document.results.values():
        read = _log_tokens(result)
        if 0 < sent < read:
            yield f"the log has {read:,} tokens; {sent:,} were sent ({100 * sent / read:.1f} %)"


def _log_tokens(result: Any) -> int:
    """How large the log is that a step read; 0 where it read none."""
    if not (isinstance(result, dict) and "log" in result and "excerpt" in result):
        return 0
    tokens = result.get("tokens")
    return tokens if isinstance(tokens, int) else 0


def _show_result(screen: Screen, document: ExecutionDocument) -> None:
    if document.outputs:
        _show_lines(screen, readable(document.outputs))
    elif document.results:
        last = list(document.results)[-1]
        if summary := document.summaries.get(last):
            screen.line(f"{last}: {summary}")
        _show_lines(screen, scalars(document.results[last]))


def _show_stop(screen: Screen, document: ExecutionDocument) -> None:
    told = f": {document.reason}" if document.reason else ""
    screen.line(f"{document.status}{told}", _style_of(document))
    if document.question:
        if review := review_of(document):
            _show_lines(screen, iter(review))
            screen.line()
        screen.line(document.question, "bold")
    else:
        _show_steps(screen, document)


def _show_steps(screen: Screen, document: ExecutionDocument) -> None:
    widest = max(map(len, document.steps), default=0)
    for step, status in document.steps.items():
        line = f"  {status:<10} {step:<{widest}}  {document.summaries.get(step, '')}".rstrip()
        screen.line(screen.cut(line, lines=2))


def _show_contexts(screen: Screen, document: ExecutionDocument) -> None:
    if document.contexts:
        screen.line()
    for context in document.contexts:
        screen.line(context_line(context))
    _show_lines(screen, log_lines(document))


def _show_hints(screen: Screen, document: ExecutionDocument) -> None:
    for hint in hints_of(document):
        screen.line(hint, "cyan")


def _show_named(screen: Screen, name: str, values: dict[str, Any]) -> None:
    if values:
        screen.line(name)
        _show_lines(screen, readable(values, "  "))


def _show_lines(screen: Screen, lines: Iterator[str]) -> None:
    for line in lines:
        screen.line(line)


def _facts(document: ExecutionDocument) -> Iterator[tuple[str, str]]:
    version = f" version {document.version}" if document.version else ""
    requested = local(parse_time(document.requested, 0))
    yield "process", f"{document.process or 'ad-hoc work'}{version}"
    for name, value in (
        ("goal", document.goal),
        ("workspace", document.workspace),
        ("reason", document.reason),
        ("asks", document.question),
        ("verdict", document.verdict),
    ):
        if value:
            yield name, value
    took = f"took {duration(document.duration_s)}, {document.tokens:,} tokens"
    yield "requested", f"{requested}, {took}"


def _style_of(document: ExecutionDocument) -> str:
    return _STYLES.get(document.status, "bold red")
