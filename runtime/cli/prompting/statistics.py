"""What sections cost and which sources are used, over many prompts."""

from collections.abc import Iterable

import msgspec

from cortex.runtime.context import Manifest, ManifestEntry

from ..reading import History
from .recorded import Compiled, readable_manifests


class SectionStats(msgspec.Struct):
    """One section over all prompts."""

    section: str
    prompts: int = 0  # that have it
    tokens: int = 0
    most: int = 0  # in one prompt
    share: float = 0.0  # of all tokens


class SourceStats(msgspec.Struct):
    """One source, or one item without a source, over all prompts."""

    source: str
    section: str
    considered: int = 0
    included: int = 0
    tokens: int = 0
    saved: int = 0  # by its form

    @property
    def used(self) -> bool:
        """Whether any prompt has anything of it."""
        return self.included > 0


class PromptStats(msgspec.Struct):
    """What the prompts came to."""

    prompts: int
    distinct: int  # texts: equal prompts are stored once
    tokens: int
    eligible: int  # tokens that a later prompt may have read from a cache
    epochs: int
    sections: list[SectionStats]
    sources: list[SourceStats]  # those that cost most first
    unused: list[str]  # sources that were considered and never used
    unread: list[str] = []  # prompts that are left out, and why


def stats_of(history: History, prompts: Iterable[Compiled]) -> PromptStats:
    """Add up *prompts*, but for those whose manifest is not kept any more, or damaged."""
    found = PromptStats(0, 0, 0, 0, 0, [], [], [])
    sections: dict[str, SectionStats] = {}
    sources: dict[tuple[str, str], SourceStats] = {}
    texts: set[str] = set()
    for compiled, manifest in readable_manifests(history, prompts, found.unread):
        found.prompts += 1
        found.tokens += manifest.tokens
        found.eligible += manifest.eligible
        found.epochs += manifest.epochs
        texts.add(compiled.event.prompt)
        _add_sections(sections, manifest)
        for entry in manifest.items:
            name = _source(entry)
            key = entry.section, name
            _add(sources.setdefault(key, SourceStats(name, entry.section)), entry)
    for each in sections.values():
        each.share = round(each.tokens / max(found.tokens, 1), 4)
    found.distinct = len(texts)
    found.sections = sorted(sections.values(), key=lambda each: -each.tokens)
    found.sources = sorted(sources.values(), key=lambda each: (-each.tokens, each.source))
    found.unused = [each.source for each in found.sources if not each.used]
    return found


def _source(entry: ManifestEntry) -> str:
    # Each turn and each call has a source of its own: they are told by their tool.
    if entry.kind in ("answer", "result", "failed", "denied", "note"):
        return f"turns: {entry.source or entry.kind}"
    return entry.source or entry.id


def _add_sections(sections: dict[str, SectionStats], manifest: Manifest) -> None:
    for name, tokens in manifest.sections.items():
        if tokens:
            each = sections.setdefault(name, SectionStats(name))
            each.prompts += 1
            each.tokens += tokens
            each.most = max(each.most, tokens)


def _add(stats: SourceStats, entry: ManifestEntry) -> None:
    stats.considered += 1
    stats.included += entry.state != "out"
    stats.tokens += entry.tokens
    stats.saved += entry.saved
