"""The owner's side of an audit: makes keys, signed heads of the log, and proofs."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from cortex.bus.events import LogForkDeclared
from cortex.runtime.kernel import Home
from cortex.runtime.log import EventLog, LogTree, whole_file
from cortex.runtime.projections import HomeLog, Selection
from cortex.runtime.serving import granting

from .notes import AuditError, OfLogs, Signature, SignedHead, SigningKey, TreeHead, VerifierKey
from .proofs import ConsistencyProof, InclusionProof

PREFIX: Final = "audit-"  # of the files of keys
TREE: Final = "tree.db"  # inner tiles; it may be deleted at any time
HEADS: Final = "heads"  # the signed heads, one file each
ORIGINS: Final = "cortex.local/"  # before the id of a log
FORKS: Final = Selection(topics=(LogForkDeclared.topic_name(),))
_NOTE = re.compile(r"[0-9]{6,12}-[0-9]{1,19}\.note")  # number and events


class Auditing:
    """The keys, heads and proofs of one home."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._heads = home.path / HEADS

    def new_key(self, name: str, algorithm: OfLogs = "ed25519") -> VerifierKey:
        """Make a key that signs heads; its file is readable by its owner alone.

        Raises:
            AuditError: There is one of that name, or it is no name of a key.
            OSError: The file cannot be made.
        """
        key = SigningKey.new(name, algorithm)
        path = self._home.path / "keys" / f"{PREFIX}{key.verifier().key_id.hex()}.key"
        if any(each.name == name for each in self._signing_keys()):
            raise AuditError(f"there is a key {name} already: choose another name")
        write_whole(path, key.text() + "\n")
        return key.verifier()

    def public_keys(self) -> list[VerifierKey]:
        """The public keys, for verifiers."""
        return [key.verifier() for key in self._signing_keys()]

    def sign(self, *, declares_fork: bool = False, seen: Sequence[TreeHead] = ()) -> SignedHead:
        """A head of the present log, signed by every key; it is stored in the home.

        Args:
            declares_fork: Use the epoch as a new origin for a log that lost signed events, as by a
                restore from a backup; `log.fork_declared` records it. Earlier heads stay unchanged.
            seen: Heads that witnesses have, so that the declaration says what they saw, too.

        Raises:
            AuditError: There is no key, or the log does not begin with the events signed before.
            LogError: The log cannot be read, or written where a fork is declared.
        """
        keys = self._signing_keys()
        if not keys:
            raise AuditError("there is no key to sign with: cortex audit key new NAME")
        declared = self._declare_fork(seen) if declares_fork else ""
        with self._tree() as (origin, tree):
            before = None if declares_fork else self.newest()
            if before is not None:
                self._refuse_fork(before.tree_head, origin, tree)
                origin = before.tree_head.origin
                if before.tree_head.size == tree.size and _signed_by_all(before, keys):
                    return before
            signed = TreeHead(declared or origin, tree.size, tree.root())
        text = signed.text() + "\n" + "".join(key.sign(signed) for key in keys)
        number = max((_order(each)[0] for each in self._notes()), default=0) + 1
        write_whole(self._heads / f"{number:06}-{signed.size}.note", text)
        return SignedHead.parse(text)

    def _declare_fork(self, seen: Sequence[TreeHead]) -> str:
        """Record that signed events are lost; the origin of this epoch, for heads from now on."""
        heads = [*(signed.tree_head for _, signed in self.heads())]
        left = heads[-1].origin if heads else ""
        with self._tree() as (base, tree):
            common = _last_common(tree, left, [*heads, *seen])
            root = tree.root_at(common).hex()
        lost = max((each.size for each in (*heads, *seen) if each.origin == left), default=0)
        if lost <= common:
            raise AuditError(
                f"nothing that was signed is lost: the log has all {common:,} signed events; "
                "leave out --declare-fork"
            )
        with granting(self._home) as client:  # it opens the log: this epoch is of no lost history
            origin = f"{base}/{client.epochs[-1].id:013x}"
            if origin == left:
                raise AuditError(
                    "this epoch has declared a fork already, and the log was not opened since: "
                    "leave out --declare-fork"
                )
            client.publish(
                LogForkDeclared(origin=origin, before=left, signed=lost, common=common, root=root)
            )
        return origin

    def add_signatures(self, signed: SignedHead, more: Sequence[Signature]) -> SignedHead:
        """Store *signed*, which is in the home, with the signatures of witnesses.

        Raises:
            AuditError: It is not in the home.
        """
        for path, each in self.newest_first():
            if each.tree_head == signed.tree_head:
                # Another process may have added some since *signed* was read.
                known = dict.fromkeys((*each.signatures, *signed.signatures, *more))
                grown = SignedHead(signed.tree_head, tuple(known))
                write_whole(path, grown.text())
                return grown
        raise AuditError(f"{self._heads} has lost its newest head meanwhile: sign again")

    def grown_from(self, old: int, signed: SignedHead) -> ConsistencyProof:
        """The proof that a log of *old* events grew to *signed*; nothing has to be shown for 0."""
        size = signed.tree_head.size
        if not old:
            return ConsistencyProof(0, (), signed)
        with self._tree(size) as (_, tree):
            return ConsistencyProof(old, tuple(tree.consistency(old)), signed)

    def forks(self) -> list[LogForkDeclared]:
        """The forks that were declared in the log, the oldest first, if what they say is true."""
        with HomeLog.open(self._home) as past:
            found = [past.event(each) for each in past.select(FORKS)]
        declared = [event for event in found if isinstance(event, LogForkDeclared)]
        if not declared:
            return []
        with self._tree() as (_, tree):
            return [
                each
                for each in declared
                if each.before != each.origin
                and each.common <= tree.size
                and tree.root_at(each.common).hex() == each.root
            ]

    def origin(self) -> str:
        """The first origin of the log, as long as no fork was declared."""
        return f"{ORIGINS}{self.log_id()}"

    def newest(self) -> SignedHead | None:
        """The newest head that was signed here."""
        path = self.newest_path()
        return None if path is None else _parsed(path)

    def heads(self) -> list[tuple[Path, SignedHead]]:
        """Every head that was signed here and its file, the oldest first.

        Raises:
            AuditError: The file of one is no signed head.
        """
        return [*self.newest_first()][::-1]

    def newest_first(self) -> Iterator[tuple[Path, SignedHead]]:
        """The same, the newest first; each is read when it is asked for."""
        for path in reversed(self._notes()):
            yield path, _parsed(path)

    def log_id(self) -> str:
        """The id of the log, which its origin has."""
        with self._log() as log:
            return log.meta().log_id

    def newest_path(self) -> Path | None:
        """The file of that head."""
        return next(iter(reversed(self._notes())), None)

    def _notes(self) -> list[Path]:
        """The files of all heads, the oldest first."""
        found = self._heads.glob("*.note") if self._heads.is_dir() else ()
        return sorted((each for each in found if _NOTE.fullmatch(each.name)), key=_order)

    def prove(self, position: int, only: OfLogs | None = None) -> InclusionProof:
        """That the event at *position* (from 1) is in the log, under its newest signed head.

        Args:
            position: Of the event.
            only: Leave out signatures of another kind, so that the proof is smaller.

        Raises:
            AuditError: There is no such event, no key to sign a head with, or none of that kind.
            LogError: The log cannot be read.
        """
        head = self.newest()
        if head is None or head.tree_head.size < position:
            head = self.sign()
        size = head.tree_head.size
        if not 0 < position <= size:
            raise AuditError(f"the log has {size:,} events, and none at position {position:,}")
        with self._tree(size) as (origin, tree):
            self._refuse_fork(head.tree_head, origin, tree)
            head = head if only is None else head.only(only)
            return InclusionProof(position - 1, tuple(tree.inclusion(position)), head)

    def consistency(self, old: int) -> ConsistencyProof:
        """That the log of *old* events is the beginning of the log as it was signed last.

        Raises:
            AuditError: There never was a log of *old* events, or no key to sign a head with.
            LogError: The log cannot be read.
        """
        head = self.newest()
        if head is None or head.tree_head.size < old:
            head = self.sign()
        size = head.tree_head.size
        if not 0 < old <= size:
            raise AuditError(
                f"the log has {size:,} events: give a size from 1 to that, not {old:,}"
            )
        with self._tree(size) as (origin, tree):
            self._refuse_fork(head.tree_head, origin, tree)
            return ConsistencyProof(old, tuple(tree.consistency(old)), head)

    def record(self, position: int) -> bytes:
        """The record at *position*: exactly the bytes whose hash is a leaf.

        Raises:
            AuditError: There is no such record.
        """
        with self._log() as log:
            found = log.read(position - 1, 1, 1) if 0 < position <= log.state().head else ()
        if not found:
            raise AuditError(f"the log has no event at position {position:,}")
        return found[0]

    @contextmanager
    def _log(self) -> Iterator[EventLog]:
        self._home.check()
        log = EventLog.open(self._home.log_path, readonly=True)
        try:
            yield log
        finally:
            log.close()

    @contextmanager
    def _tree(self, size: int | None = None) -> Iterator[tuple[str, LogTree]]:
        """The origin of the log, and the tree over its first *size* events; all without one."""
        with self._log() as log:
            head = log.state().head if size is None else size
            with LogTree(log, head, self._home.path / TREE) as tree:
                yield f"{ORIGINS}{log.meta().log_id}", tree

    def _signing_keys(self) -> list[SigningKey]:
        return signing_keys(self._home.path / "keys", PREFIX)

    def _refuse_fork(self, before: TreeHead, origin: str, tree: LogTree) -> None:
        """Refuse to speak for a log that does not begin with what was signed before."""
        if before.origin.split("/")[:2] != origin.split("/"):
            raise AuditError(
                f"{self._heads} has heads of another log ({before.origin}): move them away"
            )
        if not _begins_with(tree, before):
            raise AuditError(
                f"the log does not begin with the {before.size:,} events that were signed: its "
                "history was changed or its end is lost. See cortex audit verify; if you restored "
                "it from a backup, cortex audit sign --declare-fork continues under a new origin"
            )


