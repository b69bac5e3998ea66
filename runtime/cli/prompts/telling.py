"""How a manifest, a difference and statistics of prompts read on a screen."""

from collections.abc import Iterator
from typing import Final

from cortex.runtime.context import EditNote, Manifest, ManifestEntry
from cortex.runtime.context.prompt_log import (
    SHOWN,
    PromptDiff,
    PromptDocument,
    PromptStats,
    SectionStats,
)
from cortex.runtime.kernel import many
from cortex.runtime.models import dollars

from ..screen import Screen

_ITEM: Final = ("item", "section", "state", "tokens", "score", "why")
_SOURCE: Final = ("source", "section", "considered", "included", "tokens", "saved")
_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}
_DIFF: Final = "    "  # before each line of a text that changed


def digest_shown(digest: str) -> str:
    """The beginning of a digest, enough to name it."""
    return digest.rpartition(":")[2][:SHOWN]


def show_manifest(screen: Screen, document: PromptDocument) -> None:
    """A manifest: its items, then what they come to."""
    manifest = document.manifest
    screen.table(_ITEM, map(_item_cells, manifest.items))
    screen.line()
    for name, tokens in manifest.sections.items():
        if tokens:
            screen.line(f"{name:<13} {tokens:>7,} of {manifest.budgets.get(name, 0):,}")
    screen.line(
        f"{'prompt':<13} {manifest.tokens:>7,} of {manifest.effective_window:,}, "
        f"{manifest.headroom:,} of them kept for the answer"
    )
    screen.line(f"{'counted':<13} {counting_of(manifest)}")
    stretches = ", ".join(f"{each.stretch} {each.tokens:,}" for each in manifest.segments)
    screen.line(f"{'stretches':<13} {stretches}; {manifest.strategy}")
    for each in manifest.declared:
        shed = f"{many(each.shed, 'token')} dropped, {each.rewritten:,} written again"
        screen.line(f"{'epoch':<13} {each.number}, at turn {each.turn}, {each.because}: {shed}")
    for edit in manifest.edits:
        screen.line(f"{'edited':<13} {edited_line(edit)}", "" if edit.applied else "yellow")
    for over in manifest.passed_over:
        screen.line(f"{'passed over':<13} {over.count:,} items of {over.section}: {over.reason}")
    for found in _found(manifest):
        screen.line(f"{'found':<13} {found}", "yellow")
    for note in document.notes:
        screen.line(f"{'noted':<13} {note}", "yellow")
    for warning in manifest.warnings:
        screen.line(f"{'warning':<13} {warning}", "yellow")


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


def _item_cells(entry: ManifestEntry) -> tuple[str, ...]:
    score = f"{entry.score:.3f}"
    return entry.id, entry.section, entry.state, f"{entry.tokens:,}", score, entry.reason


def _found(manifest: Manifest) -> Iterator[str]:
    """What could act on a model or a reader, and what was done about it."""
    parts = [(entry.id, entry.neutralised) for entry in manifest.items]
    parts += [(f"the {part.section}", part.neutralised) for part in manifest.fixed]
    for name, neutralised in parts:
        for each in neutralised:
            did = {"order": "marked", "secret": "masked"}.get(each.what, "made harmless")
            yield f"in {name}: {each.what}, {many(each.count, 'time')}, {did}"


def show_diff(screen: Screen, found: PromptDiff, *, texts: bool) -> None:
    """What changed between two prompts; line by line with *texts*."""
    if found.same:
        screen.line("the same prompt, to the byte")
        return
    sections = ", ".join(f"{name} {tokens:+,}" for name, tokens in found.sections.items())
    screen.line(f"{found.tokens:+,} tokens{sections and ': '}{sections}")
    screen.line(f"both begin with the same {found.shared:,} characters")
    for epoch in found.epochs:
        screen.line(epoch)
    for own in found.own:
        screen.line()
        screen.line(f"other text    the {own.section} itself  {own.tokens:+,} tokens", "bold")
        if own.why:
            screen.paragraph(own.why, lead="  why     ")
        _show_text(screen, own.text, texts=texts)
    for item in found.items:
        screen.line()
        screen.line(f"{item.change:<12}  {item.id}  {item.tokens:+,} tokens", "bold")
        screen.paragraph(item.before, lead="  before  ")
        screen.paragraph(item.after, lead="  after   ")
        if item.why:
            screen.paragraph(item.why, lead="  why     ")
        _show_text(screen, item.text, texts=texts)


def _show_text(screen: Screen, lines: tuple[str, ...], *, texts: bool) -> None:
    for line in lines if texts else ():
        screen.line(f"{_DIFF}{line}", _STYLES.get(line[:1], ""))


def show_stats(screen: Screen, found: PromptStats) -> None:
    """What sections cost and which sources are used."""
    screen.line(
        f"{many(found.prompts, 'prompt')}, {many(found.distinct, 'text')}, "
        f"{many(found.tokens, 'token')}, "
        f"{found.eligible:,} of them cacheable, {many(found.epochs, 'epoch')}"
    )
    if found.priced:
        screen.line(f"{found.priced:,} of them have a known price: {dollars(found.cost)}")
    for each in found.sections:
        screen.line(_section_line(each, priced=bool(found.priced)))
    screen.line()
    screen.table(
        _SOURCE,
        (
            (e.source, e.section, str(e.considered), str(e.included), f"{e.tokens:,}", str(e.saved))
            for e in found.sources
        ),
    )
    for source in found.sources:
        if not source.used:
            times = f"in {source.considered:,} of these {many(found.prompts, 'prompt')}"
            screen.note(f"never used, considered {times}: {source.source} ({source.reason})")


def _section_line(each: SectionStats, *, priced: bool) -> str:
    cost = f"  {dollars(each.cost):>9}" if priced else ""
    return f"{each.section:<13} {each.tokens:>9,}  {each.share:>6.1%}{cost}  most {each.most:,}"
