"""Prints where an execution stands: what was done, what gates said, and what would be sent next."""

from itertools import groupby
from typing import Final

from cortex.runtime.executions.view import (
    BREAKPOINT,
    ITEMS_SHOWN,
    DebugDocument,
    GateResult,
    LeftOut,
    PromptMessage,
    PromptPart,
    WaitingPrompt,
    brief_value,
    debug_hints,
    edit_line,
    items_line,
    named_values,
)
from cortex.runtime.kernel import duration, many

from ..prompts import digest_shown, edited_line
from ..screen import Screen
from .waterfall import bar, waterfall_lines

LINES: Final = 12  # of a part of a prompt, unless --full
LEFT: Final = 8  # items that are not in a prompt, likewise
BAR: Final = 24  # columns
_STYLES: Final = {"passed": "green", "failed": "red", "waiting": "yellow", "open": "yellow"}
_STANDS: Final = {"completed": "bold green", "paused": "bold yellow", "running": "bold"}


def show_debug(screen: Screen, document: DebugDocument, *, full: bool, hints: bool) -> None:
    """Print *document*; long texts as a whole if *full*, and how to continue if *hints*."""
    screen.line(headline(document), _STANDS.get(document.status, "bold red"))
    version = f" version {document.version}" if document.version else ""
    screen.facts(
        (
            ("execution", document.id),
            ("part of", document.parent),
            ("process", f"{document.process or 'ad-hoc work'}{version}"),
            ("goal", document.goal),
            ("asks", document.question),
            ("pauses at", ", ".join(document.breakpoints)),
            *(("changed", edit_line(edit)) for edit in document.edits),
        )
    )
    _heading(screen, "so far")
    for line in waterfall_lines(document.history, screen.width, _spared(document)):
        screen.line(*line)
    _show_items(screen, document)
    _show_gates(screen, document.gates, full=full)
    if document.prompt is not None:
        _show_prompt(screen, document.prompt, full=full)
    if document.next is not None:
        _heading(screen, f"next: {document.next.step} continues with {document.next.does}")
        screen.lines(named_values(document.next.parameters, "  "))
    if hints:
        screen.line()
        screen.lines(debug_hints(document), "cyan")


def headline(document: DebugDocument) -> str:
    """Where *document* stands, in a line."""
    if document.reason == BREAKPOINT and document.status == "paused":
        return f"at the breakpoint before step {document.step}"
    where = f" at step {document.step}" if document.step else ""
    return f"{document.status}{where}{': ' if document.reason else ''}{document.reason}"


def next_line(document: DebugDocument) -> str:
    """What comes next, in a line."""
    prompt = document.prompt
    if prompt is not None:
        parts = ", ".join(f"{e.section} {e.tokens:,}" for e in prompt.sections if e.tokens)
        size = f"{prompt.tokens:,} of {many(prompt.window, 'token')}"
        return f"the prompt for {prompt.model} has {size} ({parts})"
    if document.next is None:
        return "it continues with what its step asks for"
    given = " ".join(f"{n}={brief_value(v)}" for n, v in document.next.parameters.items())
    return f"it continues with {document.next.does} {given}".rstrip()


def _spared(document: DebugDocument) -> set[str]:
    """The rows of items that completed, where there are too many of them to look at."""
    rows = document.history.rows
    done = {row.span for row in rows if (row.kind, row.status) == ("item", "completed")}
    return done if len(done) > ITEMS_SHOWN else set()


def _show_items(screen: Screen, document: DebugDocument) -> None:
    if document.items is None:
        return
    screen.line()
    screen.paragraph(items_line(document.items), lead=f"{document.items.step}  ", style="bold")
    for row in (*document.items.failures, *document.items.waiting):
        told = f"{row.status}: {row.question or row.reason}"
        screen.line(screen.cut(f"  {row.name}  {row.execution}  {told}"))


