"""Memory as it was at a position of the log: nodes, how they stand, and their chains."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from cortex.bus.events import Kind

from .chains import Chain, NodeState, joined
from .errors import MemoryMissingError
from .nodes import Edge, Node
from .origins import FurtherSource, further_sources
from .package_view import PackageView
from .past import Past
from .projection import LEFT
from .rows import NODE, TOGETHER, JournalRow, edge_of_row, in_scopes, marks, node_of_row, parts


class MemoryView:
    """What is in memory up to `position`; use it while the connection is open, in its thread."""

    def __init__(self, connection: sqlite3.Connection, position: int, past: Past) -> None:
        self._connection, self.position, self._past = connection, position, past
        self.packages = PackageView(connection, position)

    def count(self, scopes: Sequence[str] = ()) -> int:
        """How many nodes were recorded, in *scopes*; none for all scopes."""
        where, values = in_scopes(scopes)
        (count,) = self._connection.execute(
            f"select count(*) from memory_nodes where position <= ? {where}",  # noqa: S608  # names of ours; what comes from outside is bound
            (self.position, *values),
        ).fetchone()
        return int(count)

    def scopes(self) -> list[str]:
        """All scopes that have a node."""
        rows = self._connection.execute(
            "select distinct scope from memory_nodes where position <= ? order by scope",
            (self.position,),
        )
        return [str(row[0]) for row in rows]

    def resolve(self, begins: str, scopes: Sequence[str] = ()) -> str:
        """The one node whose id begins with *begins*, in *scopes*; none for all scopes.

        Raises:
            MemoryMissingError: There is none, or several.
        """
        where, values = in_scopes(scopes)
        rows = self._connection.execute(
            f"select id from memory_nodes where id >= ? and id < ? and position <= ? {where} "  # noqa: S608  # names of ours; what comes from outside is bound
            "order by id limit 5",
            (begins, begins + "\U0010ffff", self.position, *values),
        ).fetchall()
        ids = [str(row[0]) for row in rows]
        if begins and ids and (len(ids) == 1 or ids[0] == begins):
            return ids[0]
        if not begins or not ids:
            raise MemoryMissingError(begins, "is not there: `cortex memory search` shows ids")
        some = ", ".join(ids[:4]) + (", ..." if len(ids) > 4 else "")
        raise MemoryMissingError(begins, f"could be {some}: give more of the id", several=True)

    def nodes(self, ids: Sequence[str]) -> dict[str, Node]:
        """The nodes with these ids, in this order; those that are not there are left out."""
        found: dict[str, Node] = {}
        for part in parts(ids):
            rows = self._connection.execute(
                f"select {NODE} from memory_nodes where id in ({marks(part)}) "  # noqa: S608  # names of ours; what comes from outside is bound
                "and position <= ?",
                (*part, self.position),
            )
            for row in rows:
                node = self._node(row)
                found[node.id] = node
        return {each: found[each] for each in ids if each in found}

    def states(self, ids: Sequence[str]) -> dict[str, NodeState]:
        """How these nodes stand."""
        changes, uses = self._changes(ids), self._uses(ids)
        successors, sources = self._successors(ids), self._sources(ids)
        found: dict[str, NodeState] = {}
        for each in ids:
            gone, pinned = changes.get(each, ("", False))
            used, used_ns = uses.get(each, (0, 0))
            found[each] = NodeState(
                gone=gone,
                successors=tuple(successors.get(each, ())),
                pinned=pinned,
                sources=1 + sources.get(each, 0),
                uses=used,
                used_ns=used_ns,
            )
        return found

    def said_again(self, node_id: str) -> list[FurtherSource]:
        """The further sources of a node, oldest first."""
        return further_sources(self._connection, node_id, self.position)

    def edges(self, ids: Sequence[str], *, undone: bool = False) -> list[Edge]:
        """The edges from and to these nodes, by position; those of undone nodes if *undone*."""
        found: dict[tuple[str, str, str], Edge] = {}
        for part in parts(ids):
            held = marks(part)
            for column in ("node", "target"):
                rows = self._connection.execute(
                    "select node, edge, target, position, by, certainty, because "  # noqa: S608  # names of ours; what comes from outside is bound
                    f"from memory_edges where {column} in ({held}) and position <= ?",
                    (*part, self.position),
                )
                for row in rows:
                    found[row[0], row[1], row[2]] = edge_of_row(row)
        left = () if undone else self._undone([edge.node_id for edge in found.values()])
        kept = (edge for edge in found.values() if edge.node_id not in left)
        return sorted(kept, key=lambda edge: (edge.position, edge.node_id, edge.to))

    def chain(self, node_id: str, scopes: Sequence[str] = ()) -> Chain:
        """The chain that a node is in, as far as *scopes* are seen; none for all scopes.

        Raises:
            MemoryMissingError: There is no such node, or several that begin so.
        """
        start = self.resolve(node_id, scopes)
        ids, edges, whole = joined(start, lambda ids: self._edges_within(ids, scopes))
        nodes = sorted(
            self.nodes(ids).values(), key=lambda node: (node.since_ns, node.position, node.id)
        )
        seen = {node.id for node in nodes}
        return Chain(
            id=nodes[0].id,
            nodes=tuple(nodes),
            states=self.states([node.id for node in nodes]),
            edges=tuple(edge for edge in edges if edge.node_id in seen and edge.to in seen),
            whole=whole,
        )

    def listed(
        self,
        scopes: Sequence[str] = (),
        kinds: Sequence[Kind] = (),
        *,
        history: bool = False,
        gone: bool = False,
        limit: int = 50,
    ) -> Iterator[tuple[Node, NodeState]]:
        """The newest nodes first, and how they stand; current ones unless *history* or *gone*."""
        where, values = in_scopes(scopes)
        if kinds:
            where += f" and kind in ({marks(kinds)})"
            values = (*values, *kinds)
        at, given = self.position + 1, 0
        while given < limit:
            rows = self._connection.execute(
                f"select {NODE} from memory_nodes where position < ? {where} "  # noqa: S608  # names of ours; what comes from outside is bound
                "order by position desc, id limit ?",
                (at, *values, TOGETHER),
            ).fetchall()
            if not rows:
                return
            states = self.states([str(row[0]) for row in rows])
            for row in rows:
                state = states[row[0]]
                wanted = state.current or (history and not state.gone) or (gone and state.gone)
                if wanted and given < limit:
                    given += 1
                    yield self._node(row), state
            at = int(rows[-1][1])

    def touched(self, after: int) -> list[str]:
        """Ids of the nodes that were recorded, or left memory or came back, after a position."""
        rows = self._connection.execute(
            "select id from memory_nodes where position > ? and position <= ? "
            "union select id from memory_changes where position > ? and position <= ? order by id",
            (after, self.position, after, self.position),
        )
        return [str(row[0]) for row in rows]

    def places(self, ids: Sequence[str]) -> dict[str, int]:
        """The place in its source of each of these nodes, from 0; -1 for one without a source."""
        found: dict[str, int] = {}
        for part in parts(ids):
            found |= self._connection.execute(
                f"select id, place from memory_nodes where id in ({marks(part)}) "  # noqa: S608  # names of ours; what comes from outside is bound
                "and position <= ?",
                (*part, self.position),
            ).fetchall()
        return found

    def beside(self, node: Node, first: int, count: int) -> dict[str, int]:
        """The places, in order, of the nodes of the source of *node*, *count* from *first* on."""
        rows = self._connection.execute(
            "select id, place from memory_nodes where source = ? and source != '' and scope = ? "
            "and subject = ? and place >= ? and place < ? and position <= ? order by place",
            (node.source, node.scope, node.subject, first, first + count, self.position),
        )
        return dict(rows.fetchall())

    def journal(self) -> "Iterator[JournalRow]":
        """All that happened to nodes and packages, in the order of the log."""
        rows = self._connection.execute(
            """
            select position, 0, 'node', id, kind, '', time_ns, length(content) from memory_nodes
            union all
            select e.position, 1, 'edge', e.node, e.edge, e.target, coalesce(n.time_ns, 0), 0
            from memory_edges e left join memory_nodes n on n.id = e.node
            union all
            select position, 2, 'used', id, '', '', time_ns, times from memory_uses
            union all
            select c.position, 3, c.change, c.id, '', '', 0, 0 from memory_changes c
            union all
            select position, 4, 'package', 'package:' || id, '', '', time_ns, tokens
            from memory_packages
            union all
            select position, 5, 'package_used', 'package:' || id, '', '', time_ns, 1
            from memory_package_uses
            union all
            select position, 6, 'package_gone', 'package:' || id, '', '', 0, 0
            from memory_package_gone
            order by 1, 2, 4, 6
            """
        )
        for position, _, what, node_id, detail, other, time_ns, size in rows:
            if position > self.position:
                return
            yield JournalRow(position, what, node_id, detail, other, time_ns, size)

    def in_use(self) -> list[str]:
        """Nodes in prompts of executions that run now."""
        rows = self._connection.execute(
            "select distinct u.id from memory_uses u join memory_runs r on r.execution = "
            "u.execution where u.position <= ? order by u.id",
            (self.position,),
        )
        return [str(row[0]) for row in rows]

    def pinned(self) -> list[str]:
        """Nodes that are pinned."""
        rows = self._connection.execute(
            "select distinct id from memory_changes where change = 'pinned' and position <= ? "
            "order by id",
            (self.position,),
        )
        ids = [str(row[0]) for row in rows]
        states = self.states(ids)
        return [each for each in ids if states[each].pinned and not states[each].gone]

    def about(self, entities: Sequence[str], limit: int = 20) -> list[str]:
        """The newest outcomes of executions that are about one of *entities*."""
        found: dict[str, int] = {}
        for entity in entities:
            rows = self._connection.execute(
                "select n.id, n.position from memory_nodes n, json_each(n.entities) e "
                "where n.kind = 'outcome' and e.value = ? and n.position <= ? "
                "order by n.position desc limit ?",
                (entity, self.position, limit),
            )
            found |= {str(row[0]): int(row[1]) for row in rows}
        return sorted(found, key=lambda each: (-found[each], each))[:limit]

    def used_by(self, execution: str) -> list[tuple[str, int, str]]:
        """Nodes in the prompts of an execution: id, position of the prompt, step."""
        rows = self._connection.execute(
            "select id, position, step from memory_uses where execution = ? and position <= ? "
            "order by position, id",
            (execution, self.position),
        )
        return [(str(row[0]), int(row[1]), str(row[2])) for row in rows]

    def further_sources(self, node_id: str) -> list[tuple[int, str, str, str]]:
        """Who else recorded a node: position, who, source, quote."""
        rows = self._connection.execute(
            "select position, by, source, quote from memory_sources "
            "where id = ? and position <= ? order by position",
            (node_id, self.position),
        )
        return [(int(row[0]), str(row[1]), str(row[2]), str(row[3])) for row in rows]

    def changes(self, node_id: str) -> list[tuple[int, str, str, str]]:
        """What happened to a node: position, what, by whom, why."""
        rows = self._connection.execute(
            "select position, change, by, why from memory_changes "
            "where id = ? and position <= ? order by position",
            (node_id, self.position),
        )
        return [(int(row[0]), str(row[1]), str(row[2]), str(row[3])) for row in rows]

    def consolidations(self, limit: int = 50) -> list[dict[str, Any]]:
        """The newest consolidations."""
        rows = self._connection.execute(
            "select id, position, time_ns, scope, nodes_read, nodes_wrote from "
            "memory_consolidations where position <= ? order by position desc limit ?",
            (self.position, limit),
        ).fetchall()
        return [
            {
                "id": str(row[0]),
                "position": int(row[1]),
                "time_ns": int(row[2]),
                "scope": str(row[3]),
                "read": json.loads(row[4]),
                "wrote": json.loads(row[5]),
            }
            for row in rows
        ]

    def _edges_within(self, ids: Sequence[str], scopes: Sequence[str]) -> list[Edge]:
        """The edges of *ids* that stay in *scopes*: no path leads through another scope."""
        edges, (where, values) = self.edges(ids), in_scopes(scopes)
        if not scopes:
            return edges
        seen: set[str] = set()
        for part in parts(list({each for edge in edges for each in (edge.node_id, edge.to)})):
            rows = self._connection.execute(
                f"select id from memory_nodes where id in ({marks(part)}) {where}",  # noqa: S608  # names of ours; what comes from outside is bound
                (*part, *values),
            )
            seen.update(str(row[0]) for row in rows)
        return [edge for edge in edges if edge.node_id in seen and edge.to in seen]

    def _changes(self, ids: Sequence[str]) -> dict[str, tuple[str, bool]]:
        found: dict[str, tuple[str, bool]] = {}
        for part in parts(ids):
            rows = self._connection.execute(
                "select id, change from memory_changes "  # noqa: S608  # names of ours; what comes from outside is bound
                f"where id in ({marks(part)}) and position <= ? order by position",
                (*part, self.position),
            )
            for node_id, change in rows:
                gone, pinned = found.get(node_id, ("", False))
                if change in LEFT:
                    gone = change
                elif change == "restored":
                    gone = ""
                else:
                    pinned = change == "pinned"
                found[node_id] = gone, pinned
        return found

    def _undone(self, ids: Sequence[str]) -> set[str]:
        changes = self._changes(list(dict.fromkeys(ids)))
        return {each for each, (gone, _) in changes.items() if gone == "undone"}

    def _successors(self, ids: Sequence[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for part in parts(ids):
            rows = self._connection.execute(
                "select target, node from memory_edges where edge = 'supersedes' "  # noqa: S608  # names of ours; what comes from outside is bound
                f"and target in ({marks(part)}) and position <= ? order by position, node",
                (*part, self.position),
            )
            for target, node in rows:
                found.setdefault(target, []).append(node)
        undone = self._undone([node for nodes in found.values() for node in nodes])
        return {each: [n for n in nodes if n not in undone] for each, nodes in found.items()}

    def _sources(self, ids: Sequence[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for part in parts(ids):
            found |= self._connection.execute(
                "select id, count(*) from memory_sources "  # noqa: S608  # names of ours; what comes from outside is bound
                f"where id in ({marks(part)}) and position <= ? group by id",
                (*part, self.position),
            ).fetchall()
        return found

    def _uses(self, ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for part in parts(ids):
            rows = self._connection.execute(
                "select id, sum(times), max(time_ns) from memory_uses "  # noqa: S608  # names of ours; what comes from outside is bound
                f"where id in ({marks(part)}) and position <= ? group by id",
                (*part, self.position),
            )
            found |= {row[0]: (row[1], row[2]) for row in rows}
        return found

    def query(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """The rows of a statement that reads; it must respect `position` itself."""
        return self._connection.execute(statement, tuple(values)).fetchall()

    def _node(self, row: Sequence[Any]) -> Node:
        # Without a content it left memory since, or before: the log has it.
        was = None if row[4] else self._past(str(row[0]))
        return node_of_row(row) if was is None else was
