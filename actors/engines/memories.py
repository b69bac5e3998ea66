"""The nodes that a step's `memory:` brought, as material for its prompt."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from cortex.bus.events import ContextCompile, PackageUse
from cortex.runtime.context import SAID_OF_FOUND, Item, Link, Prompt
from cortex.runtime.directives import Overruling, package_with_overruled
from cortex.runtime.log import BlobError, Blobs
from cortex.runtime.memory import (
    MemoryStoreError,
    RecalledNode,
    RecalledNodes,
    RecalledPackage,
)
from cortex.runtime.retrieval import TOKENS, packed

from .directed import laid_down_for

LEAST_SCORE = 0.0001  # retrieved items have a score
KIND = "memory"
PACKAGE = "package"
NOTHING = Item(
    id="memory:nothing",
    section="memory",
    kind=KIND,
    text="Memory was searched: nothing in it is certain to be about this step.",
    score=LEAST_SCORE,
    trust="trusted",
)


class MemoryItems(NamedTuple):
    """What a step remembers: items of the memory section, best first, and notes on them."""

    items: tuple[Item, ...] = ()
    notes: tuple[str, ...] = ()
    packages: tuple[RecalledPackage, ...] = ()  # among the items


def memory_items(asked: ContextCompile, blobs: Blobs, count: Callable[[str], int]) -> MemoryItems:
    """The nodes and packages that were found, as items.

    Raises:
        MemoryStoreError: The blob with the nodes cannot be read.
    """
    if not asked.remembered:
        return MemoryItems()
    found = _with_overruled(_read(asked.remembered, blobs), Overruling(laid_down_for(asked)))
    if not found.nodes and not found.packages:
        return MemoryItems((NOTHING,), ("memory: nothing was found",))
    room = asked.remembered_tokens or TOKENS
    room -= sum(count(package.text) for package in found.packages)
    kept = packed(found.nodes, max(0, room), count)
    notes = [*found.notes]
    if found.caution:
        notes.append(f"memory: {found.caution}")
    if len(kept) < len(found.nodes):
        notes.append(f"memory: {len(found.nodes) - len(kept)} of {len(found.nodes)} left out")
    items = (*_caution(found), *map(_package, found.packages), *_items(kept))
    return MemoryItems(items, tuple(notes), found.packages)


def _with_overruled(found: RecalledNodes, overruling: Overruling) -> RecalledNodes:
    """*found*, where each memory that a directive overrules says so."""

    def quoted(content: str) -> str:
        by = overruling.by(content)
        return by.quoted if by is not None else ""

    nodes = (replace(node, overruled_by=quoted(node.content)) for node in found.nodes)
    packages = (
        replace(each, text=package_with_overruled(each.text, quoted)) for each in found.packages
    )
    return replace(found, nodes=tuple(nodes), packages=tuple(packages))


def memories_in(
    prompt: Prompt, packages: Sequence[RecalledPackage]
) -> tuple[tuple[str, ...], tuple[PackageUse, ...]]:
    """The ids of the nodes of memory in *prompt*, alone or in one of *packages*; and these."""
    there = [
        entry.id
        for entry in prompt.manifest.items
        if entry.section == "memory" and entry.state != "out"
    ]
    used = [package for package in packages if _id_of(package) in there]
    nodes = [each for each in there if not each.startswith(("memory:", f"{PACKAGE}:"))]
    for package in used:
        nodes += package.nodes
    uses = (
        PackageUse(
            package_id=package.package_id,
            digest=package.digest,
            tokens=package.tokens,
            instead_of=package.instead_of,
        )
        for package in used
    )
    return tuple(dict.fromkeys(nodes)), tuple(uses)


def _id_of(package: RecalledPackage) -> str:
    return f"{PACKAGE}:{package.package_id}"


def _package(package: RecalledPackage) -> Item:
    return Item(
        id=_id_of(package),
        section="memory",
        kind=PACKAGE,
        text=package.text,
        source=f"package/{package.package_id}",
        score=max(LEAST_SCORE, package.score),
        logged=package.position,
        confidence=package.confidence,
    )


def _items(nodes: Sequence[RecalledNode]) -> Iterator[Item]:
    shown = {node.id for node in nodes}
    for node in nodes:
        yield Item(
            id=node.id,
            section="memory",
            kind=KIND,
            text=node.text,
            source=f"memory/{node.id}",
            score=max(LEAST_SCORE, node.score),
            logged=node.position,
            confidence=node.confidence,
            links=tuple(Link("contradicts", to) for to in node.contradicted_by if to in shown),
        )


def _caution(found: RecalledNodes) -> Iterator[Item]:
    if found.caution:
        yield Item(
            id="memory:uncertain",
            section="memory",
            kind=SAID_OF_FOUND,
            text=f"{found.caution[0].upper()}{found.caution[1:]}.",
            priority=1,  # before the memories that it is about
            score=LEAST_SCORE,
            trust="trusted",
        )


def _read(digest: str, blobs: Blobs) -> RecalledNodes:
    try:
        return msgspec.json.decode(blobs.get(digest), type=RecalledNodes)
    except (BlobError, msgspec.DecodeError) as error:
        raise MemoryStoreError(digest, f"what `memory:` brought cannot be read: {error}") from error
