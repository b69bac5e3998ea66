"""Checks a Cortex log without Cortex: every byte, its order, its Merkle root, its signed heads.

    python verify.py LOG [--head FILE --key KEY]... [--archive FOLDER] [--blobs FOLDER] [--json]
    python verify.py --proof FILE --record FILE --key KEY

LOG is the file `log.db` of a home; it is opened for reading and may be in use. Its archive is the
folder beside it, unless --archive names another. The formats are in docs/log-format.md. This file
imports nothing of Cortex: read it, copy it, run it where you trust it. It needs `msgpack`;
`zstandard` for archive and blobs, and `cryptography` for signatures.

Exit code 0: all that was asked holds; 1: something does not, and the first line says where and what
kind of damage it is; 2: it could not be read.
"""

import argparse
import base64
import contextlib
import hashlib
import json
import os
import re
import sqlite3
import struct
import sys
from collections.abc import Iterable, Iterator
from itertools import islice, product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import msgpack

FORMATS = (1, 2, 3)  # of the tables
RECORDS = (1, 2)  # the formats of a record; in 2 the body is encrypted
LEAVES = 256  # leaf hashes in a tile
HASH = 32  # bytes
PAGE = 4_096  # events that are held at once
PIECE = 1 << 10  # of a packed blob: 32 MiB at most when it is unpacked
LARGEST = 256 << 20  # a blob or a record
NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
DIGEST = re.compile(r"[0-9a-f]{64}")
Forks = list[tuple[int, bytes]]  # positions and bodies of the events that declare one


class DamageError(Exception):
    """What is wrong, of which kind, and where."""

    def __init__(self, kind: str, what: str, position: int = 0) -> None:
        super().__init__(kind, what, position)
        self.kind, self.position, self.problem = kind, position, what

    def __str__(self) -> str:
        where = f"position {self.position:,}: " if self.position else ""
        return f"{self.kind}: {where}{self.problem}"


class UnreadableError(Exception):
    """It cannot be checked: it is no log, or what is asked cannot be read."""


class Head(NamedTuple):
    """A signed head: a log of this origin had so many events with this root."""

    origin: str
    size: int
    root: bytes
    text: bytes  # that is signed
    signatures: list[tuple[str, bytes, bytes]]  # name of the key, its id, the signature


def leaf_hash(record: bytes) -> bytes:
    """The leaf of a record."""
    return hashlib.sha256(b"\x00" + record).digest()


