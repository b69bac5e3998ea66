"""Read one knowledge file: bounded, as text whatever its encoding, with the digest of its bytes."""

import codecs
import hashlib
import os
from pathlib import Path
from typing import Final

import msgspec

from .errors import KnowledgeTooLargeError, KnowledgeUnreadableError

LARGEST_BYTES: Final = 4 * 1024 * 1024  # about a million tokens: more is no single topic

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A knowledge file as it was read."""

    path: str
    text: str
    digest: str  # sha256 of the bytes that the text was decoded from
    size_bytes: int
    encoding: str  # "utf-8", "utf-8-sig", "utf-16"; "cp1252" is a guess that always succeeds


def read_bytes(path: Path, largest_bytes: int = LARGEST_BYTES) -> bytes:
    """The bytes of *path*.

    Raises:
        KnowledgeTooLargeError: It has more than *largest_bytes*.
        KnowledgeUnreadableError: The system does not let it be read.
    """
    try:
        with path.open("rb") as file:
            size_bytes = os.fstat(file.fileno()).st_size
            # Room for the largest would be made, and given back, for each small one.
            data = b"" if size_bytes > largest_bytes else file.read(size_bytes + 1)
            if len(data) > size_bytes:  # it grows, or has a size only as it is read
                data += file.read(largest_bytes + 1 - len(data))
    except OSError as error:
        raise KnowledgeUnreadableError(str(path), error.strerror or str(error)) from error
    if max(size_bytes, len(data)) > largest_bytes:  # it may have grown since
        raise KnowledgeTooLargeError(str(path), max(size_bytes, len(data)), largest_bytes)
    return data


def read_document(path: Path, largest_bytes: int = LARGEST_BYTES) -> Document:
    """Read *path* as text.

    Raises:
        KnowledgeTooLargeError: It has more than *largest_bytes*.
        KnowledgeUnreadableError: It is binary, or cannot be read.
    """
    data = read_bytes(path, largest_bytes)
    text, encoding = decoded(path, data)
    return Document(
        path=str(path),
        text=text,
        digest=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
        encoding=encoding,
    )


def decoded(path: Path, data: bytes) -> tuple[str, str]:
    """The text in *data*, read from *path*, and its encoding.

    Raises:
        KnowledgeUnreadableError: It is binary.
    """
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
    if encoding != "utf-16" and b"\0" in data:
        raise KnowledgeUnreadableError(
            str(path), "it contains zero bytes, so it is not a text file"
        )
    try:
        return data.decode(encoding), encoding
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace"), "cp1252"
