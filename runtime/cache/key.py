"""What an artefact is found by: the digests of everything that it was made from."""

import re
import sys
from collections.abc import Iterable
from functools import cached_property
from hashlib import sha256
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from importlib.resources.abc import Traversable
from typing import Final

import msgspec

from .errors import CacheKeyError

DIGEST: Final = re.compile(r"[0-9a-f]{64}")  # SHA-256, in hex
KIND: Final = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")
_ENCODE = msgspec.msgpack.Encoder().encode


class CacheKey(msgspec.Struct, frozen=True, dict=True):
    """The key of one artefact; another input, kind or version is another key.

    An artefact that depends on something whose digest is not here can be stale. A key holds digests
    and nothing else of its inputs, so that it names nobody.

    Raises:
        CacheKeyError: The kind is no dotted name, or an input is not a SHA-256 in hex.
    """

    kind: str  # "context.form": what it is
    inputs: tuple[str, ...]  # SHA-256 in hex of each thing that it was made from, in order
    version: int  # of its encoding: raise it when the bytes mean something else

    def __post_init__(self) -> None:
        """Refuse what is not a digest."""
        if not KIND.fullmatch(self.kind):
            raise CacheKeyError(f"the kind {self.kind[:40]!r} is not a dotted name")
        for each in self.inputs:
            if not DIGEST.fullmatch(each):
                raise CacheKeyError(f"an input of {self.kind} is not a SHA-256 in hex")

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 over all of it: what the tiers look up."""
        return sha256(_ENCODE((self.kind, self.inputs, self.version))).digest()


def digest_of(value: object) -> str:
    """The digest, for a key, of a text, of bytes, or of parameters that msgpack can encode."""
    if isinstance(value, str):
        return sha256(value.encode(errors="surrogatepass")).hexdigest()
    return sha256(value if isinstance(value, bytes) else _ENCODE(value)).hexdigest()


def code_digest(packages: Iterable[str], distributions: Iterable[str] = ()) -> str:
    """The digest of the code that makes an artefact: another version of it may make another one.

    Args:
        packages: Import names; every file in them counts.
        distributions: Installed packages that this code relies on, by their versions.
    """
    found = sha256(sys.version.encode())
    for name in sorted(packages):
        for path, file in sorted(_files(resources.files(name), name)):
            found.update(_ENCODE((path, sha256(file.read_bytes()).digest())))
    for name in sorted(distributions):
        try:
            found.update(_ENCODE((name, version(name))))
        except PackageNotFoundError:
            found.update(_ENCODE((name, "")))
    return found.hexdigest()


def _files(folder: Traversable, name: str) -> Iterable[tuple[str, Traversable]]:
    for each in folder.iterdir():
        path = f"{name}/{each.name}"
        if each.is_file() and each.name.endswith((".py", ".toml", ".json")):
            yield path, each
        elif each.is_dir() and each.name != "__pycache__":
            yield from _files(each, path)
