"""The secret that proves artefacts on disk: one for each user, outside every home and checkout.

Without it, whoever can write cache.db, as a checkout that is pulled, could choose the text of
prompts. A home on another machine is read with another secret, so that its artefacts are made anew.
"""

import contextlib
import os
import secrets
from pathlib import Path
from typing import Final

import platformdirs

from cortex.runtime.log import private

NAME: Final = "cache.key"
SECRET_BYTES: Final = 32


def secret_of_user() -> bytes | None:
    """The secret, made where there is none; None if it cannot be kept, or others may read it."""
    folder = Path(platformdirs.user_state_path("cortex", appauthor=False))
    path = folder / NAME
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            _make(path)
        return _read(path)
    return None


def _make(path: Path) -> None:
    part = path.with_name(f"{NAME}.{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb", opener=private) as file:
            file.write(secrets.token_bytes(SECRET_BYTES))
        with contextlib.suppress(FileExistsError):
            os.link(part, path)  # of two processes, the first one makes it
    finally:
        part.unlink(missing_ok=True)


def _read(path: Path) -> bytes | None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        found = file.read(SECRET_BYTES + 1)
    is_own = status.st_uid == os.geteuid() and not status.st_mode & 0o077
    return found if is_own and len(found) == SECRET_BYTES else None
