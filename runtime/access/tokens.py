"""Tokens: 256 random bits, shown once; only their SHA-256 is stored."""

import base64
import contextlib
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from cortex.runtime.log import private

from .errors import KeyFileError, TokenFileError

PREFIX = "cortex_"  # marks a token, for people and for the masking of logs
RANDOM_BYTES = 32
TOKEN_CHARS = len(PREFIX) + 43
OWNER_FILE = "owner.token"


def new_token() -> str:
    """A new random token."""
    random = base64.urlsafe_b64encode(secrets.token_bytes(RANDOM_BYTES)).decode().rstrip("=")
    return PREFIX + random


def digest_of(token: str) -> str:
    """The stored form of *token*: its SHA-256 in hex.

    Plain, not slow: 256 random bits are not guessed, however quick the hash.
    """
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def owner_token(keys: Path) -> str:
    """The owner's token of the home whose folder *keys* is, made if there is none yet.

    Raises:
        KeyFileError: It cannot be made or read, or others than its owner may read it.
    """
    path = keys / OWNER_FILE
    try:
        keys.mkdir(mode=0o700, exist_ok=True)
        _make_once(path)
        return read_token(path)
    except OSError as error:
        raise KeyFileError(str(path), _why(error)) from error


def read_token(path: Path) -> str:
    """The token in the file *path*.

    Raises:
        KeyFileError: It is missing, or others than its owner may read it.
    """
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            status = os.fstat(file.fileno())
            token = file.read(TOKEN_CHARS + 2).strip()
    except OSError as error:
        raise KeyFileError(str(path), _why(error)) from error
    if status.st_mode & 0o077:
        raise KeyFileError(str(path), f"others may read it: chmod 600 {path}")
    if len(token) != TOKEN_CHARS or not token.startswith(PREFIX):
        raise KeyFileError(str(path), "holds no token: remove it, or restore it from a backup")
    return token


@contextlib.contextmanager
def token_file(path: Path) -> Iterator[Callable[[str], object]]:
    """Make a file for one token; yield the function that writes it. A file left empty is removed.

    It is made before the token, which cannot be shown again.

    Raises:
        TokenFileError: It is there already, or cannot be made.
    """
    try:
        file = open(path, "x", opener=private)  # noqa: SIM115  # below, once the file exists
    except FileExistsError as error:
        raise TokenFileError(str(path), "it is there already: name another file") from error
    except OSError as error:
        raise TokenFileError(str(path), _why(error)) from error
    with file:
        try:
            yield lambda token: file.write(f"{token}\n")
        except BaseException:
            path.unlink(missing_ok=True)
            raise


def _make_once(path: Path) -> None:
    if path.exists():
        return
    # Whole from its first moment on: another process may read it while this one writes.
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with open(fresh, "x", opener=private) as file:
        file.write(new_token() + "\n")
    try:
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
    finally:
        fresh.unlink()


def _why(error: OSError) -> str:
    return f"{error.strerror or error}; check its owner and mode"
