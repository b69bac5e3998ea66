"""The tables of packages in the projection of memory: each compilation, suggestion and use."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from cortex.bus import Event, Recorded
from cortex.bus.events import ContextCompiled, PackageCompile, PackageCompiled, PackageSuggested

PACKAGER: Final = "PackageEngine"  # the `source` of the facts of packages

TABLES: Final = (
    """
    create table memory_packages (       -- each time that a package was compiled
        id             text    not null,
        position       integer not null,
        time_ns        integer not null,
        scope          text    not null,
        subject        text    not null,  -- id of whose personal data it is
        chains         text    not null,  -- JSON, ids
        sources        text    not null,  -- JSON, ids
        replaced       text    not null,  -- JSON, ids
        beside         text    not null,  -- JSON, ids
        digest         text    not null,  -- "" if nothing of it was current
        tokens         integer not null,
        current_digest text    not null,
        current_tokens integer not null,
        raw_tokens     integer not null,
        through        integer not null,
        by             text    not null,
        primary key (id, position)
    ) strict, without rowid
    """,
    """
    create table memory_package_nodes (  -- all nodes of its chains
        node     text    not null,
        id       text    not null,
        position integer not null,       -- of the compilation
        primary key (id, position, node)
    ) strict, without rowid
    """,
    "create index memory_package_nodes_node on memory_package_nodes (node, id)",
    """
    create table memory_package_uses (   -- in prompts
        id         text    not null,
        position   integer not null,
        time_ns    integer not null,
        execution  text    not null,
        step       text    not null,
        digest     text    not null,
        tokens     integer not null,
        instead_of integer not null,     -- tokens of the nodes that it replaced
        primary key (id, position)
    ) strict, without rowid
    """,
    """
    create table memory_package_requests (  -- to compile one again
        id       text    not null,
        position integer not null,
        primary key (id, position)
    ) strict, without rowid
    """,
    """
    create table memory_package_gone (   -- by a collection
        id       text    not null,
        position integer not null,
        primary key (id, position)
    ) strict, without rowid
    """,
    """
    create table memory_package_suggestions (
        id       text    not null,
        position integer not null,
        time_ns  integer not null,
        scope    text    not null,
        chains   text    not null,       -- JSON, ids
        steps    integer not null,
        primary key (id, position)
    ) strict, without rowid
    """,
)
WIDTHS: Final = {
    "memory_packages": 16,
    "memory_package_nodes": 3,
    "memory_package_uses": 8,
    "memory_package_requests": 2,
    "memory_package_gone": 2,
    "memory_package_suggestions": 6,
}
# Facts, which mean nothing from anybody else.
FACTS: Final = frozenset((PackageCompiled.topic_name(), PackageSuggested.topic_name()))
Row = tuple[str, tuple[Any, ...]]


def uses_in(record: Recorded, event: ContextCompiled) -> Iterator[Row]:
    """The packages in a prompt."""
    place = (record.position, record.time_ns, event.execution_id, event.step_id)
    for used in event.packages:
        sizes = (used.digest, used.tokens, used.instead_of)
        yield "memory_package_uses", (used.package_id, *place, *sizes)


def _compiled(record: Recorded, event: PackageCompiled) -> Iterator[Row]:
    nodes = dict.fromkeys((*event.sources, *event.replaced, *event.beside, *event.chains))
    yield (
        "memory_packages",
        (
            event.package_id,
            record.position,
            record.time_ns,
            event.scope,
            event.subject,
            json.dumps(event.chains),
            json.dumps(event.sources),
            json.dumps(event.replaced),
            json.dumps(event.beside),
            event.digest,
            event.tokens,
            event.current_digest,
            event.current_tokens,
            event.raw_tokens,
            event.through,
            event.by,
        ),
    )
    for node_id in nodes:
        yield "memory_package_nodes", (node_id, event.package_id, record.position)


def _requested(record: Recorded, event: PackageCompile) -> Iterator[Row]:
    if event.package_id:
        yield "memory_package_requests", (event.package_id, record.position)


def _suggested(record: Recorded, event: PackageSuggested) -> Iterator[Row]:
    at = (record.position, record.time_ns)
    told = (event.scope, json.dumps(event.chains), event.steps)
    yield "memory_package_suggestions", (event.package_id, *at, *told)


FOLDS: Final[Mapping[type[Event], Callable[[Recorded, Any], Iterator[Row]]]] = {
    PackageCompile: _requested,
    PackageCompiled: _compiled,
    PackageSuggested: _suggested,
}
