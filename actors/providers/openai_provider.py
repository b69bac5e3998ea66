"""The provider `openai`: every endpoint with OpenAI's chat completions, local or remote."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec

from cortex.bus import Event
from cortex.bus.events import ModelInvoke
from cortex.runtime.context import Message, PromptBlock, messages_of, tools_of
from cortex.runtime.kernel import Delivery, on
from cortex.runtime.models import Endpoint

from .calls import CallPiece, HttpProvider, Piece, UsagePiece, native_schema
from .calls import failure_of_frame as refused

PROVIDER = "openai"
DONE = b"[DONE]"
STOPS = {"length": "length", "content_filter": "refused", "tool_calls": "calls"}


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _Call(msgspec.Struct):
    index: int = 0
    id: str | None = None
    function: _Function | None = None


class _Delta(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Details(msgspec.Struct):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0  # cached ones among them
    completion_tokens: int = 0
    prompt_tokens_details: _Details | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: _Usage | None = None
    error: Any = None


class OpenAIDialect:
    """The protocol of chat completions."""

    package = "openai"

    def body(
        self, blocks: Sequence[PromptBlock], asked: ModelInvoke, endpoint: Endpoint
    ) -> dict[str, Any]:
        """The request: the prompt's messages, its tools, and the bounds of the answer."""
        tools = tools_of(blocks)
        messages = messages_of(blocks, calls=bool(tools))
        body: dict[str, Any] = {
            "model": endpoint.model,
            "messages": [made for message in messages for made in _messages(message)],
            endpoint.max_tokens_field: asked.max_tokens,
            "stream": True,
        }
        if endpoint.usage_in_stream:
            body["stream_options"] = {"include_usage": True}
        if tools:
            body["tools"] = [{"type": "function", "function": tool} for tool in tools]
        if endpoint.structured == "native" and asked.answer_schema:
            schema = native_schema(asked.answer_schema)
            if schema is not None:
                described = {"name": "answer", "strict": True, "schema": schema}
                body["response_format"] = {"type": "json_schema", "json_schema": described}
        return body

    def connect(self, sdk: Any, endpoint: Endpoint, key: str, http: Any) -> Any:
        """A client without retries."""
        return sdk.AsyncOpenAI(
            api_key=key, base_url=endpoint.base_url, max_retries=0, http_client=http
        )

    def send(self, client: Any, body: dict[str, Any]) -> AbstractAsyncContextManager[Any]:
        """The stream as bytes: parsing it here costs half of the SDK's objects."""
        # In `extra_body` the SDK sends the request unchanged: checking its types, which takes
        # longer than everything else here, would give the same bytes.
        stream: AbstractAsyncContextManager[Any] = (
            client.chat.completions.with_streaming_response.create(
                model=body["model"], messages=(), stream=True, extra_body=body
            )
        )
        return stream

    def read(self, frame: bytes) -> Piece:
        """The parsed content of one chunk."""
        if frame == DONE:
            return Piece()
        chunk = msgspec.json.decode(frame, type=_Chunk)
        if chunk.error is not None:
            raise refused(chunk.error)
        usage = _told(chunk.usage) if chunk.usage else None
        if not chunk.choices:
            return Piece(usage=usage)
        choice = chunk.choices[0]
        said = choice.delta or _Delta()
        stop = choice.finish_reason
        return Piece(
            text=said.content or said.refusal or "",
            calls=tuple(_part(call) for call in said.tool_calls or ()),
            stop="refused" if said.refusal and stop else STOPS.get(stop, "end") if stop else "",
            usage=usage,
        )


class OpenAIProvider(HttpProvider):
    """Asks OpenAI, Ollama, vLLM, llama.cpp, and other endpoints with their protocol."""

    provider = PROVIDER
    dialect = OpenAIDialect

    @on(ModelInvoke, where={"provider": PROVIDER})
    async def invoke(self, event: ModelInvoke, delivery: Delivery) -> AsyncIterator[Event]:
        """Ask the model."""
        async for output in self.call(event):
            yield output


def _messages(message: Message) -> Iterator[dict[str, Any]]:
    """One group per message, except that each result is a group of its own."""
    role, blocks = message
    if role == "tool":
        for block in blocks:
            yield {"role": role, "tool_call_id": block.call, "content": block.sent}
        return
    text = "".join(block.sent for block in blocks if block.kind != "call")
    if role != "assistant":
        yield {"role": role, "content": text}
        return
    calls = [_made_call(block) for block in blocks if block.kind == "call"]
    yield {"role": role, "content": text.rstrip("\n"), **({"tool_calls": calls} if calls else {})}


def _made_call(block: PromptBlock) -> dict[str, Any]:
    function = {"name": block.tool, "arguments": block.text.rstrip("\n")}
    return {"id": block.call, "type": "function", "function": function}


def _part(call: _Call) -> CallPiece:
    function = call.function or _Function()
    return CallPiece(call.index, call.id or "", function.name or "", function.arguments or "")


def _told(usage: _Usage) -> UsagePiece:
    details = usage.prompt_tokens_details or _Details()
    read, written = details.cached_tokens or 0, details.cache_write_tokens or 0
    return UsagePiece(
        # Negative if more was cached than sent: such usage is not trusted.
        input=usage.prompt_tokens - read - written,
        cached_read=read,
        cached_write=written,
        output=usage.completion_tokens,
    )
