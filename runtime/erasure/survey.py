"""What there is of a subject before it is erased, and what cannot be erased."""

import os
import re
from collections.abc import Collection, Iterator
from glob import escape
from pathlib import Path
from typing import Final

import msgspec

from cortex.bus import ENCRYPTED, Recorded, decode
from cortex.runtime.kernel import Home
from cortex.runtime.log import BlobError, BlobStore, EventLog, SegmentError
from cortex.runtime.projections import STREAM
from cortex.runtime.subjects import blob_subject, key_path

from .copies import copies_in

PAGE, PAGE_BYTES = 1_024, 4 << 20
SHOWN: Final = 100  # places that are listed; the rest is counted
# In a home: its log and what belongs to it, keys, and what is made of the user's own files.
KNOWN: Final = ("archive", "blobs", "keys", "log.db", "log.db-shm", "log.db-wal", "vectors")
DIGEST: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
LARGEST_BYTES: Final = 64 << 20  # of one of them; a larger one is not looked into


class Place(msgspec.Struct, frozen=True):
    """Where the name of a subject stands unencrypted; an erasure does not change it."""

    what: str  # "event", "blob", "file"
    where: str  # "position 17", a digest, a path in the home, or a whole one
    about: str = ""  # the topic of an event


class Survey(msgspec.Struct):
    """What a home holds of a subject."""

    events: int = 0  # encrypted for it
    blobs: int = 0
    executions: list[str] = []
    unencrypted: int = 0  # places, however many are listed
    places: list[Place] = []
    unread: list[str] = []  # files of the archive that cannot be read, each with the reason

    def add(self, place: Place) -> None:
        """Note one more place that cannot be erased."""
        self.unencrypted += 1
        if len(self.places) < SHOWN:
            self.places.append(place)


def survey(home: Home, log: EventLog, subjects: Collection[str], texts: Collection[str]) -> Survey:
    """Look through the whole home; a segment of the archive that cannot be read is passed over.

    Args:
        home: Where.
        log: Its log, as it is stored.
        subjects: The ids of the subject.
        texts: What gives it away: its name, and what else the caller looks for.
    """
    found = Survey()
    sought = [text.casefold() for text in texts if text]
    for data in _records(log, found):
        if data[1] == ENCRYPTED:
            record = decode(data)
            if record.subject in subjects:
                _count(found, record)
                continue
        if _holds(data, sought):
            record = decode(data)
            found.add(Place("event", f"position {record.position}", record.topic))
    _look_at_blobs(found, BlobStore(home.blobs), subjects, sought)
    for path in _other_files(home.path, copies_in(home.path, subjects, found.executions)):
        if _holds(path.read_bytes(), sought):
            found.add(Place("file", str(path.relative_to(home.path))))
    for path in _keys_aside(home.path, subjects):
        found.add(Place("file", str(path)))
    return found


def _records(log: EventLog, found: Survey) -> Iterator[bytes]:
    after = 0
    while after < log.head:
        try:
            page = log.read(after, PAGE, PAGE_BYTES)
        except SegmentError as error:
            segment = next(each for each in log.archive.segments if each.last > after)
            found.unread.append(f"archive/{segment.name}: {error.problem}")
            after = segment.last
            continue
        yield from page
        after += len(page)


def _count(found: Survey, record: Recorded) -> None:
    found.events += 1
    if record.version == 1 and record.stream.startswith(STREAM):
        found.executions.append(record.stream.removeprefix(STREAM))


def _look_at_blobs(
    found: Survey, store: BlobStore, subjects: Collection[str], sought: Collection[str]
) -> None:
    for digest, _ in store.idle(0.0):
        try:
            data = store.get(digest)
        except BlobError:
            continue  # it cannot be read, by nobody
        if blob_subject(data) in subjects:
            found.blobs += 1
        elif _holds(data, sought):
            found.add(Place("blob", digest))


def _holds(data: bytes, sought: Collection[str]) -> bool:
    if not sought:
        return False
    # Not `data.lower()`, which knows no letters but those of ASCII.
    folded = data.decode(errors="replace").casefold()
    if not any(text in folded for text in sought):
        return False
    # A short name such as "ada" stands by chance in every few SHA-256.
    named = DIGEST.sub(lambda found: found[0] if found[0] in sought else " ", folded)
    return any(text in named for text in sought)


def _keys_aside(home: Path, subjects: Collection[str]) -> Iterator[Path]:
    """Keys in homes that `cortex restore --replace` moved aside, which can still be read."""
    for aside in sorted(home.parent.glob(f"{escape(home.name)}.before-*")):
        yield from (each for name in subjects if (each := key_path(aside, name)).exists())


def _other_files(home: Path, removed: Collection[Path]) -> Iterator[Path]:
    """What no erasure changes: the user's own files, and whatever else programs left in a home."""
    skipped = {*removed, *(home / name for name in KNOWN)}
    for folder, folders, files in os.walk(home):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if here / name not in skipped)
        for path in (here / name for name in sorted(files)):
            known = path in skipped or path.is_symlink() or not path.is_file()
            if not known and path.stat().st_size <= LARGEST_BYTES:
                yield path
