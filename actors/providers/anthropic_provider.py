"""The provider `anthropic`: Anthropic's messages, with the stable part of a prompt cached."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec

from cortex.bus import Event
from cortex.bus.events import ModelInvoke
from cortex.runtime.context import Parts, anthropic_content
from cortex.runtime.kernel import Delivery, on
from cortex.runtime.models import Endpoint

from .calling import CallPiece, HttpProvider, Piece, UsagePiece, native_schema
from .calling import failure_of_frame as refused

PROVIDER = "anthropic"
STOPS = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "calls",
    "refusal": "refused",
}
# What stands before it is the same from step to step, so the endpoint may keep it.
BREAKPOINT = {"cache_control": {"type": "ephemeral"}}


class _Usage(msgspec.Struct):
    input_tokens: int | None = None  # without cached ones
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens: int | None = None


class _Message(msgspec.Struct):
    usage: _Usage | None = None


class _Block(msgspec.Struct):
    type: str = ""
    id: str = ""
    name: str = ""


class _Delta(msgspec.Struct):
    text: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class _Event(msgspec.Struct):
    type: str = ""
    index: int = 0
    message: _Message | None = None
    content_block: _Block | None = None
    delta: _Delta | None = None
    usage: _Usage | None = None
    error: Any = None


class AnthropicDialect:
    """How messages are spoken."""

    package = "anthropic"

    def body(self, parts: Parts, asked: ModelInvoke, endpoint: Endpoint) -> dict[str, Any]:
        """The request, with a breakpoint where each stretch of it ends, and the answer's bounds."""
        body: dict[str, Any] = {
            "model": endpoint.model,
            "max_tokens": asked.max_tokens,
            "messages": [{"role": "user", "content": anthropic_content(parts)}],
            "stream": True,
        }
        if parts.system and parts.user:
            body["system"] = [{"type": "text", "text": parts.system, **BREAKPOINT}]
        if parts.tools:
            *others, last = [_tool(tool) for tool in parts.tools]
            body["tools"] = [*others, {**last, **BREAKPOINT}]
        if endpoint.structured == "native" and asked.answer_schema:
            schema = native_schema(asked.answer_schema)
            if schema is not None:
                body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return body

    def connect(self, sdk: Any, endpoint: Endpoint, key: str, http: Any) -> Any:
        """A client that never asks twice and traces nothing."""
        return sdk.AsyncAnthropic(
            api_key=key,
            base_url=endpoint.base_url,
            max_retries=0,
            open_telemetry=False,
            http_client=http,
        )

    def send(self, client: Any, body: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        """The stream as bytes: we read it ourselves, at a quarter of what SDK objects cost."""
        # In `extra_body` the request goes out as it is, without a look at the SDK's types.
        stream: AbstractAsyncContextManager[Any] = client.messages.with_streaming_response.create(
            model=body["model"],
            max_tokens=body["max_tokens"],
            messages=(),
            stream=True,
            extra_body=body,
        )
        return stream

    def read(self, frame: bytes) -> Piece:
        """What one event says."""
        event = msgspec.json.decode(frame, type=_Event)
        if event.error is not None:
            raise refused(event.error)
        usage = event.usage or (event.message.usage if event.message else None)
        told = _told(usage) if usage else None
        if event.content_block and event.content_block.type == "tool_use":
            block = event.content_block
            return Piece(calls=(CallPiece(event.index, block.id, block.name),), usage=told)
        said = event.delta or _Delta()
        calls = (CallPiece(event.index, arguments=said.partial_json),) if said.partial_json else ()
        stop = STOPS.get(said.stop_reason, "end") if said.stop_reason else ""
        return Piece(text=said.text, calls=calls, stop=stop, usage=told)


class AnthropicProvider(HttpProvider):
    """Asks Anthropic, and gateways that speak as it does."""

    provider = PROVIDER
    dialect = AnthropicDialect

    @on(ModelInvoke, where={"provider": PROVIDER})
    async def invoke(self, event: ModelInvoke, delivery: Delivery) -> AsyncIterator[Event]:
        """Ask the model."""
        async for output in self.call(event):
            yield output


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": tool["name"],
        "description": tool.get("description", ""),
        "input_schema": tool.get("parameters", {"type": "object", "properties": {}}),
    }


def _told(usage: _Usage) -> UsagePiece:
    return UsagePiece(
        input=usage.input_tokens,
        cached_read=usage.cache_read_input_tokens,
        cached_write=usage.cache_creation_input_tokens,
        output=usage.output_tokens,
    )
