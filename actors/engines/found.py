"""What a step's `find:` brought, as material for its prompt."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from cortex.bus.events import ContextCompile
from cortex.runtime.context import Item
from cortex.runtime.knowledge import KnowledgeUnreadableError
from cortex.runtime.log import BlobError, Blobs

LEAST_SCORE = 0.0001  # what was retrieved has one, or it would stand among the declared topics


class _Passage(msgspec.Struct):
    """Of a passage in the blob, what a prompt needs."""

    topic: str
    path: str
    digest: str
    first_line: int
    text: str
    score: float
    heading: str = ""


class _Found(msgspec.Struct):
    passages: tuple[_Passage, ...]
    notes: tuple[str, ...] = ()


def found_items(
    asked: ContextCompile, blobs: Blobs, count: Callable[[str], int]
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The passages as items of the knowledge section, best first, and notes on them.

    One whose topic the step declares stands in its prompt already; those from the first one on that
    is more than `found_tokens` allows are left out.

    Raises:
        KnowledgeUnreadableError: The blob with the passages cannot be read.
    """
    if not asked.found:
        return (), ()
    found = _read(asked, blobs)
    declared = {str(topic["path"]) for topic in asked.knowledge}
    fresh = [passage for passage in found.passages if passage.path not in declared]
    kept, taken = 0, 0
    for passage in fresh:
        taken += count(passage.text)
        if asked.found_tokens is not None and taken > asked.found_tokens:
            break
        kept += 1
    items = tuple(map(_item, fresh[:kept]))
    return _distinct(items), (*found.notes, *_notes(asked, found, fresh, kept))


def _notes(asked: ContextCompile, found: _Found, fresh: list[_Passage], kept: int) -> Iterator[str]:
    if not found.passages:
        yield "find: nothing was found"
    if len(fresh) < len(found.passages):
        yield f"find: {len(found.passages) - len(fresh)} passages stand in declared topics already"
    if kept < len(fresh):
        yield (
            f"find: {len(fresh) - kept} of {len(fresh)} passages left out: "
            f"`tokens` allows {asked.found_tokens:,}"
        )


def _item(passage: _Passage) -> Item:
    name = passage.topic or Path(passage.path).name
    return Item(
        id=f"{name}:{passage.first_line}",
        section="knowledge",
        kind="passage",
        text=passage.text,
        source=passage.path,
        digest=passage.digest,
        first_line=passage.first_line,
        score=max(passage.score, LEAST_SCORE),
    )


def _distinct(items: tuple[Item, ...]) -> tuple[Item, ...]:
    """*items* with ids of their own: a line that is very long holds several passages."""
    seen: dict[str, int] = {}
    named: list[Item] = []
    for item in items:
        times = seen[item.id] = seen.get(item.id, 0) + 1
        unique = item.id if times == 1 else f"{item.id}#{times}"
        named.append(msgspec.structs.replace(item, id=unique))
    return tuple(named)


def _read(asked: ContextCompile, blobs: Blobs) -> _Found:
    try:
        return msgspec.json.decode(blobs.get(asked.found), type=_Found)
    except (BlobError, msgspec.DecodeError) as error:
        problem = f"what `find:` brought cannot be read: {error}"
        raise KnowledgeUnreadableError(asked.found, problem) from error
