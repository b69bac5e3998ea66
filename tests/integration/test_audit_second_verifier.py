"""The verifier in C, written from docs/log-format.md alone, says what the one in Python says.

`CORTEX_VERIFIER_TAMPERS` says on how many changed logs they are compared, 80 by default.
"""

import json
import os
import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from importlib import import_module
from itertools import accumulate, cycle, islice, pairwise
from pathlib import Path
from sqlite3 import connect
from struct import pack, unpack_from
from typing import Any, NamedTuple

import msgspec
import pytest
import zstandard

from cortex.bus import serving
from cortex.bus.events import TriggerReceived
from cortex.runtime import erasure
from cortex.runtime.admin import seal_log
from cortex.runtime.audit import Auditing, SigningKey
from cortex.runtime.kernel import Config, Home, Runtime
from cortex.runtime.projections import HomeLog, Selection

from .audit_world import Noted, make_signed
from .tampering import (
    FOUND_ALONE,
    Change,
    World,
    back_dated,
    cut,
    flipped,
    forged,
    make_world,
    place_of,
    record_of,
    retyped,
    rewrite,
    set_leaf,
    tile_rows,
)

_verify: Any = import_module("cortex.runtime.audit.verify")

pytestmark = pytest.mark.once  # the file that it is compared with is the same in the wheel

TAMPERS = int(os.environ.get("CORTEX_VERIFIER_TAMPERS", "80"))
SEED = 17
SOURCES = Path(__file__).parent.parent / "conformance" / "verifier-c"
HEADERS = ("sqlite3.h", "zstd.h", "openssl/evp.h")
LIBRARIES = ("-lsqlite3", "-lzstd", "-lcrypto")
CAREFUL = "-O1 -g -Werror -fsanitize=address,undefined -fno-sanitize-recover=all"


class Said(NamedTuple):
    """What a verifier says of a log."""

    kind: str  # "" if all holds, "unreadable" if it cannot tell
    position: int
    events: int
    root: str
    problem: str


class Program(NamedTuple):
    """The verifier in C, built."""

    path: Path

    def said(self, *asked: str) -> Said:
        done = subprocess.run(
            [str(self.path), *asked], capture_output=True, encoding="utf-8", check=False
        )
        assert done.returncode in (0, 1, 2), (asked, done.stderr)
        assert "Sanitizer" not in done.stderr, (asked, done.stderr)
        if done.returncode == 2:
            return Said("unreadable", 0, 0, "", done.stderr)
        found = json.loads(done.stdout)
        assert found["holds"] == (done.returncode == 0)
        whole = found.get("events", 0), found.get("root", "")
        return Said(
            found.get("kind", ""), found.get("position", 0), *whole, found.get("problem", "")
        )


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    if shutil.which("make") is None or shutil.which("cc") is None:
        pytest.skip("make and a C compiler are not installed")
    folder = tmp_path_factory.mktemp("verifier")
    included = "".join(f"#include <{header}>\n" for header in HEADERS)
    (folder / "probe.c").write_text(f"{included}int main(void) {{ return 0; }}\n")
    probe = [
        "cc",
        *CAREFUL.split(),
        "-o",
        str(folder / "probe"),
        str(folder / "probe.c"),
        *LIBRARIES,
    ]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("install libsqlite3-dev, libzstd-dev and libssl-dev, or the like, for C")
    build = ["make", "-s", "-C", str(SOURCES), f"BUILD={folder}", f"CFLAGS={CAREFUL}"]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Program(folder / "verify-log")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("compared"))


@pytest.fixture(scope="module")
def archived(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("archived"), (90, 800), (512, 768))


