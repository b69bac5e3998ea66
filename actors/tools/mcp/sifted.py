"""Filters a server's messages, because the SDK would reject a whole list for one invalid tool."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from .listing import MOST_LISTED

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

DEEPEST = 100  # levels of a tool; the SDK reads no message with more than 200


@asynccontextmanager
async def sifted(
    transport: AbstractAsyncContextManager[Any], dropped: Callable[[str], None]
) -> AsyncIterator[tuple["Sifted", Any]]:
    """The streams of *transport*, with a filtered read stream."""
    async with transport as (read, write):
        yield Sifted(read, dropped), write


class Sifted:
    """The stream of messages, without unreadable tools; their names go to *dropped*."""

    def __init__(self, stream: Any, dropped: Callable[[str], None]) -> None:
        self._stream, self._dropped = stream, dropped

    @property
    def last_context(self) -> Any:
        """The context that the SDK reads beside a message."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> "SessionMessage | Exception":
        """The next message, or the error of an unreadable one."""
        return self._sifted(await self._stream.receive())

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    def __aiter__(self) -> "Sifted":
        return self

    async def __anext__(self) -> "SessionMessage | Exception":
        return self._sifted(await self._stream.__anext__())

    async def __aenter__(self) -> "Sifted":
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        left: bool | None = await self._stream.__aexit__(*error)
        return left

    def _sifted(self, item: "SessionMessage | Exception") -> "SessionMessage | Exception":
        from mcp.shared.message import SessionMessage
        from mcp.types import JSONRPCResponse

        if isinstance(item, Exception):
            result, number = _unread(item)
            if result is not None:
                result["tools"] = self._kept(result["tools"])
                answer = JSONRPCResponse(jsonrpc="2.0", id=number, result=result)
                return SessionMessage(answer)
        elif isinstance(item.message, JSONRPCResponse):
            tools = item.message.result.get("tools")
            if isinstance(tools, list):
                item.message.result["tools"] = self._kept(tools)
        return item

    def _kept(self, tools: list[Any]) -> list[Any]:
        kept = []
        for tool in tools[:MOST_LISTED]:
            if _is_readable(tool):
                kept.append(tool)
            else:
                name = tool.get("name") if isinstance(tool, dict) else None
                self._dropped(name if isinstance(name, str) else "")
        if len(tools) > MOST_LISTED:
            self._dropped(f"{len(tools) - MOST_LISTED} more")
        return kept


def _unread(error: Exception) -> tuple[dict[str, Any] | None, Any]:
    """The tool list, and its request id, in a message that could not be parsed."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return None, None
    said = next((each["input"] for each in error.errors() if isinstance(each["input"], str)), "")
    try:
        message = json.loads(said)
    except (ValueError, RecursionError):
        return None, None
    result = message.get("result") if isinstance(message, dict) else None
    if not isinstance(result, dict) or not isinstance(result.get("tools"), list):
        return None, None
    number = message.get("id")
    return (result, number) if isinstance(number, int | str) else (None, None)


def _is_readable(tool: Any) -> bool:
    from mcp.types import Tool

    if _is_deep(tool):
        return False
    try:
        Tool.model_validate(tool, by_name=False)
        json.dumps(tool, ensure_ascii=False).encode()
    except (ValueError, TypeError):
        return False
    return True


def _is_deep(value: Any) -> bool:
    """Whether *value* is nested deeper than the limit, without visiting all levels."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            each
            for one in level
            if isinstance(one, dict | list)
            for each in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True
