"""The homes that this user trusts: one small file each, in the user's folder, outside checkouts.

$XDG_STATE_HOME/cortex/trust/<SHA-256 of the home's path>.json, in a folder of mode 0700.
"""

import contextlib
import fcntl
import hashlib
import os
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import platformdirs
from msgspec import Struct

from cortex.runtime.log import private

from .errors import TrustStoreError

REMEMBERED = 64  # contents and objects of one file; of more, the oldest is asked about again
PRUNE_EVERY = 64  # homes, once there are so many
GONE_S = 30 * 86_400.0  # a missing home is forgotten after this: its disk may just not be mounted
LOCK = "lock"


class TrustedFile(Struct):
    """What this user trusts, or wrote, of one file."""

    contents: list[str] = []  # SHA-256, the newest last; "" where it was not there
    objects: list[str] = []  # what git had for it at the time
    written: list[str] = []  # what git calls these contents: the user may commit them unseen


class TrustRecord(Struct, kw_only=True):
    """Trust in one home."""

    home: str  # its path, without links
    identity: str  # what its file `id` holds
    inode: int  # of its folder
    made_here: bool  # by this user: every edit is the user's own
    given_ns: int
    digest: str = ""  # of what was trusted, where it was looked at
    by: str = ""  # how: "made here", "cortex trust", "CORTEX_TRUST"
    recorded: bool = True  # whether the home's log holds it, too
    withdrawn: bool = False
    files: dict[str, TrustedFile] = {}


def folder() -> Path:
    """The folder of this user's trust store, existing or not."""
    return Path(platformdirs.user_state_path("cortex", appauthor=False)) / "trust"


def read(home: Path) -> TrustRecord | None:
    """The record of the home at *home*, a path without links; None if there is none.

    Raises:
        TrustStoreError: Other users may write it.
    """
    path = _path_of(home)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(path, error) from error
    with os.fdopen(descriptor, "rb") as file:
        _refuse_shared(path.parent, path.parent.lstat())
        _refuse_shared(path, os.fstat(descriptor))
        data = file.read()
    with contextlib.suppress(msgspec.MsgspecError):
        record = msgspec.json.decode(data, type=TrustRecord)
        if record.home == os.fspath(home):
            return record
    return None  # it is asked again


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Keep others from writing records until the block is left.

    Raises:
        TrustStoreError: The folder cannot be made or written, or is not this user's alone.
    """
    where = folder()
    try:
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_shared(where, where.lstat())
        descriptor = os.open(where / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unusable(where, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write(record: TrustRecord, *, sync: bool = True) -> None:
    """Store *record* atomically; the caller must hold the lock.

    Args:
        record: The record to store.
        sync: Whether to sync to disk before returning. A lost record only repeats the question.

    Raises:
        TrustStoreError: It cannot be written.
    """
    path = _path_of(Path(record.home))
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with open(fresh, "xb", opener=private) as file:
            file.write(msgspec.json.encode(record))
            file.flush()
            if sync:
                os.fsync(file.fileno())
        fresh.replace(path)
        if sync:
            _sync(path.parent)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise _unusable(path, error) from error
    _prune(path.parent)


def remember(into: list[str], *more: str) -> None:
    """Add *more* to the end of a list of which the oldest are forgotten."""
    for each in more:
        if each in into:
            into.remove(each)
        into.append(each)
    del into[:-REMEMBERED]


def _path_of(home: Path) -> Path:
    return folder() / f"{hashlib.sha256(os.fsencode(home)).hexdigest()}.json"


def _prune(where: Path) -> None:
    """Forget homes that are gone for long; seldom, since every one of them is looked for."""
    paths = [each for each in where.iterdir() if each.suffix == ".json"]
    if len(paths) % PRUNE_EVERY:
        return
    for path in paths:
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            old = time.time() - path.stat().st_mtime > GONE_S
            if (
                old
                and not Path(msgspec.json.decode(path.read_bytes(), type=TrustRecord).home).exists()
            ):
                path.unlink()


def _refuse_shared(path: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise TrustStoreError(
            str(path),
            "records what you trust, and others may write it: make it yours alone, or remove it",
        )


def _sync(where: Path) -> None:
    descriptor = os.open(where, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unusable(path: Path, error: OSError) -> TrustStoreError:
    why = error.strerror or str(error)
    return TrustStoreError(
        str(path),
        f"your trust is stored there, and it cannot be used: {why}; set XDG_STATE_HOME to a "
        "folder that you may write",
    )