@pytest.mark.parametrize("through", [0, 256], ids=["table", "archive"])
def test_a_log_of_a_subject_holds_before_and_after_an_erasure(
    program: Program, tmp_path: Path, through: int
) -> None:
    home = Home.create(tmp_path / ".cortex")
    with Runtime(home, components=()) as runtime:
        with serving("anna"):
            digest = runtime.blobs.put(b"a letter")
        event = TriggerReceived(trigger_id="t", fields={"letter": digest}, subject="anna")
        more = [msgspec.structs.replace(event, trigger_id=f"t{n}") for n in range(300)]
        runtime.client("tests").publish(event, *more)
    assert seal_log(home, through=through).events == through

    def checked() -> list[Said]:
        asked = str(home.log_path), "--blobs", str(home.blobs)
        python = _verify.check_log(home.log_path, home.path / "archive", [], home.blobs)
        return [program.said(*asked), Said("", 0, python["events"], python["root"], "")]

    before = checked()
    assert [event.fields for event in found(home)] == [{"letter": digest}] * 301
    erasure.erase(home, "anna", "a letter")
    after = checked()

    assert before[0] == before[1]
    assert after[0] == after[1]
    assert len(found(home)) == 301
    assert not any("letter" in event.fields for event in found(home))
    assert after[0].events > before[0].events


def found(home: Home) -> list[TriggerReceived]:
    """What is recorded of the subject, as a reader has it."""
    with HomeLog.open(home) as log:
        events = [log.event(record) for record in log.select(Selection(topics=("trigger.*",)))]
    return [event for event in events if isinstance(event, TriggerReceived)]


def disagreement(
    program: Program,
    world: World,
    heads: tuple[Path, ...] = (),
    blobs: Path | None = None,
    archive: Path | None = None,
) -> tuple[str, str]:
    """What the verifier in Python found, and how the one in C differs: "" if it does not."""
    ours = world.checked(heads, blobs, archive)
    theirs = program.said(*world.asked(heads, blobs, archive))
    return ours[0], "" if ours == theirs[:2] else f"{ours} in Python, {theirs} in C"


# --- changed logs


def file_bit(world: World, chance: random.Random) -> None:
    world.log.write_bytes(flipped(world.log.read_bytes(), chance))


def file_page(world: World, chance: random.Random) -> None:
    """A page of the file is overwritten, by another one or by nothing, or the end is cut off."""
    data = world.log.read_bytes()
    pages = len(data) // 4096
    to, of = (4096 * chance.randrange(1, pages) for _ in range(2))
    page = chance.choice([bytes(4096), data[of : of + 4096]])
    cut_off = chance.random() < 0.3
    world.log.write_bytes(data[:to] if cut_off else data[:to] + page + data[to + 4096 :])


def to_rows(change: Change) -> Callable[[World, random.Random], None]:
    def changed(world: World, chance: random.Random) -> None:
        place_of(world, change, chance)

    return changed


CHANGES: tuple[Callable[[World, random.Random], None], ...] = (
    *map(to_rows, (*FOUND_ALONE, forged, cut, retyped, retyped, back_dated, tile_rows)),
    *(file_bit, file_bit, file_page),
)


def test_both_verifiers_find_the_same_damage_at_the_same_position(
    program: Program, world: World
) -> None:
    chance, found = random.Random(SEED), Counter[str]()
    differences = []

    for number, change in enumerate(islice(cycle(CHANGES), TAMPERS)):
        world.fresh()
        change(world, chance)
        kind, difference = disagreement(program, world, world.heads if number % 2 else ())
        found[kind] += 1
        differences += [difference] if difference else []

    assert differences == []
    assert found.keys() > {"edit", "deletion", "reordering", "fork", "cut tail", ""}


# --- changed archives


def one_of(folder: Path, chance: random.Random) -> Path:
    return chance.choice(sorted(folder.glob("*.zst")))


def file_changed(world: World, folder: Path, chance: random.Random) -> None:
    """A file of the archive has a changed bit, another end or other bytes, or is gone."""
    path = one_of(folder, chance)
    data = path.read_bytes()
    made = chance.choice([flipped(data, chance), data[: chance.randrange(len(data))], data + b"x"])
    path.write_bytes(made)
    if chance.random() < 0.2:
        path.unlink()


def file_renamed(world: World, folder: Path, chance: random.Random) -> None:
    """As `file_changed`, by somebody who makes its name and its row anew."""
    path = one_of(folder, chance)
    data = path.read_bytes()
    made = chance.choice([flipped(data, chance), data[: chance.randrange(len(data))], data + b"x"])
    first, last, _ = path.name.split("-")
    digest = sha256(made).hexdigest()
    path.unlink()
    path.with_name(f"{first}-{last}-{digest}.zst").write_bytes(made)
    with closing(connect(world.log)) as log, log:
        log.execute("update segments set digest = ? where first = ?", (digest, int(first)))


