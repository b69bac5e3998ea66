"""Reads records wherever they are: in the table `events`, or in the archive.

The table is asked first: a record may move to the archive at any moment, and never moves back.
"""

import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager

from cortex.bus import decode

from .archive import Archive, places_of, sealed_version
from .errors import LogCorruptError, SegmentError
from .statements import read_each

Row = tuple[int, bytes]  # position, record


def rows_after(
    reader: sqlite3.Connection, archive: Archive, after: int, last: int
) -> Generator[Row, None, None]:
    """Positions and records after position *after* up to *last*, in order."""
    while after < last:
        if after < archive.through:
            yield from archive.records(after, last)
            after = archive.through
            continue
        rows = reader.execute(
            "select position, record from events where position > ? order by position limit ?",
            (after, last - after),
        )
        with closing(rows):  # otherwise its snapshot would outlive the page
            first = rows.fetchone()
            if (first is None or first[0] != after + 1) and archive.has_after(after, reader):
                continue
            if first is not None:
                yield first
                yield from rows
            return


def rows_of_stream(
    reader: sqlite3.Connection, archive: Archive, stream: str, after: int, limit: int
) -> list[Row]:
    """The same of one stream after its version *after*, at most *limit*."""
    found = reader.execute(
        "select position, record, version from events "
        "where stream = ? and version > ? order by version limit ?",
        (stream, after, limit),
    ).fetchall()
    rows = [(position, record) for position, record, _ in found]
    if (found and found[0][2] == after + 1) or not archive.has_after(0, reader):
        return rows
    places = places_of(reader, archive.log_path, stream, after, limit)
    if found:
        # Records that are sealed leave the table a little later.
        places = [each for each in places if each < rows[0][0]]
        if len(places) < min(limit, found[0][2] - after - 1):
            problem = f"the table sealed lacks events of {stream}"
            raise LogCorruptError(str(archive.log_path), problem)
    sealed = archive.at(places)
    _check(archive, sealed, stream, after)
    return [*sealed, *rows][:limit]


def _check(archive: Archive, rows: list[Row], stream: str, after: int) -> None:
    """Refuse what the table `sealed` takes for events of *stream* and is none of it."""
    for version, (_, data) in enumerate(rows, after + 1):
        record = decode(data)
        if (record.stream, record.version) != (stream, version):
            problem = f"the table sealed says wrongly where {stream} is"
            raise LogCorruptError(str(archive.log_path), problem)


def version_of(reader: sqlite3.Connection, archive: Archive, stream: str) -> int:
    """The newest version of *stream*; 0 if it has none."""
    (version,) = reader.execute(
        "select coalesce(max(version), 0) from events where stream = ?", (stream,)
    ).fetchone()
    if not version and archive.has_after(0, reader):
        version = sealed_version(reader, stream)
    return int(version)


def versions_of(
    reader: sqlite3.Connection, archive: Archive, streams: Sequence[str]
) -> dict[str, int]:
    """The newest version of each of *streams*; 0 if it has none."""
    # Each is a search of the index, as for one alone: a `group by` would read whole streams.
    query = """
        select key, (select coalesce(max(version), 0) from events where stream = key) from asked
    """
    versions: dict[str, int] = dict(read_each(reader, query, streams))
    if archive.has_after(0, reader):
        for stream, version in versions.items():
            versions[stream] = version or sealed_version(reader, stream)
    return versions


@contextmanager
def blaming(archive: Archive) -> Iterator[None]:
    """Name the file of the archive that has a damaged record, if one has it."""
    try:
        yield
    except SegmentError:
        raise
    except LogCorruptError as error:
        if error.position is None or not 0 < error.position <= archive.through:
            raise
        path = str(archive.path_of(error.position))
        raise SegmentError(path, error.problem, error.position) from error
