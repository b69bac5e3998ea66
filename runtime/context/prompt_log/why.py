"""Explains why an item, or one line of it, was in a prompt or was left out."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from cortex.bus import CortexError
from cortex.runtime.kernel import many
from cortex.runtime.projections import HomeLog

from .. import Inputs, Manifest, ManifestEntry, ScoredChunk, sanitise
from .rebuilt import inputs_of, traced
from .recorded import Compiled, PromptRow, readable_manifests, row_of

_LINE: Final = re.compile(r"(?P<name>.+):(?P<line>[1-9]\d{0,9})")
_SHOWN: Final = 160  # characters of a line


class LineFate(msgspec.Struct):
    """The decision about one line of an item's source, and about its chunk."""

    line: int
    state: str  # "in", "out", "not offered", or "unknown" where it was not kept
    text: str = ""
    first_line: int = 0  # of its chunk, as in the source
    last_line: int = 0
    heading: str = ""  # of its chunk
    score: float = 0.0  # of its chunk
    place: int = 0  # of its chunk among those of the item, the best first
    chunks: int = 0  # of the item


class WhyRow(msgspec.Struct):
    """The decision about one item in one prompt."""

    prompt: PromptRow
    item: ManifestEntry
    because: str
    line: LineFate | None = None


class _Asked(NamedTuple):
    name: str
    line: int  # 0: the whole item

    @classmethod
    def of(cls, text: str) -> "_Asked":
        match = _LINE.fullmatch(text)
        return cls(match["name"], int(match["line"])) if match else cls(text, 0)

    def fits(self, entry: ManifestEntry) -> bool:
        if self.name in (entry.id, entry.source) or entry.source.endswith(f"/{self.name}"):
            return True
        # A passage from `find:` is named by its topic and its first line.
        return entry.kind == "passage" and entry.id.startswith(f"{self.name}:")


def why_of(
    history: HomeLog, prompts: Iterable[Compiled], item: str, unread: list[str] | None = None
) -> Iterator[WhyRow]:
    """The decision about *item* in each of *prompts* that considered it.

    *item* is an id or a source (the end of a path will do), or one of its lines as `ITEM:LINE`. A
    prompt whose manifest is missing or damaged is named in *unread*.

    Raises:
        BlobError: There is such a prompt, and *unread* is None.
    """
    asked = _Asked.of(item)
    for compiled, manifest in readable_manifests(history, prompts, unread):
        row = row_of(compiled)
        whole = [entry for entry in manifest.items if _Asked(item, 0).fits(entry)]
        for entry in whole:
            yield WhyRow(row, entry, _because(entry))
        if asked.line and not whole:
            told = [
                (entry, *_of_line(history, compiled, manifest, entry, asked.line))
                for entry in filter(asked.fits, manifest.items)
            ]
            held = [each for each in told if each[1].state != "not offered"]
            for entry, fate, because in held or told[:1]:  # of several passages, the one with it
                yield WhyRow(row, entry, because, fate)


def _because(entry: ManifestEntry) -> str:
    said = [f"{entry.state}: {entry.reason}"]
    if entry.must_include and entry.reason != "must be in":
        said.append("the step says that it must be in")
    if entry.state != "out":
        said.append(f"{many(entry.tokens, 'token')} of {entry.section}")
    elif entry.whole_tokens:
        said.append(f"it would take {many(entry.whole_tokens, 'token')} of {entry.section}")
    if entry.score:
        said.append(f"score {entry.score:.3f}, priority {entry.priority}")
    if entry.form:
        said.append(f"in {entry.form} form, {many(entry.saved, 'token')} fewer")
    if entry.lines:
        said.append("lines " + ", ".join(f"{first}-{last}" for first, last in entry.lines[:6]))
    said.extend(f"{found.what} found {many(found.count, 'time')}" for found in entry.neutralised)
    if entry.stale:
        said.append("its source has changed since it was locked")
    return "; ".join(said)


def _of_line(
    history: HomeLog, compiled: Compiled, manifest: Manifest, entry: ManifestEntry, line: int
) -> tuple[LineFate, str]:
    """The fate of *line* of *entry*, and that in words."""
    try:
        inputs = inputs_of(history, compiled)
    except CortexError as error:
        state = _state(entry, line)
        return LineFate(line, state), f"{state}; which chunk held it is not known: {error}"
    chunks = [chunk for chunk in traced(inputs).chunks if chunk.item == entry.id]
    held = next((chunk for chunk in chunks if line in chunk.lines), None)
    if held is None:
        return LineFate(line, "not offered"), _not_offered(chunks, entry, line)
    ranking = sorted(chunks, key=lambda chunk: -chunk.score)  # of equal ones the first is taken
    fate = LineFate(
        line,
        _state(entry, line),
        _text(inputs, entry.id, line),
        held.lines[0],
        held.lines[-1],
        held.heading,
        held.score,
        1 + ranking.index(held),
        len(chunks),
    )
    return fate, "; ".join(_reasons(fate, chunks, manifest, entry))


def _state(entry: ManifestEntry, line: int) -> str:
    if entry.state == "out" or (entry.state == "in" and not entry.form):
        return entry.state
    if not entry.lines:
        return "unknown"  # another form has lines of its own, and a turn is cut in the middle
    return "in" if any(first <= line <= last for first, last in entry.lines) else "out"


def _text(inputs: Inputs, item_id: str, line: int) -> str:
    for item in (*inputs.request.items, *inputs.view.items):
        if item.id == item_id:
            numbers = item.line_numbers
            at = numbers.index(line) if numbers else line - item.first_line
            harmless, _ = sanitise(item.text)  # a secret stays masked here, too
            return harmless.split("\n")[at].strip()[:_SHOWN]
    return ""


def _not_offered(chunks: list[ScoredChunk], entry: ManifestEntry, line: int) -> str:
    if not chunks:
        return f"{entry.state}: {entry.reason}; it was not cut into chunks"
    count = sum(len(chunk.lines) for chunk in chunks)
    first, last = chunks[0].lines[0], chunks[-1].lines[-1]
    about = f"{many(count, 'line')} of {first:,}-{last:,}"
    return f"not offered: the prompt was given {about} of it, and line {line:,} is not among them"


def _reasons(
    fate: LineFate, chunks: list[ScoredChunk], manifest: Manifest, entry: ManifestEntry
) -> Iterator[str]:
    yield f"{fate.state}: {entry.reason}"
    under = f" under {fate.heading!r}" if fate.heading else ""
    yield f"it is in lines {fate.first_line}-{fate.last_line}{under}"
    if fate.chunks > 1:
        yield f"a chunk with score {fate.score:.3f}, number {fate.place} of {fate.chunks}"
    else:
        yield f"the only chunk, with score {fate.score:.3f}"
    if fate.state == "out" and entry.state == "partial":
        worst = min((c.score for c in chunks if _state(entry, c.lines[0]) == "in"), default=0.0)
        taken = manifest.sections.get(entry.section, 0)
        budget = manifest.budgets.get(entry.section, 0)
        yield f"the lowest score that is in is {worst:.3f}"
        yield f"{entry.section} has {taken:,} of {many(budget, 'token')}"
    if entry.form:
        yield f"the item is in {entry.form} form, which has other lines"