def file_repacked(world: World, folder: Path, chance: random.Random) -> None:
    """A record of the archive is changed, by somebody who packs its file anew."""
    path = one_of(folder, chance)
    first, last, _ = path.name.split("-")
    tiles = [unpacked_tile(part) for part in (split(path.read_bytes()))]
    records = chance.choice(tiles)
    at = chance.randrange(len(records))
    records[at] = chance.choice([flipped(records[at], chance), b"", records[at - 1]])
    made = b"".join(map(packed_tile, tiles))
    digest = sha256(made).hexdigest()
    path.unlink()
    path.with_name(f"{first}-{last}-{digest}.zst").write_bytes(made)
    with closing(connect(world.log)) as log, log:
        log.execute("update segments set digest = ? where first = ?", (digest, int(first)))
        if chance.random() < 0.5:
            position = int(first) + 256 * tiles.index(records) + at
            set_leaf(log, position, _verify.leaf_hash(records[at]))


def split(data: bytes) -> list[bytes]:
    """What the frames of a file are unpacked to, a tile each."""
    reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
    whole, tiles, at = reader.read(1 << 24), [], 0
    while at < len(whole):
        size = 1024 + sum(unpack_from(">256I", whole, at))
        tiles.append(whole[at : at + size])
        at += size
    return tiles


def unpacked_tile(tile: bytes) -> list[bytes]:
    ends = [1024, *(1024 + end for end in accumulate(unpack_from(">256I", tile)))]
    return [tile[start:end] for start, end in pairwise(ends)]


def packed_tile(records: list[bytes]) -> bytes:
    return zstandard.compress(pack(">256I", *map(len, records)) + b"".join(records))


def row_changed(world: World, folder: Path, chance: random.Random) -> None:
    """A row about a segment becomes any other one, in a table without types."""
    name = chance.choice(["first", "last", "digest"])
    values = ["null", "-1", "0", "1", "513", "512.0", "768", "9e18", "'abc'", "'513'", "x'30'"]
    value = chance.choice([*values, f"{name} + 256", f"{name} - 256", f"cast({name} as blob)"])
    with closing(connect(world.log)) as log, log:
        log.execute("create table other (first, last, digest)")
        log.execute("insert into other select first, last, digest from segments")
        log.execute("drop table segments")
        log.execute("alter table other rename to segments")
        log.execute(
            f"update segments set {name} = {value} where first = ?", (chance.choice([1, 513]),)
        )


def table_changed(world: World, folder: Path, chance: random.Random) -> None:
    """Events of the table are gone, up to all of them, or rows about the archive."""
    statement = chance.choice(
        [
            "delete from events",
            "delete from events where position > 770",
            "delete from events where position < 800",
            "delete from segments where first = 1",
            "delete from segments where first > 1",
            "drop table segments",
            "update events set position = position - 300",
            "update meta set value = '2' where name = 'format'",
        ]
    )
    with closing(connect(world.log)) as log, log:
        log.execute(statement)


def rows_changed(world: World, folder: Path, chance: random.Random) -> None:
    change = chance.choice([*FOUND_ALONE, forged, cut, retyped, back_dated, tile_rows])
    place_of(world, change, chance)


ARCHIVE_CHANGES: tuple[Callable[[World, Path, random.Random], None], ...] = (
    *(file_changed, file_renamed, file_repacked, row_changed, table_changed, rows_changed),
)


def test_both_verifiers_find_the_same_damage_of_an_archive(
    program: Program, archived: World, tmp_path: Path
) -> None:
    chance, found = random.Random(SEED), Counter[str]()
    differences, folder = [], tmp_path / "archive"

    for number, change in enumerate(islice(cycle(ARCHIVE_CHANGES), TAMPERS)):
        archived.fresh()
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(archived.folder / "archive", folder)
        change(archived, folder, chance)
        heads = archived.heads if number % 2 else ()
        kind, difference = disagreement(program, archived, heads, archive=folder)
        found[kind] += 1
        differences += [f"{change.__name__}: {difference}"] if difference else []

    assert differences == []
    assert found.keys() > {"edit", "deletion", "cut tail"}