def node(left: bytes, right: bytes) -> bytes:
    """The hash over two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Tree:
    """The root over leaves that come one after another; keeps one hash for each level."""

    def __init__(self) -> None:
        self.size = 0
        self._whole: list[bytes] = []  # the roots of whole subtrees, the largest first

    def add(self, leaf: bytes) -> None:
        """Take the next leaf."""
        full, found = self.size, leaf
        while full & 1:  # two whole subtrees of one size become one
            full, found = full >> 1, node(self._whole.pop(), found)
        self._whole.append(found)
        self.size += 1

    def root(self) -> bytes:
        """The root over all so far."""
        *rest, found = self._whole or [hashlib.sha256(b"").digest()]
        for left in reversed(rest):
            found = node(left, found)
        return found


def root_of_path(leaf: bytes, index: int, size: int, path: list[bytes]) -> bytes | None:
    """RFC 9162, 2.1.3.2."""
    if not 0 <= index < size:
        return None
    fn, sn, found, rest = index, size - 1, leaf, iter(path)
    while sn:  # a path that is too short gives another root
        if fn & 1:
            found = node(next(rest, b""), found)
        elif fn < sn:
            found = node(found, next(rest, b""))
        fn, sn = fn >> 1, sn >> 1
    return found if next(rest, None) is None else None


def opened(path: Path) -> sqlite3.Connection:
    """The log, for reading."""
    if not path.is_file():
        raise UnreadableError(f"{path}: there is no such file")
    # SQLite writes beside a log to read it, except for a copy without writers.
    still = not os.access(path.parent, os.W_OK) and not Path(f"{path}-wal").exists()
    uri = f"file:{quote(str(path.absolute()))}?mode=ro{'&immutable=1' if still else ''}"
    try:
        log = sqlite3.connect(uri, uri=True)
        # A stream of other bytes than UTF-8 is found at its position, and equals no text.
        log.text_factory = lambda data: data.decode(errors="surrogateescape")
        known = log.execute("select value from meta where name = 'format'").fetchone()
    except sqlite3.Error as error:
        raise UnreadableError(f"{path}: it cannot be read as a log of Cortex ({error})") from None
    if known is None or str(known[0]) not in map(str, FORMATS):
        raise UnreadableError(f"{path}: its format is {known and known[0]}, not {FORMATS}")
    return log


def ends(log: sqlite3.Connection) -> tuple[int, int]:
    """Positions of the last event and of the last leaf hash; none is below 1."""
    # One statement: a writer may add events and their leaf hashes at any time.
    least, head, hashed = log.execute(
        "select (select coalesce(min(position), 1) from events), "
        "(select coalesce(max(position), 0) from events), "
        "(select first - 1 + length(hashes) / ? from tiles order by first desc limit 1)",
        (HASH,),
    ).fetchone()
    if not isinstance(least, int) or not isinstance(head, int) or least < 1:
        raise DamageError("edit", f"positions are whole numbers from 1 on, not {least}")
    return head, hashed if isinstance(hashed, int) else 0


def events(log: sqlite3.Connection, archive: Path, head: int) -> Iterator[tuple[Any, ...]]:
    """Rows up to position *head* in order, read in pages, so that a writer is never held up."""
    of = "select position, stream, version, record from events where position > ? and position <= ?"
    after, page = 0, f"{of} order by position limit ?"
    while after < head or not head:  # without any row, all of it is in the archive
        rows, problem = list[tuple[Any, ...]](), ""
        try:
            rows.extend(log.execute(page, (after, head, PAGE)))
        except sqlite3.Error as error:
            problem = f"SQLite cannot read on ({error})"
            with contextlib.suppress(sqlite3.Error):  # Python lost the row before the error
                rows = log.execute(page, (after, head, len(rows) + 1)).fetchall()
        segment = segment_after(log, after)  # only now: a hub may have sealed the rows meanwhile
        yield from sealed(archive, *segment) if segment else rows
        end = int(rows[-1][0]) if rows else after  # a table without types may have 30.0
        if problem and not segment:
            raise DamageError("edit", problem, end + 1)
        if not rows and not segment:
            return
        after = segment[1] if segment else end


def segment_after(log: sqlite3.Connection, after: int) -> tuple[int, int, str] | None:
    """Positions and SHA-256 of the file of the archive that begins after *after*, if one does."""
    newer = log.execute("select 1 from meta where name = 'format' and value in ('3', 3)").fetchone()
    of = "select last, digest from segments where first = ?"  # older formats have no such table
    if not (found := newer and log.execute(of, (after + 1,)).fetchone()):
        return None
    last, digest = found  # of any type, if somebody made the table anew
    whole = isinstance(last, int) and last > after and (last - after) % LEAVES == 0
    if not whole or not isinstance(digest, str) or not DIGEST.fullmatch(digest):
        raise DamageError("edit", "the row of its segment was changed", after + 1)
    return after + 1, last, digest


def sealed(archive: Path, first: int, last: int, digest: str) -> Iterator[tuple[Any, ...]]:
    """The records in a file of the archive, which have no columns."""
    import zstandard

    path = archive / f"{first:012}-{last:012}-{digest}.zst"
    if not path.is_file():
        raise DamageError("deletion", f"{path} is missing", first)
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != digest:
            raise DamageError("edit", f"{path.name} has other bytes than its name says", first)
        file.seek(0)
        content = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        try:
            for tile in range(first, last, LEAVES):
                sizes = struct.unpack(f">{LEAVES}I", content.read(4 * LEAVES))
                for position, size in enumerate(sizes, tile):
                    (record,) = struct.unpack(f"{size}s", content.read(min(size, LARGEST)))
                    yield position, ..., ..., record
        except (zstandard.ZstdError, struct.error) as error:
            raise DamageError("edit", f"{path.name} is not packed so ({error})", first) from None


def leaves(log: sqlite3.Connection) -> Iterator[bytes]:
    """The stored leaf hashes from position 1 on; to ask for more than there are is damage."""
    expected = 1
    for first, hashes in log.execute("select first, hashes from tiles order by first"):
        whole = isinstance(first, int) and isinstance(hashes, bytes) and hashes
        if not whole or len(hashes) % HASH:
            raise DamageError("edit", "its row of leaf hashes has another form", expected)
        if first != expected:
            raise DamageError("deletion", "its leaf hash is missing or twice", min(first, expected))
        if (first - 1) // LEAVES != (first - 2 + len(hashes) // HASH) // LEAVES:
            raise DamageError("edit", "its row of leaf hashes reaches over a tile", first)
        for at in range(0, len(hashes), HASH):
            yield hashes[at : at + HASH]
            expected += 1
    raise DamageError("deletion", "its leaf hash is missing", expected)


def checked(log: sqlite3.Connection, archive: Path, forks: Forks) -> Iterator[bytes]:
    """The leaf hash of each event, once it is checked; adds to *forks* what declares one."""
    head, hashed = ends(log)
    last, time_ns, stored, versions = 0, 0, leaves(log), dict[str, int]()
    for position, stream, version, record in events(log, archive, head):
        if position != last + 1:
            raise DamageError("deletion", "the event is missing", last + 1)
        fields, leaf = decoded(record, position), leaf_hash(record)
        if fields[1] != position:
            raise DamageError("reordering", f"its record says position {fields[1]}", position)
        if leaf != next(stored):
            raise DamageError("edit", "its record does not have its leaf hash", position)
        if stream is not ... and fields[2:4] != [stream, version]:
            raise DamageError("edit", f"its columns say {stream!r} {version!r}", position)
        stream, version = fields[2:4]
        before = versions.get(stream, 0)
        if version != before + 1:
            raise DamageError("reordering", f"{stream!r} goes from {before} to {version}", position)
        if fields[5] < time_ns:
            raise DamageError("back-dating", "its time is before that of the one before", position)
        if fields[9] is not None and not 0 < fields[9] < position:
            raise DamageError("edit", f"it is said to be caused by position {fields[9]}", position)
        if fields[6] == "log.fork_declared":
            forks.append((position, fields[13]))
        versions[stream], time_ns, last = version, fields[5], position
        yield leaf
    if hashed > last:
        raise DamageError("cut tail", "there are leaf hashes of events that are gone", last + 1)


def grown(leaf_hashes: Iterator[bytes], sizes: Iterable[int]) -> tuple[Tree, dict[int, bytes]]:
    """The tree over all *leaf_hashes*, and its root at each of *sizes*."""
    tree, wanted = Tree(), set(sizes)
    roots = {0: tree.root()}
    for leaf in leaf_hashes:
        tree.add(leaf)
        if tree.size in wanted:
            roots[tree.size] = tree.root()
    return tree, roots


def left(log: sqlite3.Connection, forks: Forks) -> dict[str, int]:
    """Origins that the log left by one of *forks*, and the last position in common with each."""
    said = []
    for position, body in forks:
        with contextlib.suppress(Exception):  # whatever msgpack raises, it declares nothing
            fields = msgpack.unpackb(body)
            each = [fields[name] for name in ("common", "before", "origin", "root")]
            if [*map(type, each)] == [int, str, str, str] and 0 <= each[0] < position:
                said.append(each)
    sizes = {common for common, *_ in said}
    _, roots = grown(islice(leaves(log), max(sizes, default=0)), sizes)
    good = [each for each in said if each[1] != each[2] and roots[each[0]].hex() == each[3]]
    return {before: common for common, before, *_ in reversed(good)}


SHAPES = {*product(  # the types of the fields of a record
    (int,), (int,), (str,), (int,), (bytes,), (int,), (str,), (int,),
    (str, type(None)), (int, type(None)), (str,), (str, type(None)), (str, type(None)), (bytes,),
)}  # fmt: skip


def decoded(record: Any, position: int) -> list[Any]:
    """The fields of a record, each of its type; the body stays as it is."""
    try:
        fields: list[Any] = msgpack.unpackb(record, raw=False, strict_map_key=False)
    except Exception as error:  # noqa: BLE001  # whatever msgpack raises, it is no record
        raise DamageError("edit", f"its record cannot be decoded ({error})", position) from None
    shape = tuple(map(type, fields)) if isinstance(fields, list) else ()
    if shape not in SHAPES:
        raise DamageError("edit", "its record is not 14 fields of their types", position)
    if fields[0] not in RECORDS:
        raise DamageError("edit", f"its record has format {fields[0]}", position)
    return fields


def check_blobs(folder: Path) -> int:
    """How many blobs there are; each has to have the digest that its name says."""
    import zstandard

    count = 0
    for path in sorted(folder.resolve(strict=True).glob("[0-9a-f][0-9a-f]/*")):
        digest, size, found = path.parent.name + path.name, 0, hashlib.sha256()
        if not DIGEST.fullmatch(digest):
            continue
        if path.exists() and not path.is_file():
            raise DamageError("swapped blob", f"{digest} is no file")
        unpacking = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
        try:
            with path.open("rb") as packed:
                while size <= LARGEST and not unpacking.eof and (piece := packed.read(PIECE)):
                    data = unpacking.decompress(piece)
                    size += len(data)
                    found.update(data)
                rest = unpacking.unused_data or packed.read(1)
        except FileNotFoundError:
            continue  # Cortex has removed it, as it does with what no event names
        except zstandard.ZstdError as error:
            raise DamageError("swapped blob", f"{digest} cannot be unpacked ({error})") from None
        if found.hexdigest() != digest or not unpacking.eof or rest or size > LARGEST:
            raise DamageError("swapped blob", f"{digest} has other bytes than its name says")
        count += 1
    return count


def number(text: str) -> int:
    """The whole number that *text* is, as the formats write it."""
    if not NUMBER.fullmatch(text):
        raise UnreadableError(f"{text[:40]!r} is no number of events")
    return int(text)


def unpacked(text: str) -> bytes:
    """The bytes that *text* is in base64; no other text is the same bytes."""
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise UnreadableError(f"{text[:40]!r} is no base64")
    return data


def parsed_head(text: str) -> Head:
    """The head in a signed note; nothing of it is believed yet."""
    said, apart, lines = text.rpartition("\n\n")
    head, control = said.split("\n"), {*text} & {*map(chr, range(32))} - {"\n"}
    if not apart or len(head) < 3 or not all(head) or not lines.endswith("\n") or control:
        raise UnreadableError("it is no signed head")
    signatures = []
    for line in lines[:-1].split("\n"):
        words = line.split(" ")
        data = unpacked(words[2]) if len(words) == 3 and words[0] == "\u2014" else b""
        if len(data) < 5 or not words[1]:
            raise UnreadableError(f"{line[:40]!r} is no line of a signature")
        signatures.append((words[1], data[:4], data[4:]))
    root = unpacked(head[2])
    if len(root) != HASH:
        raise UnreadableError("the root of the head is no SHA-256")
    return Head(head[0], number(head[1]), root, f"{said}\n".encode(), signatures)


def signers(head: Head, keys: list[str]) -> list[str]:
    """Names of the *keys* that signed *head*; one that is named and did not is damage."""
    found = []
    for text in keys:
        name, key_id, data = [*text.strip().split("+", 2), "", ""][:3]  # base64 may have a +
        if not (public := unpacked(data)):
            raise UnreadableError("a key is no public key, NAME+ID+KEY, and no file of one")
        own = hashlib.sha256(name.encode() + b"\n" + public).digest()[:4]
        if own.hex() != key_id:
            raise UnreadableError(f"the key of {name} has another id than it says")
        for signer, signer_id, signature in head.signatures:
            if (signer, signer_id) == (name, own):
                if not signed(head, name, public, signature):
                    raise DamageError("edit", f"the signature of {name} does not hold")
                found.append(name)
    if not found:
        raise DamageError("fork", "none of the keys that were given signed this head")
    return found


def signed(head: Head, name: str, public: bytes, signature: bytes) -> bool:
    """Whether the key signed the head."""
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ed25519

    try:
        if public[0] in (1, 4):  # 4: a witness, whose time is signed, too
            at = signature[:8] if public[0] == 4 else b""
            text = b"cosignature/v1\ntime %d\n" % int.from_bytes(at, "big") if at else b""
            known = ed25519.Ed25519PublicKey.from_public_bytes(public[1:])
            known.verify(signature[len(at) :], text + head.text)
        elif public[0] == 6:
            from cryptography.hazmat.primitives.asymmetric import mldsa

            said = b"subtree/v1\n\0" + bytes([len(name.encode())]) + name.encode() + signature[:8]
            said += bytes([len(head.origin.encode())]) + head.origin.encode()
            said += bytes(8) + head.size.to_bytes(8, "big") + head.root
            mldsa.MLDSA44PublicKey.from_public_bytes(public[1:]).verify(signature[8:], said)
        else:
            raise UnreadableError(f"the key of {name} is of type {public[0]}, not known here")
        return True
    except (InvalidSignature, ValueError):
        return False
    except (ImportError, UnsupportedAlgorithm):
        raise UnreadableError("ML-DSA needs a newer cryptography") from None


def check_proof(text: str, record: bytes, keys: list[str]) -> Head:
    """The head under which *record* is by the proof *text*."""
    head_lines, _, note = text.partition("\n\n")
    first, *lines = [each for each in head_lines.split("\n") if not each.startswith("extra ")]
    if first != "c2sp.org/tlog-proof@v1" or not lines or not lines[0].startswith("index "):
        raise UnreadableError("it is no proof")
    head, index = parsed_head(note), number(lines[0].removeprefix("index "))
    signers(head, keys)
    if root_of_path(leaf_hash(record), index, head.size, [*map(unpacked, lines[1:])]) != head.root:
        raise DamageError("edit", "the record is not under this head", index + 1)
    return head


def check_log(path: Path, archive: Path, heads: list[Head], blobs: Path | None) -> dict[str, Any]:
    """All of a log; what was found."""
    forks = Forks()
    with contextlib.closing(opened(path)) as log:
        named = log.execute("select value from meta where name = 'log_id'").fetchone()
        tree, roots = grown(checked(log, archive, forks), [head.size for head in heads])
        commons = left(log, forks) if heads and forks else {}
    origin = f"cortex.local/{named[0] if named else ''}"
    found: dict[str, Any] = {"events": tree.size, "root": base64.b64encode(tree.root()).decode()}
    for head in heads:
        if not f"{head.origin}/".startswith(f"{origin}/"):
            raise DamageError("fork", f"the signed head is of {head.origin}, the log is {origin}")
        found.setdefault("heads", []).append({"origin": head.origin, "size": head.size})
        if (common := commons.get(head.origin, head.size)) < head.size:
            found.setdefault("declared_lost", {})[head.origin] = head.size - common
        elif head.size > tree.size:
            raise DamageError("cut tail", f"a signed head has {head.size:,} events", tree.size + 1)
        elif roots[head.size] != head.root:
            raise DamageError("fork", "the signed head has another root there", head.size)
    if blobs is not None:
        found["blobs"] = check_blobs(blobs)
    return found


def arguments(given: list[str] | None) -> argparse.Namespace:
    """What is asked."""
    parser = argparse.ArgumentParser(description="Check a Cortex log without Cortex.")
    parser.add_argument("log", nargs="?", type=Path, help="log.db of a home")
    parser.add_argument("--head", type=Path, action="append", default=[], help="a signed head")
    parser.add_argument("--key", action="append", default=[], help="a public key, or its file")
    parser.add_argument("--archive", type=Path, help="the folder archive/, if not beside the log")
    parser.add_argument("--blobs", type=Path, help="the folder blobs/ of the home")
    parser.add_argument("--proof", type=Path, help="a .tlog-proof of one event")
    parser.add_argument("--record", type=Path, help="the bytes of that event")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    asked = parser.parse_args(given)
    if (asked.log is None) == (asked.proof is None) or (asked.proof and not asked.record):
        parser.error("give a LOG, or --proof with --record")
    if (asked.head or asked.proof) and not asked.key:
        parser.error("a head or a proof needs the --key of who signed it")
    return asked


def found_by(asked: argparse.Namespace) -> dict[str, Any]:
    """Do what is asked; what was found."""
    keys = [Path(k).read_text("utf-8") if os.access(k, os.R_OK) else k for k in asked.key]
    if asked.proof:
        head = check_proof(asked.proof.read_bytes().decode(), asked.record.read_bytes(), keys)
        return {"origin": head.origin, "size": head.size}
    heads = [parsed_head(path.read_bytes().decode()) for path in asked.head]
    for head in heads:
        signers(head, keys)
    archive = asked.archive or asked.log.with_name("archive")
    return check_log(asked.log, archive, heads, asked.blobs)


def main(given: list[str] | None = None) -> int:
    """The command; its exit code."""
    asked = arguments(given)
    try:
        found = found_by(asked)
    except DamageError as damage:
        code, said, text = 1, {"holds": False, **vars(damage)}, str(damage)
    except (UnreadableError, ImportError, OSError, ValueError, sqlite3.Error) as error:
        code, said, text = 2, {"error": str(error)}, f"cannot be checked: {error}"
    else:
        code, said = 0, {"holds": True, **found}
        heads = [f"head of {each['size']} events" for each in found.pop("heads", ())]
        text = "; ".join([f"{key} {found[key]}" for key in found] + heads) + ": all of it holds"
    # Without what a terminal would obey: names in a log may be anything.
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    print(json.dumps(said) if asked.json else shown)
    return code


if __name__ == "__main__":
    sys.exit(main())
