"""A witness: keeps the newest head of other logs, and cosigns heads that continue it.

It answers as C2SP tlog-witness says (`add-checkpoint`), with cosignatures as tlog-cosignature says.
What it saw is on disk before it answers, in one transaction with the comparison: whoever asks at
the same time, and whoever kills it, finds either the earlier head or the new one.

A log that declares a fork has another origin below its own, `cortex.local/ID/EPOCH`. A witness that
accepts a log accepts these origins, too, under the same keys, and keeps a head of each.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from typing import Final

import msgspec

from cortex.runtime.kernel import Home
from cortex.runtime.log import create_private, is_consistent

from .auditing import ORIGINS, signing_keys, write_whole
from .notes import Algorithm, AuditError, SignedHead, SigningKey, VerifierKey, signature_line
from .proofs import ConsistencyProof

PREFIX: Final = "witness-"  # of the files of keys
STORE: Final = "witness.db"  # beside them, as it must not come back from a backup of the home
KINDS: Final[tuple[Algorithm, ...]] = ("ed25519-cosignature", "ml-dsa-44")
EMPTY: Final = sha256(b"").digest()  # the root without events
LARGEST: Final = (1 << 63) - 1  # events of a log
PLAIN, SIZE, NOTE = "text/plain; charset=utf-8", "text/x.tlog.size", "text/plain; charset=utf-8"
PATIENCE_S: Final = 10.0  # for another process that uses the store
ANEW: Final = (
    "a witness that forgot what it saw is none: remove keys/witness-*.key and keys/witness.db, and "
    "make a new one with new keys by cortex audit witness init NAME"
)
_SCHEMA = """
create table if not exists logs (
    origin text not null,
    key    text not null,          -- a public key that signs its heads
    primary key (origin, key)
) strict;
create table if not exists heads (
    origin  text    primary key,   -- one for each fork that was declared
    hash    text    not null,      -- SHA-256 of the origin in hex, which names it in URLs
    size    integer not null,
    root    blob    not null,
    note    text    not null,      -- with the signatures of the log and of this witness
    seen_s  integer not null       -- UTC, when it was cosigned
) strict;
create index if not exists heads_hash on heads (hash);
"""


class Reply(msgspec.Struct, frozen=True):
    """The answer to a request, as HTTP has it."""

    status: int
    body: str
    kind: str = PLAIN  # of the body


class WitnessedLog(msgspec.Struct):
    """A log whose heads are cosigned, or one fork of it."""

    origin: str
    events: int  # under the newest head that was cosigned; 0 without one
    seen: int  # Unix seconds of that; 0 without one
    keys: list[str]  # that sign its heads


class Witness:
    """The witness that a home is.

    Args:
        home: Whose keys/ has its keys and what it saw.
        clock: Unix seconds.
    """

    def __init__(self, home: Home, clock: Callable[[], float] = time.time) -> None:
        self._folder = home.path / "keys"
        self._clock = clock

    def make(self, name: str) -> list[VerifierKey]:
        """Its public keys; makes them, with *name* in them, if it has none.

        Raises:
            AuditError: *name* is no name of a key.
            OSError: A file cannot be made.
        """
        if not self.public_keys():
            self._folder.mkdir(mode=0o700, exist_ok=True)
            create_private(self._folder / STORE)  # here alone: see `_store`
            for key in [SigningKey.new(name, kind) for kind in KINDS]:
                path = self._folder / f"{PREFIX}{key.verifier().key_id.hex()}.key"
                write_whole(path, key.text() + "\n")
        return self.public_keys()

    def public_keys(self) -> list[VerifierKey]:
        """Its public keys; none if the home is no witness."""
        return [key.verifier() for key in signing_keys(self._folder, PREFIX)]

    def accept(self, origin: str, keys: list[VerifierKey]) -> None:
        """Cosign heads of *origin* that one of *keys* signed, and those of its declared forks.

        Raises:
            AuditError: It is no origin, or there are no keys.
        """
        if not origin or not origin.isprintable() or origin.isspace() or len(origin.encode()) > 255:
            raise AuditError(f"{origin[:40]!r} is no origin: it is the first line of a signed head")
        if not keys:
            raise AuditError("give a public key that signs the heads of this log")
        with self._store() as store:
            rows = [(origin, key.text()) for key in keys]
            store.executemany("insert or ignore into logs values (?, ?)", rows)

    def logs(self) -> list[WitnessedLog]:
        """All logs that it accepts, and every origin of which it saw a head."""
        if not self.public_keys():
            return []
        with self._store() as store:
            heads = store.execute("select origin, size, seen_s from heads").fetchall()
            known = {origin: (size, seen) for origin, size, seen in heads}
            accepted = [origin for (origin,) in store.execute("select distinct origin from logs")]
            return [
                WitnessedLog(origin, *known.get(origin, (0, 0)), _keys_of(store, origin) or [])
                for origin in sorted({*known, *accepted})
            ]

    def add_checkpoint(self, body: bytes) -> Reply:
        """Answer `add-checkpoint` with the cosignatures, or why there are none.

        Raises:
            AuditError: The home has no keys of a witness, or cannot keep what it sees.
        """
        try:
            asked = ConsistencyProof.parse(body.decode())
        except (UnicodeDecodeError, AuditError) as error:
            return Reply(400, f"{error}\n")
        if not self.public_keys():
            raise AuditError("this home is no witness: cortex audit witness init NAME")
        with self._store() as store:
            return self._answer(store, asked)

    def _answer(self, store: sqlite3.Connection, asked: ConsistencyProof) -> Reply:
        head = asked.head.tree_head
        trusted = _keys_of(store, head.origin)
        if trusted is None:
            return Reply(404, f"the log {head.origin} is not known here\n")
        keys = [VerifierKey.parse(key) for key in trusted]
        try:
            signers = asked.head.signers(keys)
        except AuditError as error:
            return Reply(403, f"{error}\n")
        if not signers:
            return Reply(403, f"no key that is known of {head.origin} signed this head\n")
        kept = store.execute(
            "select size, root from heads where origin = ?", (head.origin,)
        ).fetchone()
        refusal = refused(asked, *(kept or (0, EMPTY)))
        if refusal is not None:
            return refusal
        at_s = int(self._clock())
        lines = [key.sign(head, at_s) for key in signing_keys(self._folder, PREFIX)]
        self._keep(store, asked.head, signers, lines, at_s)
        return Reply(200, "".join(lines), NOTE)

    def _keep(
        self,
        store: sqlite3.Connection,
        signed: SignedHead,
        signers: list[VerifierKey],
        lines: list[str],
        at_s: int,
    ) -> None:
        """The transaction ends with this, before anything is answered."""
        head, known = signed.tree_head, {(key.name, key.key_id) for key in signers}
        own = [signature_line(s) for s in signed.signatures if (s.name, s.key_id) in known]
        note = head.text() + "\n" + "".join([*own, *lines])
        name = sha256(head.origin.encode()).hexdigest()
        store.execute(
            "insert or replace into heads values (?, ?, ?, ?, ?, ?)",
            (head.origin, name, head.size, head.root, note, at_s),
        )

    def checkpoint(self, origin_hash: str) -> Reply:
        """The newest head that was cosigned of the log whose origin has this SHA-256 in hex."""
        with self._store() as store:
            query = "select note from heads where hash = ?"
            found = store.execute(query, (origin_hash,)).fetchone()
        if found is not None:
            return Reply(200, found[0], NOTE)
        return Reply(404, "no head of that log was cosigned here\n")

    @contextmanager
    def _store(self) -> Iterator[sqlite3.Connection]:
        """What it saw, in one transaction that is on disk when the block is left."""
        path = self._folder / STORE
        # A witness whose store is gone would cosign any history: it is none any more.
        if not path.exists():
            raise AuditError(f"{path} is gone: {ANEW}")
        try:
            with closing(sqlite3.connect(path, timeout=PATIENCE_S, isolation_level=None)) as store:
                store.execute("pragma synchronous = extra")  # a power cut brings no old head back
                store.executescript(_SCHEMA)
                store.execute("begin immediate")
                try:
                    yield store
                except BaseException:
                    store.execute("rollback")
                    raise
                store.execute("commit")
        except sqlite3.Error as error:
            raise AuditError(f"{path} cannot be used ({error}): {ANEW}") from None


def refused(asked: ConsistencyProof, kept_size: int, kept_root: bytes) -> Reply | None:
    """Why a head is not cosigned by who saw *kept_size* events with *kept_root*; None if it is."""
    head = asked.head.tree_head
    if asked.old > head.size or head.size > LARGEST:
        return Reply(400, f"the log of {head.size} events cannot continue one of {asked.old}\n")
    if asked.old != kept_size:
        return Reply(409, f"{kept_size}\n", SIZE)
    if not head.size and head.root != EMPTY:
        return Reply(422, "a log without events has another root\n")
    if not asked.old:
        fits = not asked.path
    else:
        fits = is_consistent(asked.old, head.size, kept_root, head.root, asked.path)
    if not fits:
        return Reply(
            422, f"the log of {head.size} events does not continue that of {asked.old} seen here\n"
        )
    return None


def _keys_of(store: sqlite3.Connection, origin: str) -> list[str] | None:
    """The public keys of the log *origin*, or of the one of which it is a fork; None if unknown."""
    names = [origin]
    if origin.startswith(ORIGINS) and origin.count("/") > 1:
        names.append("/".join(origin.split("/")[:2]))
    for name in names:
        rows = store.execute("select key from logs where origin = ? order by key", (name,))
        if found := [key for (key,) in rows]:
            return found
    return None
