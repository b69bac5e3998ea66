"""Packages as they were at a position of the log."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from .errors import PackageMissingError
from .package_suggestions import MemoryUse

TOGETHER: Final = 200  # ids in one query
MOST_USES: Final = 20_000  # newest uses that are looked at for suggestions
_PACKAGE: Final = (
    "p.id, p.position, p.time_ns, p.scope, p.subject, p.chains, p.sources, p.replaced, p.digest, "
    "p.tokens, p.current_digest, p.current_tokens, p.raw_tokens, p.through, p.by"
)
# The last compilation of each package that was up to a position.
_LAST: Final = (
    "p.position = (select max(l.position) from memory_packages l where l.id = p.id "
    "and l.position <= ?)"
)
# And was not collected since.
_THERE: Final = (
    "and not exists (select 1 from memory_package_gone g where g.id = p.id "
    "and g.position > p.position and g.position <= ?)"
)


class PackageRow(msgspec.Struct, frozen=True, kw_only=True):
    """A package, as it was compiled last."""

    id: str
    position: int  # of the event
    time_ns: int  # when it was compiled
    scope: str
    subject: str
    chains: tuple[str, ...]
    sources: tuple[str, ...]
    replaced: tuple[str, ...]
    digest: str  # "" if nothing of it was current
    tokens: int
    current_digest: str
    current_tokens: int
    raw_tokens: int
    through: int
    by: str
    changed: int = 0  # position of the first change since; 0: it is fresh
    collected: int = 0  # position at which a collection took it out; 0: it is there
    asked: int = 0  # position of the last request to compile it again; 0 for none
    uses: int = 0  # prompts that it was in
    used_ns: int = 0  # time of the last of them; 0 for none

    @property
    def fresh(self) -> bool:
        """Whether nothing changed since, so that prompts may have it."""
        return not self.changed and not self.collected and bool(self.digest)

    @property
    def ratio(self) -> float:
        """How many tokens of memory became one of the package; 0 if it is empty."""
        return self.raw_tokens / self.tokens if self.tokens else 0.0


class PackageView:
    """What is known of packages up to `position`; use it as a `MemoryView`."""

    def __init__(self, connection: sqlite3.Connection, position: int) -> None:
        self._connection, self.position = connection, position

    def listed(self, scopes: Sequence[str] = (), limit: int = 50) -> list[PackageRow]:
        """The packages that were compiled last, newest first; of all scopes unless some are given.

        One of which nothing is current any more is left out, and so is what was collected.
        """
        where, values = "", tuple(scopes)
        if scopes:
            where = f"and p.scope in ({', '.join('?' * len(scopes))})"
        rows = self._connection.execute(
            f"select {_PACKAGE} from memory_packages p where {_LAST} and p.digest != '' {_THERE} "  # noqa: S608  # names of ours; what comes from outside is bound
            f"{where} order by p.position desc limit ?",
            (self.position, self.position, *values, limit),
        ).fetchall()
        return self._packages(rows)

    def package(self, begins: str) -> PackageRow:
        """The one package whose id begins with *begins*.

        Raises:
            PackageMissingError: There is none, or several.
        """
        rows = self._connection.execute(
            f"select {_PACKAGE} from memory_packages p where p.id >= ? and p.id < ? and {_LAST} "  # noqa: S608  # names of ours; what comes from outside is bound
            "order by p.id limit 5",
            (begins, begins + "\U0010ffff", self.position),
        ).fetchall()
        found = self._packages(rows if begins else [])
        if len(found) == 1 or (found and found[0].id == begins):
            return found[0]
        if not found:
            raise PackageMissingError(begins, "is not there: `cortex package list` shows ids")
        some = ", ".join(each.id for each in found[:4])
        raise PackageMissingError(begins, f"could be {some}: give more of the id")

    def holding(self, nodes: Sequence[str]) -> list[PackageRow]:
        """The packages one of whose chains has one of *nodes*, by id; without collected ones."""
        ids: set[str] = set()
        for start in range(0, len(nodes), TOGETHER):
            part = nodes[start : start + TOGETHER]
            marks = ", ".join("?" * len(part))
            rows = self._connection.execute(
                "select distinct id from memory_package_nodes "  # noqa: S608  # names of ours; what comes from outside is bound
                f"where node in ({marks}) and position <= ?",
                (*part, self.position),
            )
            ids |= {str(row[0]) for row in rows}
        return [each for each in self.of_ids(sorted(ids)) if not each.collected]

    def of_ids(self, ids: Sequence[str]) -> list[PackageRow]:
        """The packages with these ids, in this order; those that are not there are left out."""
        rows: list[Any] = []
        for each in ids:
            rows += self._connection.execute(
                f"select {_PACKAGE} from memory_packages p where p.id = ? and {_LAST}",  # noqa: S608  # names of ours; what comes from outside is bound
                (each, self.position),
            ).fetchall()
        return self._packages(rows)

    def stale(self) -> list[PackageRow]:
        """The packages that something changed since they were compiled, by id."""
        rows = self._connection.execute(
            f"select {_PACKAGE} from memory_packages p where {_LAST} {_THERE} order by p.id",  # noqa: S608  # names of ours; what comes from outside is bound
            (self.position, self.position),
        ).fetchall()
        return [each for each in self._packages(rows) if each.changed]

    def uses_since(self, time_ns: int) -> Iterator[MemoryUse]:
        """The newest uses of memories in prompts since a time, newest first."""
        rows = self._connection.execute(
            "select execution, step, id from memory_uses where execution != '' "
            "and position <= ? and time_ns >= ? order by position desc, id limit ?",
            (self.position, time_ns, MOST_USES),
        )
        return (MemoryUse(f"{row[0]}/{row[1]}", str(row[2])) for row in rows.fetchall())

    def suggested(self, package_id: str) -> list[tuple[int, int]]:
        """When a package was suggested: position, and in the prompts of how many steps it was."""
        rows = self._connection.execute(
            "select position, steps from memory_package_suggestions where id = ? "
            "and position <= ? order by position",
            (package_id, self.position),
        )
        return [(int(row[0]), int(row[1])) for row in rows]

    def in_use(self) -> list[str]:
        """Packages in prompts of executions that run now."""
        rows = self._connection.execute(
            "select distinct u.id from memory_package_uses u join memory_runs r "
            "on r.execution = u.execution where u.position <= ? order by u.id",
            (self.position,),
        )
        return [str(row[0]) for row in rows]

    def _packages(self, rows: Iterable[Sequence[Any]]) -> list[PackageRow]:
        return [self._package(row) for row in rows]

    def _package(self, row: Sequence[Any]) -> PackageRow:
        uses, used_ns = self._connection.execute(
            "select count(*), coalesce(max(time_ns), 0) from memory_package_uses "
            "where id = ? and position <= ?",
            (row[0], self.position),
        ).fetchone()
        (collected,) = self._connection.execute(
            "select coalesce(max(position), 0) from memory_package_gone "
            "where id = ? and position > ? and position <= ?",
            (row[0], row[1], self.position),
        ).fetchone()
        (asked,) = self._connection.execute(
            "select coalesce(max(position), 0) from memory_package_requests "
            "where id = ? and position <= ?",
            (row[0], self.position),
        ).fetchone()
        return PackageRow(
            id=row[0],
            position=row[1],
            time_ns=row[2],
            scope=row[3],
            subject=row[4],
            chains=tuple(json.loads(row[5])),
            sources=tuple(json.loads(row[6])),
            replaced=tuple(json.loads(row[7])),
            digest=row[8],
            tokens=row[9],
            current_digest=row[10],
            current_tokens=row[11],
            raw_tokens=row[12],
            through=row[13],
            by=row[14],
            changed=self._changed(row[0], row[1], row[13]),
            collected=collected,
            asked=asked,
            uses=uses,
            used_ns=used_ns,
        )

    def _changed(self, package_id: str, position: int, through: int) -> int:
        """Position of the first change of a node of the package behind *through*; 0 for none."""
        nodes = "select node from memory_package_nodes where id = ? and position = ?"
        bounds = (through, self.position)
        (found,) = self._connection.execute(
            f"""
            select coalesce(min(position), 0) from (
                select position from memory_edges where node in ({nodes})
                    and position > ? and position <= ?
                union all
                select position from memory_edges where target in ({nodes})
                    and position > ? and position <= ?
                union all
                select position from memory_changes where id in ({nodes})
                    and position > ? and position <= ? and change not in ('pinned', 'unpinned')
            )
            """,  # noqa: S608  # names of ours; what comes from outside is bound
            (package_id, position, *bounds) * 3,
        ).fetchone()
        return int(found)
