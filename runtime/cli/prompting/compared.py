"""What changed between two prompts, item by item, and why."""

from collections.abc import Iterator
from typing import Final

import msgspec

from cortex.runtime.context import Manifest, ManifestEntry

from .recorded import PromptDocument, PromptRow

_ABSENT: Final = "not considered"


class ItemChange(msgspec.Struct):
    """One item that is not in both prompts in the same way."""

    id: str
    section: str
    change: str  # "added", "removed", "other text", "other lines", "other form", "other reason"
    before: str  # state and reason
    after: str
    tokens: int  # more than before


class PromptDiff(msgspec.Struct):
    """What the second prompt has otherwise than the first."""

    before: PromptRow
    after: PromptRow
    shared: int  # characters with which both begin
    tokens: int  # more than before
    sections: dict[str, int]  # of that, by section; the same ones are left out
    items: list[ItemChange]
    epochs: list[str]  # that were declared between them
    same: bool


def diff_of(before: PromptDocument, after: PromptDocument) -> PromptDiff:
    """Compare two prompts."""
    old, new = before.manifest, after.manifest
    names = dict.fromkeys((*old.sections, *new.sections))
    changed = {n: new.sections.get(n, 0) - old.sections.get(n, 0) for n in names}
    return PromptDiff(
        before=before.about,
        after=after.about,
        shared=_shared(before.text, after.text),
        tokens=new.tokens - old.tokens,
        sections={name: tokens for name, tokens in changed.items() if tokens},
        items=list(_changes(old, new)),
        epochs=[
            f"epoch {each.number} at turn {each.turn}, for {each.why}: "
            f"{each.shed:,} tokens shed, {each.rewritten:,} written anew"
            for each in new.declared
            if each not in old.declared
        ],
        same=before.text == after.text,
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


def _changes(old: Manifest, new: Manifest) -> Iterator[ItemChange]:
    was = {entry.id: entry for entry in old.items}
    now = {entry.id: entry for entry in new.items}
    for name in sorted(was.keys() | now.keys()):
        before, after = was.get(name), now.get(name)
        change = _change(before, after)
        some = after or before
        if change and some:
            tokens = (after.tokens if after else 0) - (before.tokens if before else 0)
            yield ItemChange(name, some.section, change, _said(before), _said(after), tokens)


def _change(before: ManifestEntry | None, after: ManifestEntry | None) -> str:
    was_in = before is not None and before.state != "out"
    now_in = after is not None and after.state != "out"
    if was_in != now_in:
        return "added" if now_in else "removed"
    if before is None or after is None:
        return ""  # considered once, and in neither
    for what, differs in (
        ("other text", before.digest != after.digest and now_in),
        ("other lines", before.lines != after.lines or before.state != after.state),
        ("other form", before.form != after.form),
        ("other reason", before.reason != after.reason),
    ):
        if differs:
            return what
    return ""


def _said(entry: ManifestEntry | None) -> str:
    return f"{entry.state}: {entry.reason}" if entry else _ABSENT
