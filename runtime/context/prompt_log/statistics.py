"""Costs of sections and use of sources, over many prompts."""

from collections.abc import Iterable

import msgspec

from cortex.runtime.projections import HomeLog

from .. import Manifest, ManifestEntry
from .costs import Costs
from .recorded import Compiled, readable_manifests


class SectionStats(msgspec.Struct):
    """One section over all prompts."""

    section: str
    prompts: int = 0  # that have it
    tokens: int = 0
    most: int = 0  # in one prompt
    share: float = 0.0  # of all tokens
    cost: float = 0.0  # US dollars, where prices are known and a model answered


class SourceStats(msgspec.Struct):
    """One source, or one item without a source, over all prompts."""

    source: str
    section: str
    considered: int = 0
    included: int = 0
    tokens: int = 0
    saved: int = 0  # by its form
    reason: str = ""  # why the newest prompt left it out; empty if none did

    @property
    def used(self) -> bool:
        """Whether any prompt has anything of it."""
        return self.included > 0


class PromptStats(msgspec.Struct):
    """Totals of all prompts."""

    prompts: int
    distinct: int  # texts: equal prompts are stored once
    tokens: int
    eligible: int  # tokens that a later prompt may have read from a cache
    epochs: int
    priced: int  # prompts whose cost is known
    cost: float  # US dollars, of those
    sections: list[SectionStats]
    sources: list[SourceStats]  # those that cost most first
    unused: list[str]  # sources that were considered and never used
    unread: list[str] = []  # prompts that are left out, and why


def stats_of(history: HomeLog, prompts: Iterable[Compiled]) -> PromptStats:
    """Add up *prompts*, except those whose manifest is missing or damaged."""
    tally, costs, unread = _Tally(), Costs(history), list[str]()
    for compiled, manifest in readable_manifests(history, prompts, unread):
        tally.add(compiled, manifest, costs.of(compiled))
    return tally.stats(unread)


class _Tally:
    """The sums so far."""

    def __init__(self) -> None:
        self._prompts = self._tokens = self._eligible = self._priced = 0
        self._texts: set[str] = set()
        self._epochs: dict[tuple[str, str, int], int] = {}  # by execution, step and attempt
        self._sections: dict[str, SectionStats] = {}
        self._sources: dict[tuple[str, str], SourceStats] = {}

    def add(self, compiled: Compiled, manifest: Manifest, paid: dict[str, float] | None) -> None:
        """Add one prompt, with the costs of its sections if known."""
        event = compiled.event
        self._prompts += 1
        self._tokens += manifest.tokens
        self._eligible += manifest.eligible
        self._priced += paid is not None
        self._texts.add(event.prompt)
        about = event.execution_id, event.step_id, event.attempt
        # Each prompt of a step counts the epochs of those before.
        self._epochs[about] = max(self._epochs.get(about, 0), manifest.epochs)
        for name, tokens in manifest.sections.items():
            if tokens:
                self._add_section(name, tokens, (paid or {}).get(name, 0.0))
        for entry in manifest.items:
            key = entry.section, _source(entry)
            _add(self._sources.setdefault(key, SourceStats(key[1], key[0])), entry)

    def _add_section(self, name: str, tokens: int, cost: float) -> None:
        each = self._sections.setdefault(name, SectionStats(name))
        each.prompts += 1
        each.tokens += tokens
        each.most = max(each.most, tokens)
        each.cost += cost

    def stats(self, unread: list[str]) -> PromptStats:
        """All of it."""
        sections = sorted(self._sections.values(), key=lambda each: -each.tokens)
        for each in sections:
            each.share = round(each.tokens / max(self._tokens, 1), 4)
        sources = sorted(self._sources.values(), key=lambda each: (-each.tokens, each.source))
        return PromptStats(
            prompts=self._prompts,
            distinct=len(self._texts),
            tokens=self._tokens,
            eligible=self._eligible,
            epochs=sum(self._epochs.values()),
            priced=self._priced,
            cost=sum(each.cost for each in sections),
            sections=sections,
            sources=sources,
            unused=[each.source for each in sources if not each.used],
            unread=unread,
        )


def _source(entry: ManifestEntry) -> str:
    # Each turn and each call has a source of its own: they are grouped by tool.
    if entry.id.startswith(("turn:", "turns:")):
        return f"turns: {entry.source or entry.kind}"
    return entry.source or entry.id


def _add(stats: SourceStats, entry: ManifestEntry) -> None:
    stats.considered += 1
    if entry.state == "out" and not stats.reason:
        stats.reason = entry.reason
    stats.included += entry.state != "out"
    stats.tokens += entry.tokens
    stats.saved += entry.saved
