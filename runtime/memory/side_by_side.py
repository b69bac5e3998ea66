"""Memories of one source, as the index has them: side by side, in the order in which they came.

A sentence of a talk or of minutes says little without the one before it. So memories that were
taken from one source, in one scope and about one subject, are one record of the index, in blocks:
`runtime/retrieval` counts the words and the meaning of neighbours, too. A memory without a source
is a record of its own. Each has its place in a block for good, so that an update costs the same
however many memories a source has.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from cortex.runtime.retrieval import Passage, RecordPart, RecordText

from .chains import NodeState
from .nodes import Node
from .view import MemoryView

BLOCK: Final = 32  # memories; the first and the last have one neighbour less
PERSON: Final = "@person"  # the speaker of what people said; no word of a question is like it


class Block(NamedTuple):
    """Memories of one record."""

    key: str  # id of the first one
    lines: dict[str, int]  # that each has in the record, from 1; in the order of the log


class Layout(NamedTuple):
    """Blocks that are to be written, and keys of records that are blocks no more."""

    blocks: tuple[Block, ...]
    stale: tuple[str, ...]


def layout(view: MemoryView, touched: Iterable[Node]) -> Layout:
    """What becomes of the index where *touched* came, left or came back.

    A node has its place in a block for good: what leaves moves nothing, and only the blocks of what
    was touched are read.
    """
    blocks: list[Block] = []
    stale: list[str] = []
    alone, sharing = _apart(touched)
    places = view.places([node.id for node in sharing])
    held: dict[tuple[str, str, str, int], list[Node]] = {}
    for node in sharing:
        number = places[node.id] // BLOCK
        held.setdefault((node.scope, node.subject, node.source, number), []).append(node)
    for (*_, number), nodes in held.items():
        in_block = view.beside(nodes[0], number * BLOCK, BLOCK)
        ids, came = list(in_block), {node.id for node in nodes}
        alone += sorted(came.difference(ids))  # they left
        if ids:
            lines = {each: place % BLOCK + 1 for each, place in in_block.items()}
            blocks.append(Block(ids[0], lines))
        if set(ids[-len(came) :]) != came:  # not only new ones at the end
            stale += ids[1:]
    return Layout((*(Block(each, {each: 1}) for each in alone), *blocks), tuple(stale))


def _apart(touched: Iterable[Node]) -> tuple[list[str], list[Node]]:
    """Ids of the nodes that are records of their own, and the nodes that share one."""
    alone: list[str] = []
    sharing: list[Node] = []
    for node in touched:
        if _is_alone(node):
            alone.append(node.id)
        else:
            sharing.append(node)
    return alone, sharing


def record_of(
    block: Block, nodes: Mapping[str, Node], states: Mapping[str, NodeState]
) -> RecordText | None:
    """What the index holds of a block; None if nothing of it is in memory."""
    held = [nodes[each] for each in block.lines if each in nodes and not states[each].gone]
    if not held:
        return None
    parts = [
        RecordPart(block.lines[node.id], _text(node), PERSON if node.origin == "person" else "")
        for node in held
    ]
    # With the lines: once they were counted without those that had left.
    stamp = " ".join(f"{node.position}:{block.lines[node.id]}" for node in held)
    return RecordText(block.key, stamp, "", "", topic_of(held[0].scope), tuple(parts))


def ids_of(view: MemoryView, passages: Sequence[Passage]) -> list[str]:
    """The memory that each passage is; "" if it is none any more."""
    behind = [(each.path, each.first_line) for each in passages if each.first_line > 1]
    found = _ids_at(view, behind) if behind else {}
    return [
        each.path if each.first_line == 1 else found.get((each.path, each.first_line), "")
        for each in passages
    ]


def _ids_at(view: MemoryView, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], str]:
    """The memories at lines of blocks, by the key of the block and the line."""
    rows = view.query(
        "with wanted as (select json_extract(value, '$[0]') as key, "
        "json_extract(value, '$[1]') as line from json_each(?)) "
        "select w.key, w.line, n.id from wanted w cross join memory_nodes f on f.id = w.key "
        "cross join memory_nodes n on n.source = f.source and n.source != '' "
        "and n.scope = f.scope and n.subject = f.subject "
        "and n.place = f.place - f.place % ? + w.line - 1 "
        # By the index of sources: `+` rules out that of positions.
        "where +f.position <= ? and +n.position <= ?",
        (json.dumps(wanted), BLOCK, view.position, view.position),
    )
    return {(key, line): found for key, line, found in rows}


def topic_of(scope: str) -> str:
    """The topic of a scope in the index: a dot would make one scope a part of another."""
    return scope.replace("%", "%25").replace(".", "%2E")


def _is_alone(node: Node) -> bool:
    return not node.source or bool(node.consolidation_id)


def _text(node: Node) -> str:
    return "\n".join(filter(None, (node.content, ", ".join(node.entities))))
