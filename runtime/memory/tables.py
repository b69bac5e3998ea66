"""The tables of the projection of memory."""

from typing import Final

# Since when a node is so: what asks for it in these words uses the index.
SINCE: Final = "case when happened_ns > 0 then happened_ns else time_ns end"

TABLES: Final = (
    """
    create table memory_nodes (
        id            text    primary key,
        position      integer not null,  -- of the event that recorded it
        time_ns       integer not null,
        kind          text    not null,
        content       text    not null,  -- "" where it left memory: the log has it
        scope         text    not null,
        subject       text    not null,  -- id of whose personal data it is
        origin        text    not null,
        by            text    not null,
        confidence    real    not null,
        happened_ns   integer not null,
        entities      text    not null,  -- JSON
        source        text    not null,
        quote         text    not null,
        consolidation text    not null,
        embedding     blob    not null,  -- float32, little endian; empty where none was given
        episode       text    not null,  -- digest of what happened, of what a rule derived
        times         integer not null,  -- how often it was seen, of what a consolidation wrote
        form          text    not null,  -- and what it is
        said_by       text    not null,  -- who recorded it where it was imported from
        place         integer not null   -- in its source, from 0; -1 without one
    ) strict
    """,
    "create index memory_nodes_position on memory_nodes (position)",
    "create index memory_nodes_scope on memory_nodes (scope, position)",
    """
    create index memory_nodes_source on memory_nodes (source, scope, subject, place)
    where source != ''
    """,
    """
    create table memory_source_sizes (   -- nodes that a source ever had: the next one's place
        source blob    primary key,      -- digest, since what leaves memory takes its texts with it
        size   integer not null
    ) strict, without rowid
    """,
    """
    create index memory_nodes_episode on memory_nodes (scope, subject, episode, position)
    where episode != ''
    """,
    """
    create table memory_sources (        -- further sources of a node
        id       text    not null,
        position integer not null,
        time_ns  integer not null,
        by       text    not null,
        source   text    not null,
        quote    text    not null,
        said_by  text    not null,       -- who said so where it was imported from
        primary key (id, position)
    ) strict, without rowid
    """,
    """
    create table memory_edges (
        node      text    not null,      -- from which it leads
        edge      text    not null,
        target    text    not null,
        position  integer not null,
        by        text    not null,
        certainty real    not null,
        because   text    not null,
        primary key (node, edge, target)
    ) strict, without rowid
    """,
    "create index memory_edges_target on memory_edges (target, edge)",
    """
    create table memory_changes (
        id       text    not null,
        position integer not null,
        change   text    not null,       -- pinned, unpinned, forgotten, collected, restored, undone
        by       text    not null,
        why      text    not null,
        primary key (id, position, change)
    ) strict, without rowid
    """,
    """
    create table memory_uses (           -- in prompts
        id        text    not null,
        position  integer not null,
        time_ns   integer not null,
        execution text    not null,
        step      text    not null,
        times     integer not null,      -- of an import, which has no execution; else 1
        primary key (id, position)
    ) strict, without rowid
    """,
    "create index memory_uses_execution on memory_uses (execution)",
    """
    create table memory_consolidations (
        id       text    primary key,
        position integer not null,
        time_ns  integer not null,
        scope    text    not null,
        nodes_read  text not null,       -- JSON, ids
        nodes_wrote text not null,       -- JSON, ids
        through  integer not null
    ) strict
    """,
    """
    create table memory_runs (           -- executions that have begun and not ended
        execution text primary key,
        run       text not null          -- JSON
    ) strict
    """,
    f"create index memory_nodes_since on memory_nodes ({SINCE})",
    """
    create table memory_entities (       -- what nodes in memory are about
        name     text    not null,       -- its words in lower case
        id       text    not null,       -- of the node
        position integer not null,       -- since when it is known
        primary key (name, id)
    ) strict, without rowid
    """,
    "create index memory_entities_id on memory_entities (id)",
)
