"""Prints manifests, differences and statistics of prompts."""

from collections.abc import Iterator
from typing import Final

from cortex.runtime.context import EditNote, Manifest
from cortex.runtime.context.prompt_log import (
    SHOWN,
    PromptDiff,
    PromptDocument,
    PromptStats,
    SectionStats,
)
from cortex.runtime.kernel import many
from cortex.runtime.models import dollars

from .screen import Columns, Screen

ITEMS: Columns = {
    "item": "id",
    "section": "section",
    "state": "state",
    "tokens": "tokens",
    "score": lambda entry: f"{entry.score:.3f}",
    "why": "reason",
}
SOURCES: Columns = {
    "source": "source",
    "section": "section",
    "considered": lambda each: str(each.considered),
    "included": lambda each: str(each.included),
    "tokens": "tokens",
    "saved": lambda each: str(each.saved),
}
_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}
_DID: Final = {"order": "marked", "secret": "masked"}  # about what could act on a reader


def digest_shown(digest: str) -> str:
    """The beginning of a digest, enough to name it."""
    return digest.rpartition(":")[2][:SHOWN]


def show_manifest(screen: Screen, document: PromptDocument) -> None:
    """A manifest: its items, then their totals."""
    manifest = document.manifest
    screen.rows(manifest.items, ITEMS, known=True)
    screen.line()
    for name, tokens in manifest.sections.items():
        if tokens:
            screen.line(f"{name:<13} {tokens:>7,} of {manifest.budgets.get(name, 0):,}")
    screen.line(
        f"{'prompt':<13} {manifest.tokens:>7,} of {manifest.effective_window:,}, "
        f"{manifest.headroom:,} of them kept for the answer"
    )
    for name, text, style in _remarks(document):
        screen.line(f"{name:<13} {text}", style)


def _remarks(document: PromptDocument) -> Iterator[tuple[str, str, str]]:
    """What is to be said of a manifest beside its tokens: a name, a text and its style."""
    manifest = document.manifest
    stretches = ", ".join(f"{each.stretch} {each.tokens:,}" for each in manifest.segments)
    yield "counted", counting_of(manifest), ""
    if manifest.framing:
        yield "framing", f"about {many(manifest.framing, 'token')} more around what is sent", ""
    yield "stretches", f"{stretches}; {manifest.strategy}", ""
    for each in manifest.declared:
        shed = f"{many(each.shed, 'token')} dropped, {each.rewritten:,} written again"
        yield "epoch", f"{each.number}, at turn {each.turn}, {each.because}: {shed}", ""
    for edit in manifest.edits:
        yield "edited", edited_line(edit), "" if edit.applied else "yellow"
    for over in manifest.passed_over:
        yield "passed over", f"{over.count:,} items of {over.section}: {over.reason}", ""
    # What could act on a model or a reader, and what was done about it.
    parts = [(entry.id, entry.neutralised) for entry in manifest.items]
    parts += [(f"the {part.section}", part.neutralised) for part in manifest.fixed]
    for name, neutralised in parts:
        for found in neutralised:
            did = _DID.get(found.what, "made harmless")
            yield "found", f"in {name}: {found.what}, {many(found.count, 'time')}, {did}", "yellow"
    for note in document.notes:
        yield "noted", note, "yellow"
    for warning in manifest.warnings:
        yield "warning", warning, "yellow"


def counting_of(manifest: Manifest) -> str:
    """How the tokens of a prompt were counted."""
    if manifest.exact:
        return f"by {manifest.encoding}"
    return (
        f"a token for each byte, the most that it can be: the encoding is not known: "
        f"{manifest.encoding}"
    )


def edited_line(edit: EditNote) -> str:
    """What a person changed in a prompt, who, and why; or why it is not changed."""
    what = f"{edit.item or f'the {edit.section} itself'}, by {edit.by}"
    said = "" if edit.applied else f"; not in this prompt: {edit.why}"
    return f"{what}{edit.note and ': '}{edit.note}{said}"


def show_diff(screen: Screen, found: PromptDiff, *, texts: bool) -> None:
    """What changed between two prompts; line by line with *texts*."""
    if found.same:
        screen.line("the same prompt, to the byte")
        return
    sections = ", ".join(f"{name} {tokens:+,}" for name, tokens in found.sections.items())
    screen.line(f"{found.tokens:+,} tokens{sections and ': '}{sections}")
    screen.line(f"both begin with the same {found.shared:,} characters")
    screen.lines(found.epochs)
    if len(set(found.compilers)) > 1:
        screen.line("compiler version {} made the first, {} the second".format(*found.compilers))
    for own in found.own:
        screen.line()
        screen.line(f"other text    the {own.section} itself  {own.tokens:+,} tokens", "bold")
        _show_change(screen, (("why", own.why),), own.text if texts else ())
    for item in found.items:
        screen.line()
        screen.line(f"{item.change:<12}  {item.id}  {item.tokens:+,} tokens", "bold")
        facts = (("before", item.before), ("after", item.after), ("why", item.why))
        _show_change(screen, facts, item.text if texts else ())


def _show_change(
    screen: Screen, facts: tuple[tuple[str, str], ...], lines: tuple[str, ...]
) -> None:
    for name, text in facts:
        if text:
            screen.paragraph(text, lead=f"  {name:<6}  ")
    for line in lines:
        screen.line(f"    {line}", _STYLES.get(line[:1], ""))


def show_stats(screen: Screen, found: PromptStats) -> None:
    """What sections cost and which sources are used."""
    screen.line(
        f"{many(found.prompts, 'prompt')}, {many(found.distinct, 'text')}, "
        f"{many(found.tokens, 'token')}, "
        f"{found.eligible:,} of them cacheable, {many(found.epochs, 'epoch')}"
    )
    if found.priced:
        screen.line(f"{found.priced:,} of them have a known price: {dollars(found.cost)}")
    screen.lines(_section_line(each, priced=bool(found.priced)) for each in found.sections)
    screen.line()
    screen.rows(found.sources, SOURCES, known=True)
    for source in found.sources:
        if not source.used:
            times = f"in {source.considered:,} of these {many(found.prompts, 'prompt')}"
            screen.note(f"never used, considered {times}: {source.source} ({source.reason})")


def _section_line(each: SectionStats, *, priced: bool) -> str:
    cost = f"  {dollars(each.cost):>9}" if priced else ""
    return f"{each.section:<13} {each.tokens:>9,}  {each.share:>6.1%}{cost}  most {each.most:,}"
