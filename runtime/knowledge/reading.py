"""Read one knowledge file: bounded, as text whatever its encoding, with the digest of its bytes."""

import codecs
import hashlib
import importlib
import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import msgspec

from .errors import KnowledgeTooLargeError, KnowledgeUnreadableError

LARGEST_BYTES: Final = 4 * 1024 * 1024  # about a million tokens: more is no single topic
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
EXTRA: Final = "pip install 'cortex-runtime[documents]'"


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


def convert(path: Path, data: bytes) -> str:
    """The text in *data*, which is what stands in the file at *path*.

    Raises:
        KnowledgeUnreadableError: The converter is not installed, or cannot read it.
    """
    module, converter = CONVERTED[path.suffix.lower()]
    try:
        return converter(importlib.import_module(module), data)
    except ImportError:
        raise KnowledgeUnreadableError(
            str(path), f"{path.suffix} files need {module}: {EXTRA}"
        ) from None
    except Exception as error:
        problem = f"{module} cannot read it: {str(error)[:200] or type(error).__name__}"
        raise KnowledgeUnreadableError(str(path), problem) from error


def _html(html2text: Any, data: bytes) -> str:
    reader = html2text.HTML2Text(bodywidth=0)
    reader.ignore_images = True
    return str(reader.handle(data.decode("utf-8", errors="replace")))


def _pdf(pypdf: Any, data: bytes) -> str:
    pages = pypdf.PdfReader(BytesIO(data)).pages
    return "\n\n".join(
        f"# Page {number}\n\n{page.extract_text()}" for number, page in enumerate(pages, 1)
    )


CONVERTED: Final[dict[str, tuple[str, Callable[[Any, bytes], str]]]] = {
    ".html": ("html2text", _html),
    ".htm": ("html2text", _html),
    ".pdf": ("pypdf", _pdf),
}