def signing_keys(folder: Path, prefix: str) -> list[SigningKey]:
    """The private keys in *folder* whose files begin with *prefix*.

    Raises:
        AuditError: One of them cannot be read.
    """
    paths = sorted(folder.glob(f"{prefix}*.key")) if folder.is_dir() else []
    keys: list[SigningKey] = []
    for path in paths:
        try:
            keys.append(SigningKey.parse(_text_of(path)))
        except AuditError as error:
            raise AuditError(f"{path}: {error}") from None
    return keys


def _begins_with(tree: LogTree, before: TreeHead) -> bool:
    if before.size > tree.size:
        return False
    if tree.root_at(before.size) != before.root:
        tree.rebuild()  # before a log is accused: its inner tiles may be what was changed
    return tree.root_at(before.size) == before.root


def _last_common(tree: LogTree, origin: str, heads: Sequence[TreeHead]) -> int:
    """Size of the largest of *heads* with which the log begins, before a head of *origin* is lost.

    A head that was signed after a loss, and that no witness believed, is no common position.
    """
    fits = {head: _begins_with(tree, head) for head in heads if head.size}
    lost = min((h.size for h, fit in fits.items() if not fit and h.origin == origin), default=None)
    shared = (h.size for h, fit in fits.items() if fit and (lost is None or h.size < lost))
    return max(shared, default=0)


def _order(note: Path) -> tuple[int, int]:
    """What a note is sorted by: its number, then how many events it has."""
    number, _, size = note.stem.partition("-")
    return int(number), int(size)


def _parsed(path: Path) -> SignedHead:
    try:
        return SignedHead.parse(_text_of(path))
    except AuditError as error:
        raise AuditError(f"{path}: {error}") from None


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise AuditError("it is no text in UTF-8") from None


def write_whole(path: Path, text: str) -> None:
    """Write *text* to *path*, readable by its owner only; atomic, also if killed."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with whole_file(path) as file:
        file.write(text.encode())


def _signed_by_all(head: SignedHead, keys: list[SigningKey]) -> bool:
    return len(head.signers([key.verifier() for key in keys])) == len(keys)


def write_new(path: Path, text: str) -> None:
    """Write *text* to a new file.

    Raises:
        AuditError: The file exists.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise AuditError(f"{path} is there already: choose another file") from None
