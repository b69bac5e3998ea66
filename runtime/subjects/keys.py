"""The keys of subjects: one file each, made when first needed, gone when the subject is erased.

The log has the id of a subject, which is random. Only the key's file says whose it is, so that
nothing does once it is destroyed.
"""

import contextlib
import fcntl
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from cortex.runtime.log import create_private, sync

from .errors import SubjectErasedError, SubjectKeyError

FOLDER = Path("keys") / "subjects"  # in a home
END = ".key"
KEY_BYTES = 32
ID_BYTES = 16
PRIVATE = 0o700
ID_BEGINS = "s_"  # so that no name that people use is taken for an id
ID = re.compile(r"s_[0-9a-f]{32}")


def key_path(home: Path, subject_id: str) -> Path:
    """The file of that subject's key in the home at that path."""
    return home / FOLDER / f"{subject_id}{END}"


class Subject(msgspec.Struct, frozen=True):
    """One key, as its file holds it."""

    id: str
    name: str  # as publishers name the subject
    key: bytes
    made_ns: int  # UTC


class SubjectKeys:
    """The keys of a home; threads share one object.

    Args:
        folder: Where they are; None keeps them in memory.
        entropy: Where ids and keys come from.
    """

    def __init__(
        self, folder: Path | None, entropy: Callable[[int], bytes] = secrets.token_bytes
    ) -> None:
        self._folder, self._entropy = folder, entropy
        self._known: dict[str, Subject] = {}  # by id
        self._ids: dict[str, str] = {}  # by name
        self._listed_ns = -1  # when the folder had changed last, when it was listed
        self.used = self._changed_ns() >= 0  # asked for each event: no system call then
        self._making = threading.Lock()

    @classmethod
    def of_home(cls, home: Path) -> "SubjectKeys":
        """The keys in the home at that path."""
        return cls(home / FOLDER)

    def look(self) -> bool:
        """Whether any event may have a subject, also if another program made its key."""
        self.used = self.used or self._changed_ns() >= 0
        return self.used

    def find(self, name: str) -> str | None:
        """The id of the subject with that name or id; None if there is no key of it."""
        if ID.fullmatch(name) and self.get(name) is not None:
            return name
        if name not in self._ids:
            self._list()
        return self._ids.get(name)

    def id_of(self, name: str) -> str:
        """The id of a subject; makes its key if there is none.

        Raises:
            SubjectKeyError: The key cannot be written.
        """
        found = self.find(name)
        return found if found is not None else self._make(name)

    def get(self, subject_id: str) -> Subject | None:
        """The key of that id; None if it is not here."""
        known = self._known.get(subject_id)
        if known is None and self._folder is not None and ID.fullmatch(subject_id):
            known = self._load(self._folder / f"{subject_id}{END}")
        return known

    def for_blob(self, subject: str) -> Subject:
        """The key for a blob of the subject with that id or name; one of a name is made if needed.

        Raises:
            SubjectErasedError: The key of that id is not here.
            SubjectKeyError: The key cannot be read or written.
        """
        known = self.get(subject) if ID.fullmatch(subject) else self.get(self.id_of(subject))
        if known is None:
            raise SubjectErasedError(subject)
        return known

    def is_erased(self, subject: str) -> bool:
        """Whether *subject* is the id of one whose key is not here."""
        return ID.fullmatch(subject) is not None and self.get(subject) is None

    def all(self) -> list[Subject]:
        """Every subject that has a key, by name."""
        self._list()
        return sorted(self._known.values(), key=lambda each: each.name)

    def destroy(self, subject_id: str) -> None:
        """Overwrite and remove a key, durably; nothing if there is none.

        Raises:
            SubjectKeyError: The file cannot be removed.
        """
        known = self._known.pop(subject_id, None)
        if known is not None:
            self._ids.pop(known.name, None)
        if self._folder is None or not ID.fullmatch(subject_id):
            return
        path = self._folder / f"{subject_id}{END}"
        try:
            with contextlib.suppress(FileNotFoundError):
                # Overwritten first: other links to the file, or its blocks, must not keep the key.
                with path.open("r+b") as file:
                    file.write(b"\0" * path.stat().st_size)
                    file.flush()
                    os.fsync(file.fileno())
                path.unlink()
            if self._folder.exists():
                sync(self._folder)
        except OSError as error:
            raise SubjectKeyError(str(path), error.strerror or str(error)) from error

    def _make(self, name: str) -> str:
        with self._making, self._alone():
            found = self.find(name)  # another thread or program may have made it
            if found is not None:
                return found
            subject_id = f"{ID_BEGINS}{self._entropy(ID_BYTES).hex()}"
            subject = Subject(subject_id, name, self._entropy(KEY_BYTES), time.time_ns())
            if self._folder is not None:
                self._write(self._folder, subject)
            self._take(subject)
        return subject.id

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Inside, no other program makes a key."""
        if self._folder is None:
            yield
            return
        path = self._folder / "lock"
        try:
            for folder in (self._folder.parent, self._folder):  # not `parents`: they would be open
                folder.mkdir(mode=PRIVATE, exist_ok=True)
            create_private(path)
            lock = path.open("r+b")
        except OSError as error:
            raise SubjectKeyError(str(path), error.strerror or str(error)) from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, folder: Path, subject: Subject) -> None:
        """Durable before the first event is: data of a key that was lost would be lost, too."""
        path = folder / f"{subject.id}{END}"
        fresh = folder / f"new.{subject.id}"
        try:
            create_private(fresh)
            with fresh.open("wb") as file:
                file.write(msgspec.json.encode(subject))
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
            sync(folder)
            sync(folder.parent)
        except OSError as error:
            raise SubjectKeyError(str(path), error.strerror or str(error)) from error

    def _list(self) -> None:
        changed_ns = self._changed_ns()
        if self._folder is None or changed_ns == self._listed_ns:
            return
        for path in sorted(self._folder.glob(f"*{END}")):
            if path.name.removesuffix(END) not in self._known and ID.fullmatch(path.stem):
                self._load(path)
        self._listed_ns = changed_ns

    def _load(self, path: Path) -> Subject | None:
        try:
            subject = msgspec.json.decode(path.read_bytes(), type=Subject)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as error:
            raise SubjectKeyError(str(path), str(error)) from None
        if subject.id != path.stem or len(subject.key) != KEY_BYTES:
            raise SubjectKeyError(str(path), "it holds another key than its name says")
        self._take(subject)
        return subject

    def _take(self, subject: Subject) -> None:
        self._known[subject.id] = subject
        self._ids[subject.name] = subject.id
        self.used = True

    def _changed_ns(self) -> int:
        """When the folder changed last; -1 if it is not there."""
        try:
            return self._folder.stat().st_mtime_ns if self._folder is not None else -1
        except OSError:
            return -1
