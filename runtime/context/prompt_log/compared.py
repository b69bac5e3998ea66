"""What changed between two prompts, item by item: how, why, and line by line."""

from collections.abc import Iterator
from difflib import unified_diff
from typing import Final, NamedTuple

import msgspec

from cortex.runtime.kernel import many

from .. import Manifest, ManifestEntry, ShownTexts, shown_texts
from .recorded import PromptDocument, PromptRow

_ABSENT: Final = "not considered"
_EPOCH: Final = "epoch "  # as the reasons begin of what an epoch shortened
_TURN: Final = "turn:"  # as the ids of turns begin
_AROUND: Final = 2  # lines of the same text that are shown around a change


class ItemChange(msgspec.Struct):
    """One item that is not in both prompts in the same way."""

    id: str
    section: str
    # "added", "removed", "shortened" by an epoch, "other text", "other lines", "other form" or
    # "other reason"
    change: str
    before: str  # state and reason
    after: str
    why: str  # what else changed of it; empty where the reasons say it all
    tokens: int  # more than before
    text: tuple[str, ...]  # unified diff of what stands in the prompts


class OwnChange(msgspec.Struct):
    """A text of a section that is no item: persona, instructions, the step."""

    section: str
    tokens: int  # more than before
    text: tuple[str, ...]  # unified diff
    why: str = ""  # who edited it, if that is what changed


class PromptDiff(msgspec.Struct):
    """How the second prompt differs from the first."""

    before: PromptRow
    after: PromptRow
    shared: int  # characters with which both begin
    tokens: int  # more than before
    sections: dict[str, int]  # of that, by section; the same ones are left out
    own: list[OwnChange]
    items: list[ItemChange]
    epochs: list[str]  # that were declared between them
    same: bool
    compilers: tuple[int, int]  # versions of the compiler that made them


class _Side(NamedTuple):
    """One of the two prompts."""

    manifest: Manifest
    entries: dict[str, ManifestEntry]
    shown: ShownTexts

    @classmethod
    def of(cls, document: PromptDocument) -> "_Side":
        entries = {entry.id: entry for entry in document.manifest.items}
        return cls(document.manifest, entries, shown_texts(document.blocks, entries))

    def fixed(self, section: str) -> int:
        return sum(part.tokens for part in self.manifest.fixed if part.section == section)


def diff_of(before: PromptDocument, after: PromptDocument) -> PromptDiff:
    """Compare two prompts."""
    old, new = _Side.of(before), _Side.of(after)
    names = dict.fromkeys((*old.manifest.sections, *new.manifest.sections))
    changed = {n: new.manifest.sections.get(n, 0) - old.manifest.sections.get(n, 0) for n in names}
    return PromptDiff(
        before=before.about,
        after=after.about,
        shared=_shared(before.text, after.text),
        tokens=new.manifest.tokens - old.manifest.tokens,
        sections={name: tokens for name, tokens in changed.items() if tokens},
        own=list(_own_changes(old, new)),
        items=list(_changes(old, new)),
        epochs=[
            f"epoch {each.number} at turn {each.turn}, {each.because}: "
            f"{many(each.shed, 'token')} dropped, {each.rewritten:,} written again"
            for each in new.manifest.declared
            if each not in old.manifest.declared
        ],
        same=before.text == after.text,
        compilers=(old.manifest.compiler, new.manifest.compiler),
    )


def _shared(before: str, after: str) -> int:
    """Characters with which both begin."""
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _own_changes(old: _Side, new: _Side) -> Iterator[OwnChange]:
    for section in dict.fromkeys((*old.shown.own, *new.shown.own)):
        text = _unified(old.shown.own.get(section, ""), new.shown.own.get(section, ""))
        if text:
            tokens = new.fixed(section) - old.fixed(section)
            yield OwnChange(section, tokens, text, "; ".join(_edits(old, new, section, "")))


def _edits(old: _Side, new: _Side, section: str, item: str) -> Iterator[str]:
    """The edits by people that one of the two prompts has, and the other has not."""
    for verb, one, other in (("edited", new, old), ("no longer edited", old, new)):
        there = [each for each in other.manifest.edits if each.applied]
        for each in one.manifest.edits:
            if each.applied and (each.section, each.item) == (section, item) and each not in there:
                yield f"{verb} by {each.by}{each.note and ': '}{each.note}"


def _changes(old: _Side, new: _Side) -> Iterator[ItemChange]:
    for name in sorted(old.entries.keys() | new.entries.keys()):
        before, after = old.entries.get(name), new.entries.get(name)
        text = _unified(old.shown.items.get(name, ""), new.shown.items.get(name, ""))
        change = _change(before, after) or ("other text" if text else "")
        some = after or before
        if change and some:
            tokens = (after.tokens if after else 0) - (before.tokens if before else 0)
            said, says = _said(before), _said(after)
            edits = _edits(old, new, some.section, name)
            why = "; ".join((*edits, *_why(before, after, old, new)))
            yield ItemChange(name, some.section, change, said, says, why, tokens, text)


def _unified(before: str, after: str) -> tuple[str, ...]:
    if before == after:
        return ()
    was, now = (text.split("\n") if text else [] for text in (before, after))
    made = unified_diff(was, now, n=_AROUND, lineterm="")
    return tuple(made)[2:]  # without the two lines that name files


def _change(before: ManifestEntry | None, after: ManifestEntry | None) -> str:
    was_in = before is not None and before.state != "out"
    now_in = after is not None and after.state != "out"
    if was_in != now_in:
        return "added" if now_in else "removed"
    if before is None or after is None:
        return ""  # considered once, and in neither
    for what, differs in (
        ("shortened", before.reason != after.reason and after.reason.startswith(_EPOCH)),
        ("other text", before.digest != after.digest and now_in),
        ("other lines", before.lines != after.lines or before.state != after.state),
        ("other form", before.form != after.form),
        ("other reason", before.reason != after.reason),
    ):
        if differs:
            return what
    return ""


def _why(
    before: ManifestEntry | None, after: ManifestEntry | None, old: _Side, new: _Side
) -> Iterator[str]:
    """What changed besides state and reason."""
    if before is None or after is None:
        return
    if before.digest != after.digest and not after.id.startswith(_TURN):
        yield "its source changed"  # of a turn the digest is that of what is shown
    if before.priority != after.priority:
        yield f"its priority went from {before.priority} to {after.priority}"
    if (before.state, before.lines) == (after.state, after.lines):
        return
    if before.score != after.score:
        yield f"its score went from {before.score:.3f} to {after.score:.3f}"
    section = after.section
    budget, now = (each.manifest.budgets.get(section, 0) for each in (old, new))
    if budget != now:
        yield f"budgets.{section} went from {budget:,} to {now:,}"
    others = _others(new, after) - _others(old, before)
    if others:
        yield f"other items of {section} take {others:+,} tokens"


def _others(side: _Side, entry: ManifestEntry) -> int:
    return side.manifest.sections.get(entry.section, 0) - entry.tokens


def _said(entry: ManifestEntry | None) -> str:
    return f"{entry.state}: {entry.reason}" if entry else _ABSENT