def test_both_verifiers_compute_the_same_root_of_a_log_with_an_archive(
    program: Program, archived: World
) -> None:
    archived.fresh()

    said = program.said(*archived.asked(archived.heads, archived.blobs))  # beside the log

    assert said == ("", 0, archived.events, archived.root, "")


@pytest.mark.parametrize(
    ("table", "columns", "change"),
    [
        ("meta", "name, value", "set value = {} where name = 'format'"),
        ("meta", "name, value", "set value = {} where name = 'log_id'"),
        ("events", "position, stream, version, record", "set position = {} where position = 30"),
        ("events", "position, stream, version, record", "set position = {} where position = 302"),
        ("events", "position, stream, version, record", "set stream = {} where position = 30"),
        ("events", "position, stream, version, record", "set version = {} where position = 1"),
        ("events", "position, stream, version, record", "set record = {} where position = 30"),
        ("tiles", "first, hashes", "set first = {} where first = 1"),
        ("tiles", "first, hashes", "set hashes = {} where first = 1"),
    ],
)
def test_both_verifiers_say_the_same_of_tables_with_values_of_any_type(
    program: Program, world: World, table: str, columns: str, change: str
) -> None:
    values = ("null", "-1", "0", "1", "1.0", "1.5", "30.0", "1e300", "'abc'", "''", "x''", "x'30'")

    for value in values:
        world.fresh()
        with closing(connect(world.log)) as log, log:
            log.execute(f"create table other ({columns})")
            log.execute(f"insert into other select {columns} from {table}")
            log.execute(f"drop table {table}")
            log.execute(f"alter table other rename to {table}")
            log.execute(f"update {table} {change.format(value)}")
        assert not disagreement(program, world, world.heads)[1], value


