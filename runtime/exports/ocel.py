"""The log as OCEL 2.0 JSON, for process mining: events, and the objects that they are about.

Objects are executions, steps, processes, models and components. They are gathered in a scratch
database while the events are written, so that memory does not grow with the log.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import msgspec

from cortex.bus import Recorded, as_map
from cortex.runtime.kernel import iso

from .lines import uuid_of
from .ocel_objects import OBJECT_TYPES, ObjectChange, changes_of, relations_of
from .source import Source

TEXT_CHARS = 1_024  # of an attribute; longer texts are left out
BATCH_EVENTS = 4_096  # between two writes to it
POSITION = "log_position"  # an attribute of every event
# Nobody needs the scratch database after a crash.
QUICKLY = "pragma cache_size = -8192; pragma journal_mode = off; pragma synchronous = off;"
SCRATCH = """
create table objects (id text primary key, type text not null, number integer not null) strict,
    without rowid;
create table attributes (
    id text, number integer, name text, value text, time text, primary key (id, number)
) strict, without rowid;
create table relations (id text, other text, qualifier text, primary key (id, other, qualifier))
    strict, without rowid;
"""

_ENCODE = msgspec.json.Encoder().encode


def document_of(source: Source) -> Iterator[bytes]:
    """The parts of one JSON document, in order."""
    types: dict[str, dict[str, str]] = {}  # of attributes, by topic and name
    with closing(sqlite3.connect("")) as scratch:  # a private file, which SQLite removes
        scratch.executescript(f"{QUICKLY} {SCRATCH}")
        yield b'{"events":['
        yield from _joined(_events(source, scratch, types))
        yield b'],\n"objects":['
        yield from _joined(_objects(scratch))
    yield b'],\n"eventTypes":' + _ENCODE(
        [{"name": topic, "attributes": _declared(found)} for topic, found in sorted(types.items())]
    )
    yield b',\n"objectTypes":' + _ENCODE(
        [{"name": name, "attributes": _declared(found)} for name, found in OBJECT_TYPES.items()]
    )
    yield b"}\n"


def _joined(parts: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    before = b"\n"
    for part in parts:
        yield before + _ENCODE(part)
        before = b",\n"


def _declared(types: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "type": kind} for name, kind in types.items()]


def _events(
    source: Source, scratch: sqlite3.Connection, types: dict[str, dict[str, str]]
) -> Iterator[dict[str, Any]]:
    waiting: list[ObjectChange] = []
    for record in source.events():
        body = as_map(record)
        waiting += changes_of(record, body)
        if record.position % BATCH_EVENTS == 0:
            _keep(scratch, waiting)
            waiting = []
        known = types.setdefault(record.topic, {POSITION: "integer"})
        yield _event(record, body, known)
    _keep(scratch, waiting)


def _event(record: Recorded, body: dict[str, Any], types: dict[str, str]) -> dict[str, Any]:
    attributes = [{"name": POSITION, "value": str(record.position)}]
    for name, value in body.items():
        kind = _kind(value)
        if kind and name not in ("topic", POSITION):
            before = types.setdefault(name, kind)
            if before != kind:
                both = {before, kind} == {"integer", "float"}
                types[name] = "float" if both else "string"
            attributes.append({"name": name, "value": _text(value)})
    return {
        "id": uuid_of(record),
        "type": record.topic,
        "time": iso(record.time_ns),
        "attributes": attributes,
        "relationships": [
            {"objectId": other, "qualifier": qualifier}
            for other, qualifier in relations_of(record, body)
        ],
    }


def _kind(value: Any) -> str:
    """The type of an attribute; "" for what is none."""
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "float"
        case str() if value and len(value) <= TEXT_CHARS:
            return "string"
    return ""


def _text(value: Any) -> str:
    """A value as OCEL's JSON has it: always a text, whatever its type."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _keep(scratch: sqlite3.Connection, changes: list[ObjectChange]) -> None:
    """Add what is known of objects; one that is known already stays where it is."""
    (number,) = scratch.execute("select count(*) from objects").fetchone()
    scratch.executemany(
        "insert or ignore into objects values (?, ?, ?)",
        [(each.id, each.type, number + at) for at, each in enumerate(changes)],
    )
    scratch.executemany(
        "insert or ignore into relations values (?, ?, ?)",
        [(each.id, *relation) for each in changes for relation in each.relations],
    )
    scratch.executemany(
        "insert or ignore into attributes values (?, ?, ?, ?, ?)",
        [
            (each.id, each.position * 8 + at, name, _text(value), iso(each.time_ns))
            for each in changes
            for at, (name, value) in enumerate(each.attributes.items())
        ],
    )


def _objects(scratch: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    for object_id, kind in scratch.execute("select id, type from objects order by number, id"):
        attributes = scratch.execute(
            "select name, value, time from attributes where id = ? order by number", (object_id,)
        )
        related = scratch.execute(
            "select other, qualifier from relations where id = ?", (object_id,)
        )
        yield {
            "id": object_id,
            "type": kind,
            "attributes": [{"name": n, "value": v, "time": t} for n, v, t in attributes],
            "relationships": [{"objectId": o, "qualifier": q} for o, q in related],
        }
