"""Why an item was in a prompt, or left out, wherever it was considered."""

from collections.abc import Iterable, Iterator

import msgspec

from cortex.runtime.context import ManifestEntry

from ..reading import History
from .recorded import Compiled, PromptRow, readable_manifests, row_of


class WhyRow(msgspec.Struct):
    """What became of one item in one prompt."""

    prompt: PromptRow
    item: ManifestEntry | None  # None: its section was too large to look at it
    because: str


def why_of(
    history: History, prompts: Iterable[Compiled], item: str, unread: list[str] | None = None
) -> Iterator[WhyRow]:
    """What became of *item*, an id or a source, in each of *prompts* that considered it.

    A prompt whose manifest is not kept any more, or damaged, is named in *unread*.

    Raises:
        BlobError: There is such a prompt, and *unread* is None.
    """
    for compiled, manifest in readable_manifests(history, prompts, unread):
        row = row_of(compiled)
        for entry in manifest.items:
            if item in (entry.id, entry.source):
                yield WhyRow(row, entry, _because(entry))


def _because(entry: ManifestEntry) -> str:
    said = [f"{entry.state}: {entry.reason}"]
    if entry.must_include and entry.reason != "must be in":
        said.append("the step says that it must be in")
    if entry.state != "out":
        said.append(f"{entry.tokens:,} tokens of {entry.section}")
    elif entry.whole_tokens:
        said.append(f"it would take {entry.whole_tokens:,} tokens of {entry.section}")
    if entry.score:
        said.append(f"score {entry.score:.3f}, priority {entry.priority}")
    if entry.form:
        said.append(f"in {entry.form} form, {entry.saved:,} tokens fewer")
    if entry.lines:
        said.append("lines " + ", ".join(f"{first}-{last}" for first, last in entry.lines[:6]))
    said.extend(f"{found.what} found {found.count} times" for found in entry.neutralised)
    if entry.stale:
        said.append("its source is not as it was when it was locked")
    return "; ".join(said)