def test_both_verifiers_say_the_same_of_changed_heads(
    program: Program, world: World, tmp_path: Path
) -> None:
    chance, found = random.Random(SEED), Counter[str]()
    note, changed = world.heads[-1].read_bytes(), tmp_path / "changed.note"
    text, _, _ = note.partition(b"\n\n")
    odd = (text, text + b"\n\n", note[:-1], note + b"\n", note.replace(b"\n", b"\r\n"))
    world.fresh()

    for number in range(max(20, TAMPERS // 4)):
        data = odd[number] if number < len(odd) else flipped(note, chance)
        changed.write_bytes(data)
        one = world._replace(keys=(chance.choice(world.keys),))
        kind, difference = disagreement(program, one, (changed,))
        assert not difference, data
        found[kind] += 1

    assert found.keys() >= {"", "edit", "unreadable"}


def test_both_verifiers_say_the_same_of_changed_blobs(
    program: Program, world: World, tmp_path: Path
) -> None:
    chance, found = random.Random(SEED), Counter[str]()
    (blob,) = (path for path in world.blobs.glob("*/*") if path.is_file())
    changed = tmp_path / blob.parent.name / blob.name
    changed.parent.mkdir()
    whole = blob.read_bytes()
    world.fresh()

    for data in (whole, whole + b"\0", whole + whole, whole[:-1], b""):
        changed.write_bytes(data)
        expected = "" if data == whole else "swapped blob"
        assert disagreement(program, world, blobs=tmp_path) == (expected, "")
    for _ in range(max(10, TAMPERS // 20)):
        changed.write_bytes(flipped(whole, chance))
        kind, difference = disagreement(program, world, blobs=tmp_path)
        # Versions of zstd differ in which reserved bits they refuse.
        assert not difference or not unpacks(changed.read_bytes())
        found["different" if difference else kind] += 1

    assert found["swapped blob"] > found["different"]


def unpacks(data: bytes) -> bool:
    try:
        zstandard.decompress(data)
    except zstandard.ZstdError:
        return False
    return True


# --- whole logs


def test_both_verifiers_compute_the_same_root_of_a_whole_log(
    program: Program, world: World
) -> None:
    world.fresh()

    said = program.said(*world.asked(world.heads, world.blobs))

    assert said == ("", 0, world.events, world.root, "")


def test_the_second_verifier_is_asked_with_the_same_words(
    program: Program, world: World, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    key.write_text(world.keys[0] + "\n")
    world.fresh()
    head = [f"--head={world.heads[-1]}", f"--key={key}", "--json"]

    assert program.said(str(world.log), *head).kind == ""
    for wrong in ([], ["--head"], ["--heads", "x"], [str(world.log), "x"], head[:1]):
        assert program.said(*wrong).kind == "unreadable"


def test_a_loss_that_a_log_declares_is_no_damage_to_either(
    program: Program, tmp_path: Path
) -> None:
    with forked(tmp_path) as (world, before):
        _, difference = disagreement(program, world, world.heads)
        assert not difference
        assert world.checked(world.heads) == ("", 0)
        lost = _verify.found_by(_verify.arguments(world.asked(world.heads)))
        assert lost["declared_lost"] == {before: 302 - 91}


def test_a_declaration_with_another_root_says_nothing_to_either(
    program: Program, tmp_path: Path
) -> None:
    with forked(tmp_path) as (world, _), closing(connect(world.log)) as log:
        with log:
            (position,) = (
                at
                for at in range(1, world.events + 1)
                if b"log.fork_declared" in record_of(log, at)
            )
            fields = msgspec.msgpack.decode(record_of(log, position))
            body = msgspec.msgpack.decode(fields[13])
            fields[13] = msgspec.msgpack.encode(body | {"root": "00" * 32})
            rewrite(log, position, msgspec.msgpack.encode(fields))

        kind, difference = disagreement(program, world, world.heads[:2])

    assert (kind, difference) == ("fork", "")


@contextmanager
def forked(folder: Path) -> Iterator[tuple[World, str]]:
    """A log that lost its end, goes on in another way and declares that; and its first origin."""
    home = Home(make_signed(folder, ("alice", "bob"), (90, 300)))
    with closing(connect(home.log_path)) as log, log:
        log.execute("delete from events where position > 256")
        log.execute("delete from tiles where first > 256")
    with Runtime(home, components=[], config=Config()) as runtime:
        runtime.client("me").publish(*(Noted(number=-n) for n in range(300)))
    auditing = Auditing(home)
    auditing.sign(declares_fork=True)
    with closing(connect(home.log_path)) as log:
        (events,) = log.execute("select max(position) from events").fetchone()
    keys = tuple(key.text() for key in auditing.public_keys())
    heads = tuple(path for path, _ in auditing.heads())
    shutil.copy(home.log_path, folder / "changed.db")
    yield World(folder, range(1, events + 1), "", heads, keys), auditing.origin()


@pytest.mark.parametrize("algorithm", ["ed25519-cosignature", "ml-dsa-44"])
def test_both_verifiers_accept_the_cosignature_of_a_witness_and_no_changed_one(
    program: Program, world: World, tmp_path: Path, algorithm: Any
) -> None:
    head = _verify.parsed_head(world.heads[-1].read_text())
    key = SigningKey.new("example.com/witness", algorithm)
    tree = Auditing(Home(world.folder / ".cortex")).heads()[-1][1].tree_head
    good = head.text.decode() + "\n" + key.sign(tree, 1_700_000_000)
    one = world._replace(keys=(key.verifier().text(),))
    note = tmp_path / "cosigned.note"
    world.fresh()

    for text, kind in ((good, ""), (re.sub("(?m)^— (.*) (.{12})", swapped, good), "edit")):
        note.write_text(text, encoding="utf-8")
        assert disagreement(program, one, (note,)) == (kind, "")


def swapped(line: re.Match[str]) -> str:
    """The same line with another time of signing."""
    start = line[2][:10] + ("AA" if line[2][10:] != "AA" else "BB")
    return f"— {line[1]} {start}"


def test_both_verifiers_accept_the_proof_of_an_event_and_of_no_other(
    program: Program, world: World, tmp_path: Path
) -> None:
    auditing = Auditing(Home(world.folder / ".cortex"))
    (tmp_path / "proof").write_text(auditing.prove(42).text(), encoding="utf-8")
    keys = [word for key in world.keys for word in ("--key", key)]

    for position, kind in ((42, ""), (43, "edit")):
        (tmp_path / "record").write_bytes(auditing.record(position))
        words = ["--proof", str(tmp_path / "proof"), "--record", str(tmp_path / "record"), *keys]
        assert program.said(*words)[:2] == (kind, 42 if kind else 0)
        assert _verify.main(words) == (1 if kind else 0)
