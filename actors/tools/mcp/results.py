"""The result of a server's tool as one text; other content becomes a blob, which the text names."""

import base64
import binascii
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from cortex.runtime.kernel import many
from cortex.runtime.log import Blobs

from ..answers import one_line

if TYPE_CHECKING:
    from mcp.types import CallToolResult

NAME_CHARS = 100  # of a type, or of a link's target
LINK_CHARS = 2_000


def text_of(result: "CallToolResult", blobs: Blobs) -> str:
    """All of *result*."""
    parts = [part for each in result.content for part in _parts(each, blobs)]
    data = result.structured_content
    if data is not None and not _stands_in(data, parts):
        parts.append(msgspec.json.format(msgspec.json.encode(data)).decode())
    return "".join(part if part.endswith("\n") else f"{part}\n" for part in parts if part)


def _parts(content: Any, blobs: Blobs) -> Iterator[str]:
    match content.type:
        case "text":
            yield content.text
        case "image" | "audio":
            yield _kept(content.type, content.mime_type, content.data, blobs)
        case "resource":
            inside = content.resource
            if hasattr(inside, "text"):
                yield inside.text
            else:
                yield _kept("resource", inside.mime_type or "", inside.blob, blobs)
        case "resource_link":
            link = f"link to {one_line(content.name, NAME_CHARS)}: {content.uri}"
            yield f"[{one_line(link, LINK_CHARS)}]"
        case other:
            yield f"[{other}, which is not shown]"


def _kept(kind: str, mime_type: str, data: str, blobs: Blobs) -> str:
    mime_type = one_line(mime_type, NAME_CHARS)
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return f"[{kind} {mime_type}, which cannot be read]"
    return f"[{kind} {mime_type}, {many(len(raw), 'byte')}, kept as {blobs.put(raw)}]"


def _stands_in(data: Any, parts: list[str]) -> bool:
    """Whether a text says the same: servers send it twice for clients that only read texts."""
    only = data.get("result") if isinstance(data, dict) and set(data) == {"result"} else data
    for part in parts:
        if part == only:
            return True
        try:
            if msgspec.json.decode(part) in (data, only):
                return True
        except (msgspec.DecodeError, UnicodeEncodeError):
            continue
    return False
