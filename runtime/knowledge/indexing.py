"""Bring the store to what stands in the files: only what changed is read and cut again."""

import gc
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from cortex.runtime.retrieval import ChunkEntry, NewFile, PassageStore, StoredFile, chunks_of

from .errors import KnowledgeError, KnowledgeUnreadableError
from .reading import CONVERTED, convert, decoded, read_bytes
from .scan import ScannedFile, scan
from .topics import Root

LARGEST_BYTES: Final = 32 << 20  # of one file; what is larger is data for a tool, not for a prompt
BATCH_BYTES: Final = 8 << 20  # of text in one transaction and one blob
FIRST_BYTES: Final = 1 << 20  # in the first of them
# From one to the next: a batch that takes longer to read than the one before takes to write would
# have the writer wait.
GROWTH: Final = 1.25
COLLECTED_AFTER: Final = 100_000  # objects, not 700, while many files are read
MANY: Final = 200  # files, from where on words are merged once, at the end

Keep = Callable[[bytes], str]  # stores a blob, gives its digest


class IndexedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was indexed, and where its text is kept."""

    path: str
    topic: str
    digest: str
    chunks: int
    offset: int  # of its text in the blob
    bytes: int
    note: str = ""  # why it is not, or not fully, indexed


class Batch(NamedTuple):
    """Files that came into the store together."""

    blob: str  # that holds their texts; "" where nothing keeps blobs
    files: tuple[IndexedFile, ...]


class Indexed(NamedTuple):
    """What one pass over the roots did."""

    batches: tuple[Batch, ...]
    removed: tuple[str, ...]  # paths
    files: int  # that are indexed now
    chunks: int
    text_bytes: int  # that were read

    @property
    def changed(self) -> tuple[IndexedFile, ...]:
        """The files that were new or had changed."""
        return tuple(file for batch in self.batches for file in batch.files)

    @property
    def notes(self) -> tuple[str, ...]:
        """One line a file that is not, or not fully, indexed."""
        return tuple(file.note for file in self.changed if file.note)


class _Prepared(NamedTuple):
    file: NewFile
    text: str


def index(
    store: PassageStore,
    roots: Sequence[Root],
    *,
    keep: Keep | None = None,
    largest_bytes: int = LARGEST_BYTES,
    now_ns: int = 0,
) -> Indexed:
    """Bring *store* to what stands under *roots*.

    A file that cannot be indexed is in the store without chunks, with a note; the others are not
    held up by it. What is killed half-way holds every file whole, old or new.

    Raises:
        StoreDiskError: The disk did not take it; what was committed before stands.
    """
    known = store.files_by_path()
    paths, fresh = scan(roots, known, now_ns)
    mine = {root.path for root in roots}  # what stands under another root is another's to remove
    gone = sorted(path for path in known.keys() - paths if known[path].root in mine)
    if gone:
        with store.writing():
            for path in gone:
                store.remove(path)
    if len(fresh) < MANY:
        batches, text_bytes = _write_all(store, _changed(fresh, known, largest_bytes), keep)
    else:
        with store.filling(), _seldom_collected():
            batches, text_bytes = _write_all(store, _changed(fresh, known, largest_bytes), keep)
    files, chunks = store.counts()
    return Indexed(batches, tuple(gone), files, chunks, text_bytes)


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Without the collector's search, over and over, through what is no garbage: a tenth of all."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECTED_AFTER, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _changed(
    seen: Sequence[ScannedFile], known: Mapping[str, StoredFile], largest_bytes: int
) -> Iterator[_Prepared]:
    for one in seen:
        prepared = _prepare(one, largest_bytes)
        before = known.get(one.path)
        same = before is not None and before.digest == prepared.file.digest
        if not same or not prepared.file.digest or before is None or before.note:
            yield prepared


def _prepare(seen: ScannedFile, largest_bytes: int) -> _Prepared:
    path = Path(seen.path)
    digest, note, text = "", "", ""
    try:
        if seen.problem:
            raise KnowledgeUnreadableError(seen.path, seen.problem)
        data = read_bytes(path, largest_bytes)
        digest = hashlib.sha256(data).hexdigest()
        if path.suffix.lower() in CONVERTED:
            text = convert(path, data)
        else:
            text, encoding = decoded(path, data)
            if encoding == "cp1252":
                note = f"{path} is not UTF-8: it was read as cp1252, and may hold wrong letters"
    except KnowledgeError as error:
        note = str(error)
    entries = list(_entries(path, text))
    return _Prepared(
        NewFile(
            root=seen.root.path,
            path=seen.path,
            topic=seen.topic,
            scope=seen.root.scope,
            digest=digest,
            size_bytes=seen.size_bytes,
            changed_ns=seen.changed_ns,
            entries=entries,
            note=note,
        ),
        text,
    )


def _entries(path: Path, text: str) -> Iterator[ChunkEntry]:
    suffix = path.suffix.lower()
    kind = ".md" if suffix in CONVERTED else suffix
    line, counted = 1, 0
    for chunk in chunks_of(kind, text):
        line += text.count("\n", counted, chunk.start)
        counted = chunk.start
        yield ChunkEntry(
            chunk.heading, line, text[chunk.start : chunk.end].strip("\n"), chunk.speaker
        )


def _write_all(
    store: PassageStore, prepared: Iterator[_Prepared], keep: Keep | None
) -> tuple[tuple[Batch, ...], int]:
    """Write in batches; while SQLite works on one, without the GIL, the next is read and cut."""
    batches: list[Future[Batch]] = []
    size = 0
    with ThreadPoolExecutor(1, thread_name_prefix="knowledge-writer") as writer:
        for part in _batched(prepared):
            size += sum(len(one.text) for one in part)
            blob, files = _kept(part, keep)
            if batches:
                batches[-1].result()  # at most one in flight: its text is in memory
            batches.append(writer.submit(_write, store, blob, files))
    return tuple(batch.result() for batch in batches), size


def _batched(prepared: Iterator[_Prepared]) -> Iterator[list[_Prepared]]:
    part: list[_Prepared] = []
    size, most = 0, float(FIRST_BYTES)
    for one in prepared:
        part.append(one)
        size += len(one.text)
        if size >= most:
            yield part
            part, size, most = [], 0, min(GROWTH * most, BATCH_BYTES)
    if part:
        yield part


def _kept(part: list[_Prepared], keep: Keep | None) -> tuple[str, list[NewFile]]:
    """The digest of the blob with the texts of *part*, and its files, which say where in it."""
    texts = [one.text.encode() for one in part]
    blob = keep(b"".join(texts)) if keep else ""
    files: list[NewFile] = []
    offset = 0
    for one, text in zip(part, texts, strict=True):
        files.append(one.file._replace(blob=blob, offset=offset, bytes=len(text)))
        offset += len(text)
    return blob, files


def _write(store: PassageStore, blob: str, files: list[NewFile]) -> Batch:
    with store.writing():
        store.put(files)
    return Batch(blob, tuple(map(_told, files)))


def _told(file: NewFile) -> IndexedFile:
    return IndexedFile(
        path=file.path,
        topic=file.topic,
        digest=file.digest,
        chunks=len(file.entries),
        offset=file.offset,
        bytes=file.bytes,
        note=file.note,
    )