def _show_gates(screen: Screen, gates: list[GateResult], *, full: bool) -> None:
    if not gates:
        return
    _heading(screen, "gates")
    widest = max(len(gate.gate) for gate in gates)
    for gate in gates:
        told = f"{gate.step or 'the process'}, {duration(gate.duration_s)}"
        lead = f"  {gate.outcome:<8} {gate.gate:<{widest}}  "
        why = f": {gate.reason}" if gate.reason else ""
        screen.paragraph(f"{told}{why}", lead=lead, style=_STYLES.get(gate.outcome, ""))
        for name, value in gate.evidence.items():
            said = str(value) if full else brief_value(value)
            screen.paragraph(said, lead=f"{'':11}{name}: ", style="dim")


def _show_prompt(screen: Screen, prompt: WaitingPrompt, *, full: bool) -> None:
    about = (
        f"{prompt.tokens:,} of {many(prompt.window, 'token')}, "
        f"{prompt.headroom:,} kept for the answer"
    )
    _heading(screen, f"the prompt for {prompt.model}: {about}")
    most = max((each.tokens for each in prompt.sections), default=1) or 1
    for each in prompt.sections:
        if each.tokens:
            drawn = bar(0, each.tokens / most, BAR).rstrip()
            screen.line(f"  {each.section:<13} {each.tokens:>7,} of {each.most:>7,}  {drawn}")
    if prompt.tools:
        _show_message(
            screen, PromptMessage("tools", _tokens(prompt.tools), prompt.tools), full=full
        )
    for message in prompt.messages:
        _show_message(screen, message, full=full)
    _show_manifest(screen, prompt, full=full)


def _tokens(parts: list[PromptPart]) -> int:
    return sum(part.tokens for part in parts)


def _show_message(screen: Screen, message: PromptMessage, *, full: bool) -> None:
    screen.line()
    screen.line(f"  {message.role}  {many(message.tokens, 'token')}", "bold")
    parts = (part for part in message.parts if part.kind != "heading")  # the section's name
    for _, run in groupby(parts, lambda part: (part.section, part.item, part.kind)):
        same = list(run)  # the parts of a section's own text
        screen.line(f"    {_about(same)}", "dim")
        lines = "".join(part.text for part in same).splitlines()
        shown = lines if full else lines[:LINES]
        for line in shown:
            screen.line(f"    | {line}" if full else screen.cut(f"    | {line}"))
        if len(shown) < len(lines):
            screen.line(f"    | ... {many(len(lines) - len(shown), 'more line')}: --full", "dim")


def _about(same: list[PromptPart]) -> str:
    part = same[0]
    said = [f"{part.section} {part.item or part.kind}".removesuffix(" own"), f"{_tokens(same):,}"]
    said += [part.trust] if part.trust != "trusted" else []
    said += [f"edited by {', '.join(part.edited_by)}"] if part.edited_by else []
    said += ["cached up to here"] if same[-1].cached_to else []
    return "  ".join(said)


def _show_manifest(screen: Screen, prompt: WaitingPrompt, *, full: bool) -> None:
    screen.line()
    screen.line(
        f"  {prompt.included:,} of {many(prompt.considered, 'item')} considered are in it, "
        f"{many(prompt.eligible, 'token')} may be read from a cache again"
    )
    left = prompt.left_out if full else prompt.left_out[:LEFT]
    for each in left:
        screen.paragraph(f"{each.item}: {each.why}", lead=f"    {_size(each)}  ")
    if len(left) < len(prompt.left_out):
        screen.line(f"    ... {len(prompt.left_out) - len(left):,} more left out: --full", "dim")
    for edit in prompt.edits:
        screen.paragraph(
            edited_line(edit), lead="    edited  ", style="" if edit.applied else "yellow"
        )
    for note in prompt.notes:
        screen.paragraph(note, lead="    ", style="yellow")
    screen.line(
        f"  prompt {digest_shown(prompt.prompt)}, manifest {digest_shown(prompt.manifest)}", "dim"
    )


def _size(each: LeftOut) -> str:
    whole = f"{each.whole_tokens:,}" if each.whole_tokens else "?"
    size = f"{each.tokens:,} of {whole}" if each.state == "partial" else whole
    return f"{'cut' if each.state == 'partial' else 'out'} {size:>14}"


def _heading(screen: Screen, text: str) -> None:
    screen.line()
    screen.line(text, "bold")
