"""The passages of a step's `find:`, as material for its prompt."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from cortex.bus.events import ContextCompile
from cortex.runtime.context import SAID_OF_FOUND, Item
from cortex.runtime.knowledge import KnowledgeUnreadableError
from cortex.runtime.log import BlobError, Blobs
from cortex.runtime.retrieval import TOKENS, by_file, heading_line, packed

LEAST_SCORE = 0.0001  # retrieved items have a score; others are declared topics
NOTHING = Item(
    id="find:nothing",  # not the name of any topic
    section="knowledge",
    kind="passage",
    text="The knowledge of this home was searched: nothing in it is certain to answer this step.",
    score=LEAST_SCORE,
    trust="trusted",
)


class _Passage(msgspec.Struct):
    """The fields of a stored passage that a prompt needs."""

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
    caution: str = ""


def found_items(
    asked: ContextCompile, blobs: Blobs, count: Callable[[str], int]
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """The passages as items of the knowledge section, a file each, best first; notes on them.

    Passages of declared topics are in the prompt already; those for which `found_tokens`
    has no room are left out. If they are uncertain, the first item says so; if nothing was
    found, the only one does.

    Raises:
        KnowledgeUnreadableError: The blob with the passages cannot be read.
    """
    if not asked.found:
        return (), ()
    found = _read(asked, blobs)
    declared = {str(topic["path"]) for topic in asked.knowledge}
    fresh = [passage for passage in found.passages if passage.path not in declared]
    tokens = TOKENS if asked.found_tokens is None else asked.found_tokens
    kept = packed(fresh, tokens, count)
    items = [item for passages in by_file(kept) for item in _items(passages)]
    notes = (*found.notes, *_notes(found, fresh, len(kept), tokens))
    if not found.passages:
        return (NOTHING,), notes
    said = (_uncertain(found.caution),) if items and found.caution else ()
    return (*said, *_distinct(items)), notes


def _notes(found: _Found, fresh: list[_Passage], kept: int, tokens: int) -> Iterator[str]:
    if not found.passages:
        yield "find: nothing was found"
    if found.caution:
        yield f"find: {found.caution}"
    if len(fresh) < len(found.passages):
        yield f"find: {len(found.passages) - len(fresh)} passages stand in declared topics already"
    if kept < len(fresh):
        yield (
            f"find: {len(fresh) - kept} of {len(fresh)} passages left out: "
            f"`tokens` allows {tokens:,}"
        )


def _uncertain(caution: str) -> Item:
    """The line above passages that may not answer."""
    return Item(
        id="find:uncertain",
        section="knowledge",
        kind=SAID_OF_FOUND,
        text=f"{caution[0].upper()}{caution[1:]}.",
        priority=1,  # before the passages that it is about
        score=LEAST_SCORE,
        trust="trusted",
    )


def _items(passages: Sequence[_Passage]) -> Iterator[Item]:
    """*passages* of one file as one item; or several, if one line contains several."""
    left: list[_Passage] = []
    together: list[_Passage] = []
    lines: list[str] = []
    numbers: list[int] = []
    last = ""
    for passage in passages:
        before = numbers[-1] if numbers else 0
        if passage.first_line <= before:
            left.append(passage)
            continue
        heading = heading_line(passage).rstrip("\n")
        # It gets the number of the line above, which is a title, empty, or of another passage.
        if heading and heading != last and passage.first_line - 1 > before:
            lines.append(heading)
            numbers.append(passage.first_line - 1)
        text = passage.text.split("\n")
        lines += text
        numbers += range(passage.first_line, passage.first_line + len(text))
        together.append(passage)
        last = heading
    yield _item(together, lines, numbers)
    if left:
        yield from _items(left)


def _item(passages: Sequence[_Passage], lines: list[str], numbers: list[int]) -> Item:
    first = passages[0]
    return Item(
        id=f"{first.topic or Path(first.path).name}:{first.first_line}",
        section="knowledge",
        kind="passage",
        text="\n".join(lines),
        source=first.path,
        digest=first.digest,
        first_line=numbers[0],
        line_numbers=() if _follow(numbers) else tuple(numbers),
        score=max(LEAST_SCORE, *(passage.score for passage in passages)),
    )


def _follow(numbers: list[int]) -> bool:
    return numbers[-1] - numbers[0] == len(numbers) - 1


def _distinct(items: Sequence[Item]) -> tuple[Item, ...]:
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
